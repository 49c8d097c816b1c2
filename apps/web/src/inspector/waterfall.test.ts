import { type Fact, type LogRecord, noUsage, recordVersion } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { recordedRun } from '../../../../packages/server/src/testing/recorded-run.ts';
import { numberedRecords } from '../testing/numbered-records.ts';
import type { Bar } from './bar.ts';
import { spanBars } from './span-bars.ts';
import { Waterfall } from './waterfall.ts';

function barsOf(records: readonly LogRecord[]): readonly Bar[] {
  const waterfall = new Waterfall();
  for (const record of records) waterfall.add(record);
  return waterfall.bars;
}

/** Facts at their times. */
function said(
  ...facts: readonly (readonly [number, Fact, number?, number?])[]
): readonly LogRecord[] {
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
  test('has a bar for each run, turn, attempt and tool, each after what it lies in', () => {
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

  test('strikes an attempt that was superseded, and says why', () => {
    const gone = barsOf(numberedRecords(recordedRun(2))).filter(({ tone }) => tone === 'gone');
    expect(gone).toMatchObject([
      { key: 'attempt 2.1', tone: 'gone', detail: 'superseded: truncated_stream' },
    ]);
  });

  test('names an attempt by its model, and tells when its first token came', () => {
    const delta = { type: 'append_text', partId: '1.1.a', at: 0, chunk: 'x' } as const;
    const [started = expect.fail(), finished = expect.fail()] = said(
      [100, fact({ type: 'response_started', itemId: 'i', provider: 'p', model: 'm' })],
      [
        900,
        fact({ type: 'response_finished', itemId: 'i', stop: { reason: 'stop' }, usage: noUsage }),
      ],
    );
    const { fact: _, ...head } = started;
    const records = [started, { ...head, time: 400, delta } as unknown as LogRecord, finished];
    expect(barsOf(records)).toMatchObject([{ label: 'm', start: 100, first: 400, end: 900 }]);
  });

  test('ends what a turn left open with the turn, and leaves open what goes on', () => {
    const bars = barsOf(
      said(
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

  test('shows what was waited for: an answer, and the next try', () => {
    const error = { code: 'overloaded', message: 'busy' };
    const bars = barsOf(
      said(
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

  test('tells sub-agents from tools, and failures from results', () => {
    const started = { type: 'tool_execution_started', ...call, summary: '' };
    const finished = { type: 'tool_execution_finished', ...call, outcome: 'completed' };
    const bars = barsOf(
      said(
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
  test('lie in their parents, in order of their start', () => {
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

  test('that name each other in a circle, or no time, do no harm', () => {
    const circle = [
      { ...span, id: 'a', name: 'a', parent_id: 'b' },
      { ...span, id: 'b', name: 'b', parent_id: 'a' },
      { ...span, id: 'x', name: 'x', start_time: 'yesterday' },
    ];
    expect(spanBars(circle)).toEqual([]);
  });
});
