import type { SpanInfo } from '@millrace/client';
import { type Fact, type LogRecord, type RunId, recordVersion, spanIdOf } from '@millrace/core';
import { spansOf } from '@millrace/core/spans';
import { describe, expect, test } from 'vitest';
import { nodeAt, pathTo, type TreeNode, treeAction, treeNodes, visibleRows } from './tree-nodes.ts';

const trace = { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01` };
const stop = { reason: 'stop' };
const call = { toolCallId: 'c', name: 'bash' };

type Entry = readonly [fact: object, turn: number, attempt: number];
const entries: readonly Entry[] = [
  [{ type: 'run_started', runId: 'r1', trace }, 0, 0],
  [{ type: 'turn_started' }, 1, 0],
  [{ type: 'tool_execution_started', ...call, executionId: 'x1', summary: 'ls' }, 1, 1],
  [
    {
      ...{ type: 'tool_execution_finished', ...call },
      ...{ executionId: 'x1', isError: true, outcome: 'completed' },
    },
    1,
    1,
  ],
  [{ type: 'turn_finished', stop }, 1, 0],
  [{ type: 'run_finished', runId: 'r1', stop }, 0, 0],
  [{ type: 'run_started', runId: 'r2' }, 0, 0],
  [{ type: 'turn_started' }, 2, 0],
];
const spans = spansOf(
  entries.map(
    ([fact, turn, attempt], index) =>
      ({
        ...{ v: recordVersion, offset: index + 1, time: index * 10, producer: 'test' },
        ...{ turn, attempt, fact: fact as Fact },
      }) as LogRecord,
  ),
);

const reportedSpan = (id: string, parent_id: string | null, start = 2): SpanInfo => ({
  ...{ id, name: id, parent_id, trace_id: 't', task_id: 's', input: null, output: null },
  ...{ data: null, start_time: `2026-01-0${start}T00:00:00Z`, end_time: null },
});

function linesOf(nodes: readonly TreeNode[], level = 0): readonly string[] {
  return nodes.flatMap(({ name, children }) => [
    `${'  '.repeat(level)}${name}`,
    ...linesOf(children, level + 1),
  ]);
}

describe('the tree', () => {
  test('nests runs, turns, attempts and calls, with the errors below them', () => {
    const nodes = treeNodes(spans, []);
    expect(linesOf(nodes)).toEqual([
      ...['Run 1', '  Turn 1', '    Attempt 1', '      bash', 'Run 2', '  Turn 2'],
    ]);
    expect(nodes.map(({ hasError }) => hasError)).toEqual([true, false]);
  });

  test('places reported spans below their parents, and others last', () => {
    const run = 'r1' as RunId;
    const reported = [
      reportedSpan('deeper', 'in the turn'),
      reportedSpan('in the turn', spanIdOf.turn(run, 1)),
      reportedSpan('of nothing known', 'f'.repeat(16), 3),
      reportedSpan('of nothing', null),
    ];
    expect(linesOf(treeNodes(spans, reported))).toEqual([
      ...['Run 1', '  Turn 1', '    in the turn', '      deeper', '    Attempt 1', '      bash'],
      ...['Run 2', '  Turn 2', 'of nothing', 'of nothing known'],
    ]);
  });

  test('ignores reported spans in a cycle, and those without a time', () => {
    const broken = { ...reportedSpan('x', null), start_time: 'yesterday' };
    const reported = [reportedSpan('a', 'b'), reportedSpan('b', 'a'), broken];
    expect(linesOf(treeNodes([], reported))).toEqual([]);
  });

  test('finds a node by its id or by a record', () => {
    const nodes = treeNodes(spans, []);
    expect(pathTo(nodes, 'call x1').map(({ id }) => id)).toEqual([
      ...['run r1', 'turn 1', 'attempt 1.1', 'call x1'],
    ]);
    expect(pathTo(nodes, 'nothing')).toEqual([]);
    expect([1, 3, 5, 8].map((offset) => nodeAt(nodes, offset)?.id)).toEqual([
      ...['run r1', 'call x1', 'attempt 1.1', 'turn 2'],
    ]);
  });
});

describe('keys in the tree', () => {
  const nodes = treeNodes(spans, []);
  const rows = visibleRows(nodes, new Set());
  const press = (selected: string, key: string, typed = '') =>
    treeAction(rows, selected, key, typed);

  test('arrows, Home and End select rows', () => {
    expect(press('run r1', 'ArrowDown')).toEqual({ type: 'select', id: 'turn 1' });
    expect(press('turn 1', 'ArrowUp')).toEqual({ type: 'select', id: 'run r1' });
    expect(press('run r1', 'ArrowUp')).toEqual({ type: 'select', id: 'run r1' });
    expect(press('turn 1', 'Home')).toEqual({ type: 'select', id: 'run r1' });
    expect(press('turn 1', 'End')).toEqual({ type: 'select', id: 'turn 2' });
  });

  test('left folds or goes to the parent, right unfolds or goes to the child', () => {
    expect(press('turn 1', 'ArrowLeft')).toEqual({ type: 'fold', ids: ['turn 1'] });
    expect(press('call x1', 'ArrowLeft')).toEqual({ type: 'select', id: 'attempt 1.1' });
    expect(press('turn 1', 'ArrowRight')).toEqual({ type: 'select', id: 'attempt 1.1' });
    expect(press('call x1', 'ArrowRight')).toBeUndefined();
    const foldedRows = visibleRows(nodes, new Set(['run r1']));
    expect(foldedRows.map(({ node }) => node.id)).toEqual(['run r1', 'run r2', 'turn 2']);
    expect(treeAction(foldedRows, 'run r1', 'ArrowRight', '')).toEqual({
      ...{ type: 'unfold', ids: ['run r1'] },
    });
    expect(treeAction(foldedRows, 'run r1', '*', '*')).toEqual({
      ...{ type: 'unfold', ids: ['run r1', 'run r2'] },
    });
  });

  test('typed text selects the next row that starts with it', () => {
    expect(press('run r1', 't', 't')).toEqual({ type: 'select', id: 'turn 1' });
    expect(press('turn 1', 't', 't')).toEqual({ type: 'select', id: 'turn 2' });
    expect(press('turn 2', 't', 't')).toEqual({ type: 'select', id: 'turn 1' });
    expect(press('turn 1', '2', 'turn 2')).toEqual({ type: 'select', id: 'turn 2' });
    expect(press('turn 1', 'z', 'z')).toBeUndefined();
    expect(press('turn 1', 'Shift', '')).toBeUndefined();
  });

  test('rows know their level and their place among their siblings', () => {
    expect(rows.map(({ level, position, siblings }) => [level, position, siblings])).toEqual([
      ...[
        [1, 1, 2],
        [2, 1, 1],
        [3, 1, 1],
        [4, 1, 1],
        [1, 2, 2],
        [2, 1, 1],
      ],
    ]);
  });
});
