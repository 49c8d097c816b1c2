import { countingIds, itemId, type Part, toolCallId } from '@millrace/core';
import type { StreamStep } from '@millrace/providers';
import { type ConformanceSubject, conformanceCases } from '@millrace/providers/conformance';
import { describe, expect, test, vi } from 'vitest';
import {
  flushPendingWork,
  runToEnd,
  VirtualClock,
} from '../../../../packages/agent/src/testing/virtual-time.ts';
import { demoProvider, tokenStreamProvider } from './demo-provider.ts';

const asked = {
  items: [
    { id: itemId('u'), kind: 'user', parts: [{ kind: 'text', text: 'What are you?' }] } as const,
  ],
};
const context = () => ({ item: { id: itemId('i'), turn: 1, attempt: 1 }, ids: countingIds() });

async function stepsOf(): Promise<readonly StreamStep[]> {
  const steps: StreamStep[] = [];
  for await (const step of demoProvider({ pauseMs: 0 }).stream(asked, context())) steps.push(step);
  return steps;
}

const subject: ConformanceSubject = {
  provider: async ({ reasoning, text, toolCalls: calls = [], stop, ends = 'whole' }) => {
    const parts: readonly (Part | string)[] = [
      ...(reasoning ? [{ kind: 'reasoning', form: 'full', text: reasoning } as const] : []),
      ...(text ? [text] : []),
      ...calls.map(
        (call, at) => ({ kind: 'tool_call', toolCallId: toolCallId(`c${at}`), ...call }) as const,
      ),
    ];
    let steps = 0;
    const whole = tokenStreamProvider(() => ({ content: { parts } }), { pauseMs: 0 });
    await whole.complete({ items: [] }, { onStep: () => void steps++ });
    // The last two steps report the end of the last part and the end of the response.
    const fault =
      ends === 'whole'
        ? undefined
        : ({ type: ends, after: steps - 2, error: 'overloaded' } as const);
    return tokenStreamProvider(() => ({ content: { parts }, stop, fault }), { pauseMs: 0 });
  },
};

describe('the demo is a provider like any other:', () => {
  for (const { name, run } of conformanceCases(subject)) test(name, run);
});

test('the same request has the same answer, to the last delta', async () => {
  expect(await stepsOf()).toEqual(await stepsOf());
});

test('it says a few characters at a time, with a pause between them, on the clock it was given', async () => {
  const clock = new VirtualClock();
  const stream = demoProvider({ clock, pauseMs: 20 }).stream(asked, context());
  let steps = 0;
  const all = (async () => {
    for await (const { deltas } of stream) {
      steps++;
      for (const delta of deltas)
        if (delta.type === 'append_text') expect(delta.chunk.length).toBeLessThanOrEqual(7);
    }
  })();
  for (let expected = 1; expected < 10; expected++) {
    await flushPendingWork();
    expect(steps).toBe(expected);
    clock.advance(19);
    await flushPendingWork();
    expect(steps).toBe(expected);
    clock.advance(1);
  }
  await runToEnd(clock, all);
  expect(steps).toBeGreaterThan(100);
});

test('it touches no network', async () => {
  const fetched = vi.spyOn(globalThis, 'fetch');
  await demoProvider({ pauseMs: 0 }).complete(asked);
  expect(fetched).not.toHaveBeenCalled();
  fetched.mockRestore();
});

test('its tokens are reckoned, and marked so', async () => {
  const { usage, text } = await demoProvider({ pauseMs: 0 }).complete(asked);
  expect(usage).toMatchObject({ input: 4, output: Math.ceil(text.length / 4), estimated: true });
});
