import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ExecutionId, RunId } from '../ids.ts';
import type { Fact } from '../protocol/fact.ts';
import { type LogRecord, recordVersion } from '../protocol/record.ts';
import { noUsage } from '../protocol/usage.ts';
import { randomLog } from '../testing/random-log.ts';
import { runs } from '../testing/runs.ts';
import { spanIdOf } from '../trace/span-ids.ts';
import { durationMs, spanTree } from './span.ts';
import { SpanFold, spansOf } from './span-fold.ts';

type Entry = readonly [time: number, fact: object | 'text', turn?: number, attempt?: number];

/** Creates records. Facts are given without types, because these tests use only some fields. */
function recordsOf(...entries: readonly Entry[]): readonly LogRecord[] {
  return entries.map(([time, fact, turn = 1, attempt = 1], index) => {
    const head = { v: recordVersion, offset: index + 1, time, turn, attempt, producer: 'test' };
    if (fact === 'text')
      return { ...head, delta: { type: 'append_text', partId: '1.1.1', chunk: 'a' } } as LogRecord;
    return { ...head, fact: fact as Fact } as LogRecord;
  });
}

const stop = { reason: 'stop' };
const runStarted = (runId: string) => ({ type: 'run_started', runId });
const runFinished = (runId: string) => ({ type: 'run_finished', runId, stop });
const turnStarted = { type: 'turn_started' };
const turnFinished = { type: 'turn_finished', stop };
const response = { type: 'response_started', itemId: 'i', provider: 'p', model: 'm' };
const usage = { ...noUsage, input: 10, output: 2, costs: [{ amount: '0.1', currency: 'USD' }] };
const responseFinished = { type: 'response_finished', itemId: 'i', stop, usage };
const call = { toolCallId: 'c', name: 'bash' };
const started = (executionId: string, more: object = {}) => ({
  ...{ type: 'tool_execution_started', ...call, executionId, summary: 'ls' },
  ...more,
});
const finished = (executionId: string, isError = false) => ({
  ...{ type: 'tool_execution_finished', ...call, executionId, isError, outcome: 'completed' },
});

const wholeRun = recordsOf(
  [0, { type: 'command_queued', key: 'k', command: {} }, 0, 0],
  [40, runStarted('r'), 0, 0],
  [45, { type: 'command_consumed', key: 'k' }, 0, 0],
  [50, turnStarted, 1, 0],
  [60, response],
  [90, 'text'],
  [120, responseFinished],
  [130, started('x')],
  [150, started('y', { child: 'session-2' })],
  [170, finished('x', true)],
  [
    180,
    {
      ...{ type: 'child_usage_reported', ...call, usage },
      of: { session: 'session-2', agent: 'helper', turn: 1, attempt: 1, model: 'small' },
    },
  ],
  [190, finished('y')],
  [200, turnFinished, 1, 0],
  [210, runFinished('r'), 0, 0],
);

/** Returns the tree as lines, one per span. */
function linesOf(records: readonly LogRecord[], after = 0): readonly string[] {
  const lines: string[] = [];
  const visit = (nodes: ReturnType<typeof spanTree>) => {
    for (const { span, depth, children } of nodes) {
      lines.push(`${'  '.repeat(depth)}${span.kind} ${span.name} ${durationMs(span, 999)}`);
      visit(children);
    }
  };
  visit(spanTree(spansOf(records, { after })));
  return lines;
}

