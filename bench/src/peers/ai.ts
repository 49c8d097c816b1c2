import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  jsonSchema,
  readUIMessageStream,
  streamText,
  type ToolSet,
  toUIMessageStream,
  type UIMessage,
} from 'ai';
import type { Candidate } from '../candidate.ts';
import { baseUrl, fetchOf } from '../injected-fetch.ts';
import { candidateName } from './candidate-name.ts';
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

/**
 * Uses `streamText` and its `fullStream`. The result comes from `onEnd`, because `result.text`
 * would read a second copy of the stream.
 */
export const aiFullStream: Candidate = {
  name: candidateName('ai', 'streamText, fullStream'),
  run: async (reads) => {
    let [characters, streamed] = [0, 0];
    const { fullStream } = stream(reads, ({ text, toolCalls }) => {
      characters = toolCalls.reduce((sum, { input }) => sum + lengthOf(input), text.length);
    });
    for await (const part of fullStream) {
      if (part.type === 'text-delta') streamed += part.text.length;
      if (part.type === 'tool-input-delta') streamed += part.delta.length;
      if (part.type === 'error') throw part.error;
    }
    return { characters, streamed };
  },
};

/** Builds a whole message after each chunk, like the library's own client. */
export const aiMessages: Candidate = {
  name: candidateName('ai', 'streamText to UI messages'),
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

/**
 * Returns the length of a call's arguments. The library keeps only parsed arguments. The workloads
 * use the format of JSON.stringify, so the lengths match.
 */
function lengthOf(input: unknown): number {
  return JSON.stringify(input).length;
}
