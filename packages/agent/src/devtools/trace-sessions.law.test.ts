import { noUsage, type Part, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { readRecordedRun, sessionsIn } from '../testing/recorded-runs.ts';
import type { TracedItem, TracedSpan, TracedWork } from './contract.ts';
import { TraceSessions } from './trace-sessions.ts';

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
const callId = fc.constantFrom('c1', 'c2', 'c3');
const word = fc.constantFrom('sun', 'rain', '', '\ud800');

const part: fc.Arbitrary<Part> = fc.oneof(
  word.map((text) => ({ kind: 'text', text: text.toWellFormed() }) as const),
  word.map((text) => ({ kind: 'reasoning', text: text.toWellFormed(), form: 'full' }) as const),
  callId.map(
    (call) =>
      ({ kind: 'tool_call', toolCallId: toolCallId(call), name: 'buy', arguments: '{}' }) as const,
  ),
);
const result: fc.Arbitrary<Part> = fc.tuple(callId, word).map(([call, text]) => ({
  ...{ kind: 'tool_result', toolCallId: toolCallId(call), name: 'buy' },
  ...{ text: text.toWellFormed(), isError: false },
}));
const texts = fc.array(word.map((text) => ({ kind: 'text', text: text.toWellFormed() }) as const));
const input: fc.Arbitrary<readonly TracedItem[]> = fc.array(
  fc.oneof(
    texts.map((parts) => ({ kind: 'user', parts }) as const),
    fc.array(result, { maxLength: 3 }).map((parts) => ({ kind: 'tool', parts }) as const),
  ),
  { maxLength: 4 },
);

const work: fc.Arbitrary<TracedWork> = fc.oneof(
  fc.record({ type: fc.constant('agent' as const), name: fc.option(id, { nil: undefined }) }),
  fc.constant({ type: 'other' } as const),
  fc.record({
    ...{ type: fc.constant('tool' as const), name: fc.constant('buy') },
    ...{ callId: fc.option(callId, { nil: undefined }), input: fc.constant(undefined) },
    result: fc.option(word, { nil: undefined }),
  }),
  fc.record({
    ...{ type: fc.constant('request' as const), provider: id, model: id, input },
    output: fc.array(part, { maxLength: 4 }),
    stop: fc.constantFrom({ reason: 'stop' } as const, { reason: 'tool_use' } as const),
    usage: fc.constant(noUsage),
    firstContentMs: fc.option(fc.nat(100), { nil: undefined }),
  }),
);

const error = { code: 'overloaded', message: 'Try later' };
const span: fc.Arbitrary<TracedSpan> = fc
  .record({
    ...{ trace: fc.constantFrom('t1', 't2'), id, parent: fc.option(id, { nil: undefined }) },
    ...{ startMs: fc.nat(100), endMs: fc.nat(100), work, size: fc.nat(50) },
    error: fc.option(fc.constantFrom(error, { ...error, code: 'aborted' }), { nil: undefined }),
  })
  .map((one) => ({ ...one, endMs: Math.max(one.startMs, one.endMs) }));

/** Checks the laws of a log that hold even if a history has calls and results without their counterpart. */
async function illegalRecords(log: Log): Promise<readonly string[]> {
  const found = await Promise.all(
    (await sessionsIn(log)).map((session) => readRecordedRun(log, session)),
  );
  return found.flatMap(({ problems }) =>
    problems.filter((problem) => !/has a result too many$/.test(problem)),
  );
}

test('25.8: any spans, in any order, with any parents, become legal sessions', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(span, { maxLength: 14 }),
      fc.array(fc.nat(13)),
      async (spans, ends) => {
        const log = memoryLog();
        const problems: string[] = [];
        const sessions = new TraceSessions(
          'test',
          { log, onDiagnostic: (problem) => problems.push(problem) },
          { maxSpansPerTrace: 8, maxSpans: 10, maxSize: 300, maxIdleMs: 90 },
        );
        for (const [index, one] of spans.entries()) {
          sessions.add(one);
          if (ends.includes(index)) sessions.end(one.trace);
        }
        await sessions.close();
        expect(await illegalRecords(log)).toEqual([]);
        // Spans of a trace that was stored before can be exported again. Every other problem is a bug.
        const unexpected = problems.filter((one) => !/session_exists$|too many spans/.test(one));
        expect(unexpected).toEqual([]);
      },
    ),
    { numRuns: runs(200) },
  );
});
