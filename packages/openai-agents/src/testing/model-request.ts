import type { ModelRequest } from '@openai/agents';

/** Returns a request of the SDK as a runner creates it. */
export const modelRequest = (given: Partial<ModelRequest> = {}): ModelRequest => ({
  ...{ input: 'Bread?', modelSettings: {}, tools: [], handoffs: [] },
  ...{ outputType: 'text', tracing: false, ...given },
});