describe('spans', () => {
  test('are a tree of run, turn, attempt, call and sub-agent', () => {
    expect(linesOf(wholeRun)).toEqual([
      'run Run 1 170',
      '  turn Turn 1 150',
      '    attempt m 60',
      '      call bash 40',
      '      agent bash 40',
      '        attempt small 0',
    ]);
  });

  test('have the times, the usage and the errors of their work', () => {
    const fold = new SpanFold();
    for (const record of wholeRun) fold.add(record);
    expect(fold.get('run r')).toMatchObject({ queuedTime: 0, startTime: 40, endTime: 210 });
    expect(fold.get('attempt 1.1')).toMatchObject({ firstContentTime: 90, usage, model: 'm' });
    expect(fold.get('call x')).toMatchObject({ status: 'error', offset: 8, endOffset: 10 });
    expect(fold.get('call y')).toMatchObject({ kind: 'agent', child: 'session-2', status: 'ok' });
    const [root] = spanTree(fold.spans);
    expect(root).toMatchObject({ hasError: true, usage: { input: 20, output: 4 } });
    expect(root?.usage?.costs).toEqual([{ amount: '0.2', currency: 'USD' }]);
  });

  test('show a retried attempt, its error and the wait', () => {
    const error = { code: 'overloaded', message: 'busy' };
    const spans = spansOf(
      recordsOf(
        [0, turnStarted, 1, 0],
        [0, response],
        [10, { type: 'attempt_superseded', reason: 'overloaded' }],
        [10, { type: 'retry_scheduled', error, delayMs: 2000 }],
        [2010, response, 1, 2],
        [2020, responseFinished, 1, 2],
      ),
    );
    expect(spans).toMatchObject([
      { id: 'turn 1', endTime: undefined },
      { id: 'attempt 1.1', status: 'discarded', detail: 'superseded: overloaded', error },
      { kind: 'retry', status: 'waiting', startTime: 10, endTime: 2010, error },
      { id: 'attempt 1.2', status: 'ok' },
    ]);
  });

  test('keep a question open while its turn is parked, and name the answer', () => {
    const asked = { type: 'approval_asked', ...call };
    const parked = { type: 'turn_finished', stop: { reason: 'parked' } };
    const waiting: Entry[] = [
      [0, turnStarted, 1, 0],
      [1, asked],
      [3, parked, 1, 0],
    ];
    const approvalsOf = (...entries: readonly Entry[]) =>
      spansOf(recordsOf(...entries)).filter(({ kind }) => kind === 'approval');
    expect(approvalsOf(...waiting)).toMatchObject([{ startTime: 1, endTime: undefined }]);
    const answered = { type: 'approval_answered', ...call, decision: 'allow' };
    expect(approvalsOf(...waiting, [9000, answered, 2])).toMatchObject([
      { endTime: 9000, detail: 'allowed', status: 'waiting' },
    ]);
    expect(approvalsOf(...waiting, [500, asked, 2], [900, answered, 2])).toMatchObject([
      { startTime: 1, endTime: 500 },
      { startTime: 500, endTime: 900 },
    ]);
    const superseded = { type: 'attempt_superseded', reason: 'cut' };
    expect(approvalsOf([1, asked], [7, superseded])).toMatchObject([{ endTime: 7 }]);
  });

  test('of a rejected call name the reason, and a refused call is no failure', () => {
    const rejected = (code: string) => ({
      type: 'tool_call_rejected',
      ...call,
      code,
      message: 'no',
    });
    const of = (code: string) => spansOf(recordsOf([0, rejected(code)])).at(-1);
    expect(of('invalid')).toMatchObject({
      kind: 'call',
      status: 'error',
      error: { message: 'no' },
    });
    expect(of('denied')).toMatchObject({ kind: 'call', status: 'discarded', endTime: 0 });
  });

  test('of calls that end because of a stop have not failed', () => {
    const statusOf = (...entries: readonly Entry[]) =>
      spansOf(recordsOf(...entries)).at(-1)?.status;
    expect(statusOf([0, started('x')], [1, finished('x', true)])).toBe('error');
    const aborted: Entry = [1, { type: 'aborted' }, 0, 0];
    expect(statusOf([0, started('x')], aborted, [2, finished('x', true)])).toBe('ok');
  });

  test('of a turn end at the latest with the turn', () => {
    const spans = spansOf(
      recordsOf(
        [0, turnStarted, 1, 0],
        [10, response],
        [20, started('x')],
        [50, { type: 'turn_finished', stop: { reason: 'aborted' } }, 1, 0],
      ),
    );
    expect(spans.map(({ endTime }) => endTime)).toEqual([50, 50, 50]);
    expect(spans[0]).toMatchObject({ status: 'discarded', detail: 'aborted' });
  });

  test('of an error name it at the run and the turn', () => {
    const error = { code: 'auth', message: 'No key' };
    const fold = new SpanFold();
    const records = recordsOf(
      [0, runStarted('r'), 0, 0],
      [1, turnStarted, 1, 0],
      [2, { type: 'error_reported', error }, 1, 0],
      [3, { type: 'run_finished', runId: 'r', stop: { reason: 'error' } }, 0, 0],
    );
    for (const record of records) fold.add(record);
    expect(fold.get('turn 1')).toMatchObject({ error });
    expect(fold.get('run r')).toMatchObject({ error, status: 'error' });
  });

  test('of a traced run have the ids of its trace', () => {
    const trace = { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01` };
    const spans = spansOf(
      recordsOf(
        [0, { ...runStarted('r'), trace }, 0, 0],
        [1, turnStarted, 1, 0],
        [2, started('x')],
      ),
    );
    const run = 'r' as RunId;
    expect(spans.map(({ traceSpanId }) => traceSpanId)).toEqual([
      spanIdOf.run(run),
      spanIdOf.turn(run, 1),
      spanIdOf.attempt(run, { turn: 1, attempt: 1 }),
      spanIdOf.execution(run, 'x' as ExecutionId),
    ]);
    expect(spans[0]?.traceId).toBe('ab'.repeat(16));
  });

  test('can start in the middle of the log, with what they meet', () => {
    expect(linesOf(wholeRun.slice(5), 5)).toEqual([
      'turn Turn 1 110',
      '  attempt Attempt 1 30',
      '    call bash 40',
      '    agent bash 40',
      '      attempt small 0',
    ]);
    const [turn, attempt] = spansOf(wholeRun.slice(5), { after: 5 });
    expect([turn?.isCut, attempt?.isCut]).toEqual([true, true]);
    expect(spansOf(wholeRun).some(({ isCut }) => isCut)).toBe(false);
  });
});

describe('laws of the fold', () => {
  const logs = fc.array(fc.nat(), { maxLength: 300 }).map(randomLog);

  test('the fold of a log in pieces is the fold of the whole log', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (records, cut) => {
        const fold = new SpanFold();
        const at = records.length === 0 ? 0 : cut % records.length;
        for (const record of records.slice(0, at)) fold.add(record);
        // Reading the spans in between must not change what follows.
        void fold.spans;
        for (const record of records.slice(at)) fold.add(record);
        expect(fold.spans).toEqual(spansOf(records));
      }),
      { numRuns: runs(400) },
    );
  });

  test('each span comes after its parent, lies in its records, and does not end before it starts', () => {
    fc.assert(
      fc.property(logs, (records) => {
        const seen = new Set<string>();
        for (const span of spansOf(records)) {
          if (span.parentId !== undefined) expect(seen).toContain(span.parentId);
          expect(seen).not.toContain(span.id);
          seen.add(span.id);
          expect(span.endTime ?? span.startTime).toBeGreaterThanOrEqual(span.startTime);
          expect(span.endOffset ?? span.offset).toBeGreaterThanOrEqual(span.offset);
        }
        const count = (nodes: ReturnType<typeof spanTree>): number =>
          nodes.reduce((sum, { children }) => sum + 1 + count(children), 0);
        expect(count(spanTree(spansOf(records)))).toBe(seen.size);
      }),
      { numRuns: runs(400) },
    );
  });

  test('a record changes few spans, also in a long session', () => {
    // Work is counted, not timed: a new span object is the only work that can grow with the session.
    const fold = new SpanFold();
    let changed = 0;
    for (let turn = 1; turn <= 300; turn++) {
      const before = new Map(fold.spans.map((span) => [span.id, span]));
      const records = recordsOf(
        [turn, turnStarted, turn, 0],
        [turn, response, turn],
        [turn, 'text', turn],
        [turn, responseFinished, turn],
        [turn, turnFinished, turn, 0],
      );
      for (const record of records) fold.add(record);
      changed = fold.spans.filter((span) => before.get(span.id) !== span).length;
      expect(changed).toBe(2);
    }
    expect(fold.size).toBe(600);
  });
});
