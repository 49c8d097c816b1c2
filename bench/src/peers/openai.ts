import OpenAI from 'openai';
import type { ChatCompletionMessage } from 'openai/resources/chat/completions';
import type { Contestant } from '../contestant.ts';
import { baseUrl, fetchOf } from '../injected-fetch.ts';
import { ByHand } from './by-hand.ts';
import { named } from './named.ts';
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

/** Chunks as they come; nothing is folded, so the user appends. */
export const openaiIteration: Contestant = {
  name: named('openai', 'raw iteration, appended by hand'),
  run: async (reads) => {
    const result = new ByHand();
    for await (const { choices } of await openaiClient(reads).chat.completions.create(request)) {
      const delta = choices[0]?.delta;
      if (delta?.content) result.addText(delta.content);
      for (const call of delta?.tool_calls ?? []) {
        result.addArguments(call.index, call.function?.arguments ?? '');
      }
    }
    return result.outcome;
  },
};

export const openaiStream: Contestant = {
  name: named('openai', '.stream() helper'),
  run: async (reads) => {
    let heard = 0;
    const stream = openaiClient(reads).chat.completions.stream(request);
    stream.on('content', (delta) => {
      heard += delta.length;
    });
    stream.on('tool_calls.function.arguments.delta', ({ arguments_delta: delta }) => {
      heard += delta.length;
    });
    const completion = await stream.finalChatCompletion();
    return { characters: lengthOf(completion.choices[0]?.message), heard };
  },
};

function lengthOf(message: ChatCompletionMessage | undefined): number {
  const calls = message?.tool_calls ?? [];
  return calls.reduce(
    (sum, call) => sum + (call.type === 'function' ? call.function.arguments.length : 0),
    message?.content?.length ?? 0,
  );
}
