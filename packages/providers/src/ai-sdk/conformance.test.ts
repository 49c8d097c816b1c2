import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, test } from 'vitest';
import {
  type ConformanceAnswer,
  type ConformanceSubject,
  conformanceCases,
} from '../conformance/index.ts';
import { sseOf } from '../testing/fetch-of.ts';
import { fromAiSdk } from './index.ts';

/** Emits the parts and then closes, or stalls until it is cancelled. */
function streamOf<T>(parts: readonly T[], isStalling: boolean): ReadableStream<T> {
  const left = [...parts];
  return new ReadableStream(
    {
      pull: (stream) => {
        const next = left.shift();
        if (next !== undefined) stream.enqueue(next);
        else if (isStalling) return new Promise(() => {});
        else stream.close();
        return undefined;
      },
    },
    { highWaterMark: 0 },
  );
}

const handMade: ConformanceSubject = {
  provider: (answer) => {
    const model: LanguageModelV4 = {
      specificationVersion: 'v4',
      provider: 'maker',
      modelId: 'm-1',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('never called')),
      doStream: async () => ({ stream: streamOf(partsOf(answer), answer.ends === 'stall') }),
    };
    return fromAiSdk(model);
  },
};

function partsOf(answer: ConformanceAnswer): readonly LanguageModelV4StreamPart[] {
  const { reasoning = '', text = '', toolCalls: calls = [], stop, ends = 'whole' } = answer;
  const unified = stop ?? (calls.length > 0 ? 'tool-calls' : 'stop');
  const isOpen = ends !== 'whole';
  return [
    ...[...reasoning].map((delta) => ({ type: 'reasoning-delta', id: 'r', delta }) as const),
    ...(reasoning === '' ? [] : [{ type: 'reasoning-end', id: 'r' } as const]),
    ...[...text].map((delta) => ({ type: 'text-delta', id: 't', delta }) as const),
    ...(isOpen ? [] : [{ type: 'text-end', id: 't' } as const]),
    ...calls.map(
      ({ name, arguments: input }, index) =>
        ({ type: 'tool-call', toolCallId: `c${index}`, toolName: name, input }) as const,
    ),
    ...(ends === 'error' ? [{ type: 'error', error: { message: 'busy' } } as const] : []),
    ...(isOpen
      ? []
      : [{ type: 'finish', usage: noTokens, finishReason: { unified, raw: unified } } as const]),
  ];
}

const noTokens = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

const realPackage: ConformanceSubject = {
  provider: (answer) => {
    const reads = eventsOf(answer).map((event) => new TextEncoder().encode(sseOf([event])));
    const fetch = async () =>
      new Response(streamOf(reads, answer.ends === 'stall'), {
        headers: { 'content-type': 'text/event-stream' },
      });
    const maker = createOpenAICompatible({ name: 'maker', baseURL: 'https://maker.test', fetch });
    return fromAiSdk(maker('m-1'));
  },
};

function eventsOf(answer: ConformanceAnswer): readonly object[] {
  const { reasoning = '', text = '', toolCalls: calls = [], stop, ends = 'whole' } = answer;
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  const finish = stop ?? (calls.length > 0 ? 'tool_calls' : 'stop');
  return [
    ...[...reasoning].map((reasoning_content) => chunk({ reasoning_content })),
    ...[...text].map((content) => chunk({ content })),
    ...calls.map((call, index) =>
      chunk({ tool_calls: [{ index, id: `c${index}`, type: 'function', function: call }] }),
    ),
    ...(ends === 'error' ? [{ error: { message: 'busy' } }] : []),
    ...(ends === 'whole' ? [chunk({}, finish)] : []),
  ];
}

describe('a hand-made model behind the bridge', () => {
  test.each(conformanceCases(handMade))('$name', ({ run }) => run());
});

describe('a real package behind the bridge', () => {
  test.each(conformanceCases(realPackage))('$name', ({ run }) => run());
});
