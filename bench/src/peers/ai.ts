import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  jsonSchema,
  readUIMessageStream,
  streamText,
  type ToolSet,
  toUIMessageStream,
  type UIMessage,
} from 'ai';
import type { Contestant } from '../contestant.ts';
import { baseUrl, fetchOf } from '../injected-fetch.ts';
import { named } from './named.ts';
import { apiKey, model, prompt, tools } from './request.ts';

const toolSet: ToolSet = Object.fromEntries(
  tools.map(({ name, description, parameters }) => [
    name,
    { description, inputSchema: jsonSchema(parameters) },
  ]),
);

type OnEnd = NonNullable<Parameters<typeof streamText<ToolSet>>[0]['onEnd']>;

function stream(reads: readonly Uint8Array[], onEnd: OnEnd = () => {}) {
  const provider = createOpenAICompatible({
    name: 'bench',
    apiKey,
    baseURL: baseUrl,
    fetch: fetchOf(reads),
  });
  return streamText({ model: provider(model), prompt, tools: toolSet, maxRetries: 0, onEnd });
}

/** The result comes from `onEnd`: to read `result.text` would have the kept copy of the stream read too. */
export const aiFullStream: Contestant = {
  name: named('ai', 'streamText, fullStream'),
  run: async (reads) => {
    let [characters, heard] = [0, 0];
    const { fullStream } = stream(reads, ({ text, toolCalls }) => {
      characters = toolCalls.reduce((sum, { input }) => sum + lengthOf(input), text.length);
    });
    for await (const part of fullStream) {
      if (part.type === 'text-delta') heard += part.text.length;
      if (part.type === 'tool-input-delta') heard += part.delta.length;
      if (part.type === 'error') throw part.error;
    }
    return { characters, heard };
  },
};

/** As its own client does it: a whole message after each chunk. */
export const aiMessages: Contestant = {
  name: named('ai', 'streamText to UI messages'),
  run: async (reads) => {
    let last: UIMessage | undefined;
    const chunks = toUIMessageStream({ stream: stream(reads).stream });
    for await (const message of readUIMessageStream({ stream: chunks, terminateOnError: true })) {
      last = message;
    }
    return { characters: (last?.parts ?? []).reduce((sum, part) => sum + lengthOfPart(part), 0) };
  },
};

function lengthOfPart(part: UIMessage['parts'][number]): number {
  if (part.type === 'text') return part.text.length;
  return 'input' in part ? lengthOf(part.input) : 0;
}

/** Only the parsed arguments are kept; the workloads' are written as JSON.stringify writes them. */
function lengthOf(input: unknown): number {
  return JSON.stringify(input).length;
}
