import {
  type ExecutionId,
  type Fact,
  type LogRecord,
  noUsage,
  type RunId,
  recordVersion,
  spanIdOf,
} from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { recordedRun } from '../../../../../packages/server/src/testing/recorded-run.ts';
import { numberedRecords } from '../../testing/records.ts';
import { insertSpans, spanBars } from '../timeline/spans.ts';
import type { Bar } from './bar.ts';
import { Waterfall } from './waterfall.ts';

function barsOf(records: readonly LogRecord[]): readonly Bar[] {
  const waterfall = new Waterfall();
  for (const record of records) waterfall.add(record);
  return waterfall.bars;
}

type Facts = readonly (readonly [number, Fact, number?, number?])[];

/** Creates records from facts and their times. */
function recordsOf(...facts: Facts): readonly LogRecord[] {
  return facts.map(([time, fact, turn = 1, attempt = 1], index) => ({
    ...{ v: recordVersion, offset: index + 1, time, turn, attempt, producer: 'test', fact },
  }));
}

const call = { toolCallId: 'c1', name: 'bash' };
const fact = (given: object) => given as Fact;
const span = {
  ...{ trace_id: 't', task_id: null, parent_id: null, input: null, output: null, data: null },
  ...{ start_time: '2026-01-01T00:00:01Z', end_time: '2026-01-01T00:00:02Z' },
};

describe('a waterfall', () => {
  test('has a bar for each run, turn, attempt and tool, each after its parent', () => {
    const bars = barsOf(numberedRecords(recordedRun(2)));
    expect(bars.map(({ kind, depth, label }) => `${'  '.repeat(depth)}${kind} ${label}`)).toEqual([
      'run Run 1',
      '  turn Turn 1',
      '    attempt Attempt 1',
      '      tool read_a',
      '  turn Turn 2',
      '    attempt Attempt 1',
      '    attempt Attempt 2',
      '      tool read_a',
    ]);
    for (const { start, end, offset, endOffset } of bars) {
      expect(end).toBeGreaterThanOrEqual(start);
      expect(endOffset).toBeGreaterThan(offset ?? Number.POSITIVE_INFINITY);
    }
  });

  test('marks a superseded attempt with the reason', () => {
    const gone = barsOf(numberedRecords(recordedRun(2))).filter(({ tone }) => tone === 'gone');
    expect(gone).toMatchObject([
      { key: 'attempt 2.1', tone: 'gone', detail: 'superseded: truncated_stream' },
    ]);
  });

  test('labels an attempt with its model and records its first token', () => {
    const delta = { type: 'append_text', partId: '1.1.a', at: 0, chunk: 'x' } as const;
    const [started = expect.fail(), finished = expect.fail()] = recordsOf(
      [100, fact({ type: 'response_started', itemId: 'i', provider: 'p', model: 'm' })],
      [
        900,
        fact({ type: 'response_finished', itemId: 'i', stop: { reason: 'stop' }, usage: noUsage }),
      ],
    );
    const { fact: _, ...head } = started;
    const records = [started, { ...head, time: 400, delta } as unknown as LogRecord, finished];
    expect(barsOf(records)).toMatchObject([
      { label: 'm', start: 100, firstContentAt: 400, end: 900 },
    ]);
  });

  test('ends the open bars of a turn with the turn, and keeps running bars open', () => {
    const bars = barsOf(
      recordsOf(
        [0, fact({ type: 'turn_started' }), 1, 0],
        [10, fact({ type: 'tool_execution_started', ...call, executionId: 'x', summary: 'ls' })],
        [
          50,
          fact({ type: 'turn_finished', stop: { reason: 'aborted', cause: 'interrupted' } }),
          1,
          0,
        ],
        [60, fact({ type: 'turn_started' }), 2, 0],
      ),
    );
    const ends = bars.map(({ key, end, tone }) => [key, end, tone]);
    expect(ends).toEqual([
      ['turn 1', 50, 'gone'],
      ['attempt 1.1', 50, 'plain'],
      ['tool x', 50, 'plain'],
      ['turn 2', undefined, 'plain'],
    ]);
  });

  test('shows approvals and retries', () => {
    const error = { code: 'overloaded', message: 'busy' };
    const bars = barsOf(
      recordsOf(
        [0, fact({ type: 'approval_asked', ...call })],
        [700, fact({ type: 'approval_answered', ...call, decision: 'allow' })],
        [800, fact({ type: 'retry_scheduled', error, delayMs: 2000 })],
      ),
    );
    expect(bars.slice(1)).toMatchObject([
      { kind: 'approval', tone: 'wait', start: 0, end: 700, detail: 'allowed' },
      { kind: 'retry', tone: 'wait', start: 800, end: 2800, detail: 'busy' },
    ]);
  });

  test('an approval stays open while its turn is parked, until it is answered', () => {
    const asked = fact({ type: 'approval_asked', ...call });
    const parked = fact({ type: 'turn_finished', stop: { reason: 'parked' } });
    const waiting: Facts = [
      [0, fact({ type: 'turn_started' })],
      [1, asked],
      [3, parked],
    ];
    const approvalOf = (...facts: Facts) =>
      barsOf(recordsOf(...facts)).filter(({ kind }) => kind === 'approval');
    expect(approvalOf(...waiting)).toMatchObject([{ start: 1, end: undefined }]);
    const answered = fact({ type: 'approval_answered', ...call, decision: 'allow' });
    expect(approvalOf(...waiting, [9000, answered, 2])).toMatchObject([{ end: 9000 }]);
    expect(approvalOf(...waiting, [500, asked, 2], [900, answered, 2])).toMatchObject([
      { start: 1, end: 500 },
      { start: 500, end: 900 },
    ]);
    const superseded = fact({ type: 'attempt_superseded', reason: 'cut' });
    expect(approvalOf([1, asked], [7, superseded])).toMatchObject([{ end: 7 }]);
  });

  test('a stopped tool has not failed', () => {
    const execution = { ...call, executionId: 'a' };
    const started = fact({ type: 'tool_execution_started', ...execution, summary: '' });
    const finished = { type: 'tool_execution_finished', ...execution, outcome: 'completed' };
    const toneOf = (...facts: Facts) => barsOf(recordsOf(...facts)).at(-1)?.tone;
    const failed = fact({ ...finished, isError: true });
    expect(toneOf([0, started], [1, failed])).toBe('bad');
    expect(toneOf([0, started], [1, fact({ type: 'aborted' }), 0, 0], [2, failed])).toBe('plain');
  });

  test('distinguishes sub-agents from tools and failures from results', () => {
    const started = { type: 'tool_execution_started', ...call, summary: '' };
    const finished = { type: 'tool_execution_finished', ...call, outcome: 'completed' };
    const bars = barsOf(
      recordsOf(
        [0, fact({ ...started, executionId: 'a', child: 'session-2' })],
        [1, fact({ ...started, executionId: 'b' })],
        [2, fact({ ...finished, executionId: 'a', isError: false })],
        [3, fact({ ...finished, executionId: 'b', isError: true })],
      ),
    );
    expect(bars.slice(1)).toMatchObject([
      { kind: 'agent', child: 'session-2', tone: 'plain' },
      { kind: 'tool', tone: 'bad' },
    ]);
  });
});

