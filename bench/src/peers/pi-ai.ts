import { type AssistantMessage, type Context, type Model, stream, Type } from '@mariozechner/pi-ai';
import type { Contestant } from '../contestant.ts';
import { baseUrl, fetchOf, withGlobalFetch } from '../injected-fetch.ts';
import { named } from './named.ts';
import { apiKey, model, prompt, tools } from './request.ts';

const piModel: Model<'openai-completions'> = {
  id: model,
  name: model,
  api: 'openai-completions',
  provider: 'bench',
  baseUrl,
  reasoning: false,
  input: ['text'],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 200_000,
  maxTokens: 100_000,
};

const context: Context = {
  messages: [{ role: 'user', content: prompt, timestamp: 0 }],
  tools: tools.map((tool) => ({ ...tool, parameters: Type.Unsafe(tool.parameters) })),
};

/** It takes no fetch, so it gets the global one. */
export const piAi: Contestant = {
  name: named('@mariozechner/pi-ai', 'stream'),
  run: (reads) =>
    withGlobalFetch(fetchOf(reads), async () => {
      let heard = 0;
      const events = stream(piModel, context, { apiKey });
      for await (const event of events) {
        if (event.type === 'text_delta' || event.type === 'toolcall_delta') {
          heard += event.delta.length;
        }
        if (event.type === 'error') throw new Error(event.error.errorMessage);
      }
      return { characters: lengthOf(await events.result()), heard };
    }),
};

/** Only the parsed arguments are kept; the workloads' are written as JSON.stringify writes them. */
function lengthOf({ content }: AssistantMessage): number {
  return content.reduce((sum, part) => {
    if (part.type === 'text') return sum + part.text.length;
    return part.type === 'toolCall' ? sum + JSON.stringify(part.arguments).length : sum;
  }, 0);
}
