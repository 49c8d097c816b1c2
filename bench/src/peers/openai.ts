import OpenAI from 'openai';
import type { ChatCompletionMessage } from 'openai/resources/chat/completions';
import type { Candidate } from '../candidate.ts';
import { baseUrl, fetchOf } from '../injected-fetch.ts';
import { candidateName } from './candidate-name.ts';
import { ManualFold } from './manual-fold.ts';
import { apiKey, model, prompt, tools } from './request.ts';

export function openaiClient(reads: readonly Uint8Array[]): OpenAI {
  return new OpenAI({ apiKey, baseURL: baseUrl, fetch: fetchOf(reads), maxRetries: 0 });
}

const request = {
  model,
  messages: [{ role: 'user' as const, content: prompt }],
  tools: tools.map((tool) => ({ type: 'function' as const, function: tool })),
  stream: true as const,
};

/** Iterates over raw chunks. The library does not fold them, so `ManualFold` appends them. */
export const openaiIteration: Candidate = {
  name: candidateName('openai', 'raw iteration, appended by hand'),
  run: async (reads) => {
    const fold = new ManualFold();
    for await (const { choices } of await openaiClient(reads).chat.completions.create(request)) {
      const delta = choices[0]?.delta;
      if (delta?.content) fold.addText(delta.content);
      for (const call of delta?.tool_calls ?? []) {
        fold.addArguments(call.index, call.function?.arguments ?? '');
      }
    }
    return fold.result;
  },
};

export const openaiStream: Candidate = {
  name: candidateName('openai', '.stream() helper'),
  run: async (reads) => {
    let streamed = 0;
    const stream = openaiClient(reads).chat.completions.stream(request);
    stream.on('content', (delta) => {
      streamed += delta.length;
    });
    stream.on('tool_calls.function.arguments.delta', ({ arguments_delta: delta }) => {
      streamed += delta.length;
    });
    const completion = await stream.finalChatCompletion();
    return { characters: lengthOf(completion.choices[0]?.message), streamed };
  },
};

function lengthOf(message: ChatCompletionMessage | undefined): number {
  const calls = message?.tool_calls ?? [];
  return calls.reduce(
    (sum, call) => sum + (call.type === 'function' ? call.function.arguments.length : 0),
    message?.content?.length ?? 0,
  );
}
