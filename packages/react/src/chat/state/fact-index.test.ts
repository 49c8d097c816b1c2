import { executionId, itemId, runId, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { factDraft, foldDrafts } from '../../testing/records.ts';
import { FactIndex } from './fact-index.ts';

function indexOf(drafts: Parameters<typeof foldDrafts>[0]): FactIndex {
  const index = new FactIndex();
  for (const event of foldDrafts(drafts).events) index.add(event);
  return index;
}

const message = (text: string, when = 'follow_up') => ({
  ...{ type: 'message', when },
  items: [{ id: 'u', kind: 'user', parts: [{ kind: 'text', text }] }],
});
const queued = (key: string, text: string, when?: string) =>
  factDraft({ type: 'command_queued', key, command: message(text, when) });

test('a message is queued until the agent reads it', () => {
  const index = indexOf([
    ...[queued('a', 'One'), queued('b', 'Two', 'steer')],
    factDraft({ type: 'command_queued', key: 'c', command: { type: 'abort' } }),
    factDraft({ type: 'command_consumed', key: 'a' }),
  ]);
  expect(index.queued).toEqual([{ key: 'b', when: 'steer', text: 'Two' }]);
});

test('a call has the facts of all its events', () => {
  const call = { toolCallId: toolCallId('t'), name: 'run' };
  const execution = { ...call, executionId: executionId('e') };
  const index = indexOf([
    factDraft({ type: 'approval_asked', ...call }, 1, 1),
    factDraft(
      { type: 'approval_answered', ...call, decision: 'allow', by: 'Ada', input: { a: 1 } },
      1,
      1,
    ),
    factDraft({ type: 'tool_execution_started', ...execution, summary: 'Runs' }, 1, 1),
    factDraft(
      { type: 'tool_execution_finished', ...execution, isError: false, outcome: 'completed' },
      1,
      1,
    ),
  ]);
  expect(index.call('t')).toEqual({
    answer: { decision: 'allow', reason: undefined, by: 'Ada', input: { a: 1 } },
    ...{ startedAt: 3000, summary: 'Runs', finishedAt: 4000, outcome: 'completed' },
  });
});

test('the notice of a superseded attempt follows the last item before it', () => {
  const index = indexOf([
    factDraft({ type: 'item_started', itemId: itemId('u'), kind: 'user' }),
    factDraft({ type: 'turn_started' }, 1),
    factDraft({ type: 'item_started', itemId: itemId('a'), kind: 'assistant' }, 1, 1),
    factDraft({ type: 'attempt_superseded', reason: 'overloaded' }, 1, 1),
  ]);
  expect(index.notices).toMatchObject([{ after: 'u', look: 'warn', detail: 'overloaded' }]);
});

test('a duplicate event has no effect', () => {
  const { events } = foldDrafts([
    factDraft({ type: 'run_started', runId: runId('r') }),
    queued('a', 'One'),
    factDraft({ type: 'error_reported', error: { code: 'c', message: 'No.' } }),
  ]);
  const index = new FactIndex();
  for (const event of [...events, ...events]) index.add(event);
  expect([index.queued.length, index.notices.length, index.runStartedAt]).toEqual([1, 1, 1000]);
});

test('a normal end needs no notice', () => {
  const finished = (reason: 'stop' | 'length') =>
    factDraft({ type: 'run_finished', runId: runId('r'), stop: { reason } });
  expect(indexOf([finished('stop')]).notices).toEqual([]);
  expect(indexOf([finished('length')]).notices).toHaveLength(1);
});

test('a stop marks only running calls', () => {
  const started = (id: string) =>
    factDraft({ type: 'tool_execution_started', ...executionOf(id), summary: 'Runs' }, 1, 1);
  const finished = (id: string) =>
    factDraft(
      { type: 'tool_execution_finished', ...executionOf(id), isError: true, outcome: 'completed' },
      1,
      1,
    );
  const executionOf = (id: string) => ({
    ...{ toolCallId: toolCallId(id), name: 'run', executionId: executionId(id) },
  });
  const index = indexOf([
    ...[started('before'), finished('before'), started('a'), started('b')],
    factDraft({ type: 'aborted' }),
    ...[finished('a'), started('after'), finished('after')],
  ]);
  const ids = ['before', 'a', 'b', 'after'];
  expect(ids.filter((id) => index.call(id)?.isStopped)).toEqual(['a', 'b']);
});
