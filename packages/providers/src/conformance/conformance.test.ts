import { type Part, toolCallId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { createProvider } from '../contract/create-provider.ts';
import type { Stream, StreamStep } from '../contract/provider.ts';
import { wrapProvider } from '../contract/wrap-provider.ts';
import { scriptedProvider } from '../scripted/scripted-provider.ts';
import { wireEvents } from '../scripted-server/answers/wire-events.ts';
import { wireFraming } from '../scripted-server/framing/frame-recording.ts';
import { sseFrames } from '../scripted-server/framing/sse-frames.ts';
import { wireTable } from '../testing/wire-table.ts';
import { conformanceCases } from './cases.ts';
import type { ConformanceAnswer, ConformanceSubject } from './subject.ts';

/** The scripted provider, told to say an answer to any number of requests. */
const scripted: ConformanceSubject = {
  provider: ({ reasoning, text, calls = [], stop, ends = 'whole' }) => {
    const parts: Part[] = [
      ...(reasoning === undefined
        ? []
        : [{ kind: 'reasoning', form: 'full', text: reasoning } as const]),
      ...(text === undefined ? [] : [{ kind: 'text', text } as const]),
      ...calls.map(
        (call, index) =>
          ({ kind: 'tool_call', toolCallId: toolCallId(`c${index}`), ...call }) as const,
      ),
    ];
    const steps = parts.reduce(
      (sum, part) => sum + lengthOf(part) + (part.kind === 'tool_call' ? 2 : 1),
      0,
    );
    const fault = {
      after: steps - 1,
      ...(
        {
          cut: { type: 'cut' },
          error: { type: 'error', error: 'overloaded' },
          stall: { type: 'stall' },
        } as const
      )[ends === 'whole' ? 'cut' : ends],
    };
    const response = {
      content: { parts },
      ...(stop && { stop }),
      ...(ends !== 'whole' && { fault }),
    };
    return scriptedProvider(Array.from({ length: 4 }, () => response));
  },
};

function lengthOf(part: Part): number {
  if (part.kind === 'tool_call') return [...part.arguments].length;
  return part.kind === 'text' || part.kind === 'reasoning' ? [...part.text].length : 0;
}

/** A body that is cut, or stalls until it is cancelled. */
function bodyOf(frames: readonly Uint8Array[], isStalling: boolean): ReadableStream<Uint8Array> {
  const left = [...frames];
  return new ReadableStream(
    {
      pull: (stream) => {
        const next = left.shift();
        if (next !== undefined) stream.enqueue(next);
        else if (!isStalling) stream.close();
        else return new Promise(() => {});
        return undefined;
      },
    },
    { highWaterMark: 0 },
  );
}

function wireSubject(under: (typeof wireTable)[number]): ConformanceSubject {
  return {
    provider: (answer) => {
      const frames = framesOf(under, answer);
      const fetcher: typeof fetch = async () =>
        new Response(bodyOf(frames, answer.ends === 'stall'), {
          headers: { 'content-type': 'text/event-stream' },
        });
      return under.provider(fetcher, '');
    },
  };
}

function framesOf(
  { wire }: (typeof wireTable)[number],
  answer: ConformanceAnswer,
): readonly Uint8Array[] {
  const { reasoning, text, calls, stop, ends = 'whole' } = answer;
  const failure = { type: 'overloaded_error', message: 'Overloaded' };
  const events = wireEvents(wire, {
    ...(reasoning !== undefined && { reasoning, signature: 'signed' }),
    ...(text !== undefined && { text }),
    ...(calls && { toolCalls: calls.map((call, index) => ({ id: `call_${index}`, ...call })) }),
    ...(stop && { stop }),
    usage: { input: 10, output: 5 },
    ...(ends !== 'whole' && { failure }),
  });
  // What breaks off ends with its error, which only those see that are told of it.
  const failures = wire === 'openai-responses' ? 2 : 1;
  const told = ends === 'whole' || ends === 'error' ? events : events.slice(0, -failures);
  return sseFrames(told, { ...wireFraming[wire], ...(ends !== 'whole' && { done: false }) });
}

describe('scripted', () => {
  test.each(conformanceCases(scripted))('$name', ({ run }) => run());
});

describe.each(wireTable)('$wire', (under) => {
  test.each(conformanceCases(wireSubject(under)))('$name', ({ run }) => run());
});

describe('a provider that breaks the contract is found out:', () => {
  const failing = async (
    change: (step: StreamStep) => readonly StreamStep[],
  ): Promise<readonly string[]> => {
    const broken: ConformanceSubject = {
      provider: async (answer) =>
        wrapProvider(await scripted.provider(answer), async function* (request, context, next) {
          for await (const step of next(request, context)) yield* change(step);
        }),
    };
    const results = await Promise.all(
      conformanceCases(broken).map(({ name, run }) =>
        run().then(
          () => [],
          () => [name],
        ),
      ),
    );
    return results.flat();
  };

  test('no end', async () => {
    expect(await failing(({ deltas }) => [{ deltas }])).not.toEqual([]);
  });

  test('two ends', async () => {
    expect(await failing((step) => [step, ...(step.end ? [step] : [])])).not.toEqual([]);
  });

  test('a lost delta', async () => {
    expect(
      await failing(({ deltas, ...end }) => [
        { deltas: deltas.filter(({ type }) => type !== 'commit_part'), ...end },
      ]),
    ).not.toEqual([]);
  });

  test('text told twice', async () => {
    const twice = await failing(({ deltas, ...end }) => [
      {
        deltas: deltas.map((delta) =>
          delta.type === 'append_text' ? { ...delta, at: delta.at + 1 } : delta,
        ),
        ...end,
      },
    ]);
    expect(twice).not.toEqual([]);
  });

  test('success instead of an error', async () => {
    const names = await failing(({ deltas, end }) => {
      const { error: _hidden, ...rest } = end ?? {};
      return [
        end ? { deltas, end: { ...rest, stop: { reason: 'stop' }, usage: end.usage } } : { deltas },
      ];
    });
    expect(names).toContain('calls and then cut: nothing may run');
  });

  test('everything at once, at the end', async () => {
    const whole: Stream = async function* (request, context) {
      const provider = await scripted.provider({ text: 'x' });
      const { item: _item, text: _text, ...end } = await provider.complete(request);
      const partId = context.ids.part(context.item.turn, context.item.attempt);
      yield {
        deltas: [
          {
            type: 'commit_part',
            partId,
            itemId: context.item.id,
            part: { kind: 'text', text: 'x' },
          },
        ],
        end,
      };
    };
    const cases = conformanceCases({ provider: () => createProvider('whole', 'm', whole) });
    const pieces = cases.find(({ name }) => name.startsWith('text is told in pieces'));
    await expect(pieces?.run()).rejects.toMatchObject({ code: 'not_conformant' });
  });
});
