import { toArray, transcript } from '@millrace/core';
import { expect, test } from 'vitest';
import type { Content } from '../contract/content.ts';
import { byId, shownByAgentex, updatesOfLog } from '../testing/agentex-client.ts';
import { recordUpdates, task } from '../testing/recorded-updates.ts';
import { messagesOf } from './task-messages.ts';

// The name of each test describes a fault that was observed in a different server. The test checks the
// correct result.

const text = (content: string): Content => ({
  ...{ type: 'text', author: 'agent', style: 'static', format: 'plain' },
  ...{ content, attachments: null },
});
const textDelta = (piece: string, index = 0) => ({
  type: 'delta',
  index,
  delta: { type: 'text', text_delta: piece },
});
const callDelta = (id: string, name: string, piece: string, index = 0) => ({
  type: 'delta',
  index,
  delta: { type: 'tool_request', tool_call_id: id, name, arguments_delta: piece },
});

/** Returns the stored messages. It first checks that the streamed messages are equal. */
function storedMessages(...args: Parameters<typeof recordUpdates>) {
  const { records, state } = recordUpdates(...args);
  const messages = messagesOf(state);
  const { messages: shown, refetched } = shownByAgentex(updatesOfLog(task, records).updates);
  expect(byId(shown)).toEqual(byId(messages));
  expect(refetched).toEqual([]);
  return messages;
}

const contents = (...args: Parameters<typeof recordUpdates>) =>
  storedMessages(...args).map(({ content }) => content);

test('text deltas, then a Full with citations, then late deltas and Done: the Full is stored and sent', () => {
  const full = { ...text('The answer.\n\n## Sources\n[1]'), format: 'markdown' as const };
  const updates = [
    { type: 'start', index: 0, content: text('') },
    textDelta('The '),
    textDelta('answer.'),
    { type: 'full', index: 0, content: full },
    textDelta(' And more'),
    { type: 'done', index: 0 },
  ];
  expect(contents(updates)).toEqual([full]);
  expect(recordUpdates(updates).warnings).toMatchObject({ late: 2 });
  expect(storedMessages(updates)).toMatchObject([{ streaming_status: 'DONE' }]);
});

test('two call ids at one index are two calls, two messages and two indexes', () => {
  const updates = [
    callDelta('a', 'read', '{"path":'),
    callDelta('b', 'list', '{"all":'),
    callDelta('a', 'read', '"x"}'),
    callDelta('b', 'list', 'true}'),
    { type: 'done', index: 0 },
  ];
  expect(contents(updates)).toMatchObject([
    { type: 'tool_request', tool_call_id: 'a', name: 'read', arguments: { path: 'x' } },
    { type: 'tool_request', tool_call_id: 'b', name: 'list', arguments: { all: true } },
  ]);
  const starts = updatesOfLog(task, recordUpdates(updates).records).updates.filter(
    (one) => one.type === 'start',
  );
  expect(starts.map(({ index }) => index)).toEqual([0, 1]);
});

test('a call without arguments has empty arguments and fails nothing', () => {
  const call = { type: 'tool_request', author: 'agent', tool_call_id: 'c', name: 'now' };
  const ways = [
    [callDelta('c', 'now', ''), { type: 'done', index: 0 }],
    [
      { type: 'start', index: 0, content: { ...call, arguments: {} } },
      { type: 'done', index: 0 },
    ],
    [{ type: 'delta', index: 0, delta: { tool_call_id: 'c', name: 'now', arguments_delta: null } }],
  ];
  for (const updates of ways) expect(contents(updates)).toMatchObject([{ ...call, arguments: {} }]);
});

test('summary and content of one reasoning block at one index are one message with an entry each', () => {
  const summed = (entry: number, piece: string) => ({
    ...{ type: 'delta', index: 0 },
    delta: { type: 'reasoning_summary', summary_index: entry, summary_delta: piece },
  });
  const thought = (piece: string) => ({
    ...{ type: 'delta', index: 0 },
    delta: { type: 'reasoning_content', content_index: 0, content_delta: piece },
  });
  const updates = [summed(0, 'Plan'), thought('Six by '), summed(1, 'Check'), thought('nine?')];
  expect(contents([...updates, { type: 'done', index: 0 }])).toEqual([
    {
      type: 'reasoning',
      author: 'agent',
      style: 'static',
      summary: ['Plan', 'Check'],
      content: ['Six by nine?'],
    },
  ]);
});

test('all deltas of a crashed agent are stored, not only the first', () => {
  const stop = { reason: 'error' } as const;
  const updates = [
    textDelta('One, '),
    textDelta('two, '),
    textDelta('three'),
    callDelta('c', 'cut', '{"a', 1),
  ];
  expect(contents(updates, { stop })).toMatchObject([{ content: 'One, two, three' }]);
  const [item] = transcript(recordUpdates(updates, { stop }).state);
  expect(item).toMatchObject({ stop, parts: [{ text: 'One, two, three', partial: true }] });
});

test('deltas without a Done are stored and sent as done', () => {
  expect(storedMessages([textDelta('Hel'), textDelta('lo')])).toMatchObject([
    { content: { content: 'Hello' }, streaming_status: 'DONE' },
  ]);
});

test('after a Full the message is the Full, even of another type', () => {
  const content = {
    ...{ type: 'tool_response', author: 'agent', style: 'static', tool_call_id: 'c' },
    ...{ name: 'read', content: ['x', { y: null }], is_error: null },
  } as const;
  expect(contents([textDelta('wip'), { type: 'full', index: 0, content }])).toEqual([content]);
});

test('format, style and attachments of a start remain after deltas and a Done', () => {
  const attachments = [{ file_id: 'f', name: 'a.txt', type: 'text/plain', size: 3 }];
  const start = { ...text(''), format: 'markdown', style: 'active', attachments };
  const updates = [
    { type: 'start', index: 0, content: start },
    textDelta('# Hi'),
    { type: 'done', index: 0 },
  ];
  expect(contents(updates)).toEqual([{ ...start, content: '# Hi' }]);
  const { updates: told } = updatesOfLog(task, recordUpdates(updates).records);
  expect(told.map(({ type }) => type)).toEqual(['start', 'delta', 'done']);
});

test('a start directly followed by Done is stored unchanged', () => {
  const updates = [
    { type: 'start', index: 0, content: text('draft') },
    { type: 'done', index: 0 },
  ];
  expect(contents(updates)).toEqual([text('draft')]);
});

test('updates without an index are stored', () => {
  const delta = (piece: string) => ({ type: 'delta', delta: { text_delta: piece } });
  expect(contents([delta('a'), delta('b'), { type: 'done' }, delta('c')])).toEqual([
    text('ab'),
    text('c'),
  ]);
});

test('a Full carries the new row, and a Done follows after its row is on the log', () => {
  const { records } = recordUpdates([
    textDelta('Hello'),
    { type: 'full', index: 0, content: text('Bye') },
  ]);
  const { updates, state } = updatesOfLog(task, records);
  expect(updates.at(-1)).toMatchObject({
    type: 'full',
    parent_task_message: { content: text('Bye'), streaming_status: 'DONE' },
  });
  expect(toArray(state.items)).toHaveLength(1);
});

test('the size of a delta does not grow with its message', () => {
  const pieces = Array.from({ length: 200 }, () => textDelta('x'.repeat(50)));
  const { updates } = updatesOfLog(task, recordUpdates(pieces).records);
  const lengths = updates
    .filter(({ type }) => type === 'delta')
    .map((update) => JSON.stringify(update).length);
  expect(new Set(lengths).size).toBe(1);
});