describe('spans', () => {
  test('follow their parents, in order of their start', () => {
    const bars = spanBars([
      { ...span, id: 'c', name: 'child', parent_id: 'p', end_time: null },
      { ...span, id: 'p', name: 'parent' },
      { ...span, id: 'e', name: 'earlier', start_time: '2026-01-01T00:00:00Z' },
    ]);
    expect(bars.map(({ label, depth, end }) => [label, depth, end === undefined])).toEqual([
      ['earlier', 0, false],
      ['parent', 0, false],
      ['child', 1, true],
    ]);
  });

  const trace = { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01` };
  const traced = recordsOf(
    [0, fact({ type: 'run_started', runId: 'r1', trace }), 0, 0],
    [10, fact({ type: 'turn_started' }), 1, 0],
    [20, fact({ type: 'tool_execution_started', ...call, executionId: 'x1', summary: 'ls' })],
    [30, fact({ type: 'run_started', runId: 'r2' }), 0, 0],
    [40, fact({ type: 'turn_started' }), 2, 0],
  );

  test('follow the run, turn or tool that they belong to, and other spans come last', () => {
    const of = (name: string, parent_id: string | null) => ({ ...span, id: name, name, parent_id });
    const run = 'r1' as RunId;
    const spans = spanBars([
      of('in the tool', spanIdOf.execution(run, 'x1' as ExecutionId)),
      of('deeper', 'in the tool'),
      of('in the run', spanIdOf.run(run)),
      of('of nothing known', 'f'.repeat(16)),
      of('of nothing', null),
    ]);
    const shown = insertSpans(barsOf(traced), spans);
    expect(shown.map(({ label, depth }) => `${'  '.repeat(depth)}${label}`)).toEqual([
      'Run 1',
      '  in the run',
      '  Turn 1',
      '    Attempt 1',
      '      bash',
      '        in the tool',
      '          deeper',
      'Run 2',
      '  Turn 2',
      'of nothing known',
      'of nothing',
    ]);
  });

  test('a traced run has its trace id', () => {
    const runs = barsOf(traced).filter(({ kind }) => kind === 'run');
    expect(runs.map(({ traceId }) => traceId)).toEqual(['ab'.repeat(16), undefined]);
    expect(barsOf(traced).filter(({ spanId }) => spanId === undefined)).toHaveLength(2);
  });

  test('with a cycle or without a time are ignored', () => {
    const circle = [
      { ...span, id: 'a', name: 'a', parent_id: 'b' },
      { ...span, id: 'b', name: 'b', parent_id: 'a' },
      { ...span, id: 'x', name: 'x', start_time: 'yesterday' },
    ];
    expect(spanBars(circle)).toEqual([]);
  });
});
