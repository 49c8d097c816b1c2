import { type AssistantMessage, type Context, type Model, stream, Type } from '@mariozechner/pi-ai';
import type { Candidate } from '../candidate.ts';
import { baseUrl, fetchOf, withGlobalFetch } from '../injected-fetch.ts';
import { candidateName } from './candidate-name.ts';
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

/** Replaces the global fetch, because the library has no fetch option. */
export const piAi: Candidate = {
  name: candidateName('@mariozechner/pi-ai', 'stream'),
  run: (reads) =>
    withGlobalFetch(fetchOf(reads), async () => {
      let streamed = 0;
      const events = stream(piModel, context, { apiKey });
      for await (const event of events) {
        if (event.type === 'text_delta' || event.type === 'toolcall_delta') {
          streamed += event.delta.length;
        }
        if (event.type === 'error') throw new Error(event.error.errorMessage);
      }
      return { characters: lengthOf(await events.result()), streamed };
    }),
};

/**
 * Returns the length of a message. The library keeps only parsed arguments. The workloads use the
 * format of JSON.stringify, so the lengths match.
 */
function lengthOf({ content }: AssistantMessage): number {
  return content.reduce((sum, part) => {
    if (part.type === 'text') return sum + part.text.length;
    return part.type === 'toolCall' ? sum + JSON.stringify(part.arguments).length : sum;
  }, 0);
}
