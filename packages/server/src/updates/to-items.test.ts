import type { Item } from '@millrace/core';
import { expect, test } from 'vitest';
import { type Content, type ContentInput, contentSchema } from '../contract/content.ts';
import type { TaskMessage } from '../contract/message.ts';
import { toItems } from './to-items.ts';

const messages = (
  ...contents: readonly (ContentInput & { readonly status?: 'IN_PROGRESS' | undefined })[]
): readonly TaskMessage[] =>
  contents.map(({ status, ...content }, at) => ({
    ...{ id: `m${at}`, task_id: 't', created_at: null, updated_at: null },
    content: contentSchema.parse(content) as Content,
    streaming_status: status ?? 'DONE',
  }));

const user = (content: string) => ({ type: 'text', author: 'user', content }) as const;
const agent = (content: string) => ({ type: 'text', author: 'agent', content }) as const;
const call = (id: string, status?: 'IN_PROGRESS') =>
  ({
    type: 'tool_request',
    author: 'agent',
    tool_call_id: id,
    name: 'read',
    arguments: { path: id },
    status,
  }) as const;
const result = (id: string, content = `of ${id}`) =>
  ({ type: 'tool_response', author: 'agent', tool_call_id: id, name: 'read', content }) as const;

const shown = (items: readonly Item[]) =>
  items.map(({ kind, parts }) => [
    kind,
    ...parts.map((part) => {
      if (part.kind === 'tool_call') return `${part.toolCallId}(${part.arguments})`;
      return 'text' in part ? part.text : part.kind;
    }),
  ]);

test('consecutive agent messages are one item, and results follow in call order', () => {
  const items = toItems(
    messages(
      user('Hi'),
      agent('Let me look.'),
      call('a'),
      call('b'),
      result('b'),
      result('a'),
      agent('Done.'),
    ),
  );
  expect(shown(items)).toEqual([
    ['user', 'Hi'],
    ['assistant', 'Let me look.', 'a({"path":"a"})', 'b({"path":"b"})'],
    ['tool', 'of a', 'of b'],
    ['assistant', 'Done.'],
  ]);
});

test('a late result follows its call', () => {
  expect(shown(toItems(messages(call('a'), user('Wait'), result('a'))))).toEqual([
    ['assistant', 'a({"path":"a"})'],
    ['tool', 'of a'],
    ['user', 'Wait'],
  ]);
});

test('a call without a result gets an error result, and a result without a call is dropped', () => {
  const [assistant, tool, ...others] = toItems(messages(call('a'), result('z')));
  expect(assistant?.parts).toMatchObject([{ toolCallId: 'a' }]);
  expect(tool?.parts).toMatchObject([{ toolCallId: 'a', isError: true }]);
  expect(others).toEqual([]);
});

test('unfinished calls and empty texts are not sent', () => {
  expect(shown(toItems(messages(call('a', 'IN_PROGRESS'), agent(''), user('Go on'))))).toEqual([
    ['user', 'Go on'],
  ]);
});

test('a repeated call is one call', () => {
  expect(shown(toItems(messages(call('a'), result('a'), call('a'))))).toEqual([
    ['assistant', 'a({"path":"a"})'],
    ['tool', 'of a'],
  ]);
});

test('items have their own ids, and data and reasoning are unchanged', () => {
  const items = toItems(
    messages(
      { type: 'reasoning', author: 'agent', summary: ['S'], content: ['C'] },
      { type: 'data', author: 'agent', data: { a: 1 } },
      call('a'),
    ),
  );
  expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
  expect(items[0]?.parts).toMatchObject([
    { kind: 'reasoning', form: 'summary', text: 'S' },
    { kind: 'reasoning', form: 'full', text: 'C' },
    { kind: 'structured', value: { a: 1 } },
    { kind: 'tool_call' },
  ]);
});
