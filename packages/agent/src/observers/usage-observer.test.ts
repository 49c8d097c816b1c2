import { executionId, noUsage, sessionId, toolCallId, totalUsage } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldAll } from '../../../core/src/testing/fold-all.ts';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { runs } from '../../../core/src/testing/runs.ts';
import { LogBuilder, notifyAll, observedRecords, stop, usage } from '../testing/log-builder.ts';
import { usageObserver } from './usage-observer.ts';

const logs = fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 400, size: 'max' }).map(randomLog);

test('the usage equals that of the folded log', () => {
  fc.assert(
    fc.property(logs, (records) => {
      const { observe, totals } = usageObserver();
      notifyAll(observe, observedRecords(records));
      expect(totals().usage).toEqual(totalUsage(foldAll(records)));
    }),
    { numRuns: runs(300) },
  );
});

/** Two attempts at a request, the second with a tool call. */
function runOf(session = sessionId('test')): LogBuilder {
  const story = new LogBuilder(session).at(1).fact({ type: 'turn_started' }).at(1, 1);
  story.request();
  const error = { code: 'overloaded', message: 'Try later' };
  const reported = usage(10, 1);
  story.fact(
    { type: 'usage_reported', usage: usage(7, 0) },
    { type: 'usage_reported', usage: reported },
    { type: 'retry_scheduled', error, delayMs: 5 },
    { type: 'attempt_superseded', reason: 'overloaded' },
  );
  story.at(1, 2).request();
  const call = { toolCallId: toolCallId('c'), name: 'ls', executionId: executionId('x') };
  return story.fact(
    { type: 'usage_reported', usage: usage(10, 2) },
    { type: 'response_finished', itemId: story.lastItem, stop, usage: usage(10, 5) },
    { type: 'tool_execution_started', ...call, summary: 'ls' },
    { type: 'tool_execution_finished', ...call, isError: true, outcome: 'completed' },
  );
}

describe('totals', () => {
  test('count each attempt once, with its last usage, including superseded ones', () => {
    const { observe, totals } = usageObserver();
    notifyAll(observe, runOf().observed);
    const counts = { turns: 1, attempts: 2, executions: 1, errors: 1 };
    expect(totals()).toEqual({ usage: usage(20, 6), ...counts });
  });

  test('add up all observed sessions', () => {
    const { observe, totals } = usageObserver();
    const [a, b] = [runOf(sessionId('a')).observed, runOf(sessionId('b')).observed];
    for (const [at, told] of a.entries()) notifyAll(observe, [told, ...b.slice(at, at + 1)]);
    const counts = { turns: 2, attempts: 4, executions: 2, errors: 2 };
    expect(totals()).toEqual({ usage: usage(40, 12), ...counts });
  });

  test('are zero before the first record', () => {
    const counts = { turns: 0, attempts: 0, executions: 0, errors: 0 };
    expect(usageObserver().totals()).toEqual({ usage: noUsage, ...counts });
  });
});
