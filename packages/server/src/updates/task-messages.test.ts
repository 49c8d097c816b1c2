import {
  countingIds,
  DeltaWriter,
  type DraftRecord,
  type ItemKind,
  type JsonObject,
  type Part,
  type PartId,
} from '@millrace/core';
import { expect, test } from 'vitest';
import { byId, shownByAgentex, updatesOfLog } from '../testing/agentex-client.ts';
import { RecordBuilder, task } from '../testing/recorded-updates.ts';
import { findMessage } from './logged-message.ts';
import { messageOf, messagesOf } from './task-messages.ts';

const outside = { turn: 0, attempt: 0 };

/** Builds the records of a task whose messages are written in one step. */
class MessageBuilder extends RecordBuilder {
  readonly ids = countingIds();

  addMessage(kind: ItemKind, parts: readonly Part[], metadata?: JsonObject): this {
    const itemId = this.ids.item();
    const writer = new DeltaWriter({ itemId, ...outside, ids: this.ids });
    for (const part of parts) writer.whole(part);
    const drafts: readonly DraftRecord[] = [
      { ...outside, fact: { type: 'item_started', itemId, kind, ...(metadata && { metadata }) } },
      ...writer.take().map((delta): DraftRecord => ({ ...outside, delta })),
      { ...outside, fact: { type: 'item_finished', itemId } },
    ];
    return this.add(drafts);
  }

  retract(parts: readonly PartId[]): this {
    return this.add(
      parts.map((partId) => ({
        ...outside,
        delta: { type: 'retract_part', partId, reason: 'edited' },
      })),
    );
  }
}

const text = (content: string): Part => ({ kind: 'text', text: content });

test('items for the model only are not messages', () => {
  const { state } = new MessageBuilder()
    .addMessage('system', [text('Be brief.')])
    .addMessage('user', [text('Hi'), text('there')])
    .addMessage('context', [text('A summary')])
    .addMessage('assistant', [text('Hello')]);
  expect(messagesOf(state)).toMatchObject([
    { content: { author: 'user', content: 'Hi' } },
    { content: { author: 'user', content: 'there' } },
    { content: { author: 'agent', content: 'Hello' } },
  ]);
});

test('a message has the times of its item, and is found by its id', () => {
  const { state } = new MessageBuilder().addMessage('user', [text('Hi')]);
  const [message] = messagesOf(state);
  expect(message).toMatchObject({
    task_id: 'task',
    created_at: '1970-01-01T00:00:01.001Z',
    updated_at: '1970-01-01T00:00:01.003Z',
    streaming_status: 'DONE',
  });
  expect(messageOf(state, message?.id ?? '')).toEqual(message);
  expect(messageOf(state, 'task.0.0.nobody')).toBeUndefined();
  expect(messageOf(state, 'another.0.0.p1')).toBeUndefined();
});

test.each(['before', 'after'] as const)(
  'an edit that is written %s its original is retracted keeps its id, time and position',
  (order) => {
    const builder = new MessageBuilder()
      .addMessage('user', [text('Hi')])
      .addMessage('assistant', [text('Hello')]);
    const [first, second] = messagesOf(builder.state);
    const id = first?.id ?? '';
    const edit = () =>
      builder.addMessage('user', [text('Bye')], {
        message: id,
        createdAt: first?.created_at ?? null,
      });
    const parts = findMessage(builder.state, id)?.slots.map((slot) => slot.id) ?? [];
    const leave = () => builder.retract(parts);
    for (const act of order === 'before' ? [edit, leave] : [leave, edit]) act();
    const [edited, ...others] = messagesOf(builder.state);
    expect(edited).toMatchObject({
      id,
      content: { content: 'Bye' },
      created_at: first?.created_at,
    });
    expect(others).toEqual([second]);
    expect(messageOf(builder.state, id)).toEqual(edited);
    const { messages } = shownByAgentex(updatesOfLog(task, builder.records).updates);
    expect(byId(messages)).toEqual(byId(messagesOf(builder.state)));
  },
);

test('a streaming message shows its content so far', () => {
  const ids = countingIds();
  const itemId = ids.item();
  const at = { turn: 1, attempt: 1 };
  const writer = new DeltaWriter({ itemId, ...at, ids });
  writer.text().append('Hel');
  writer.toolCall(ids.toolCall(), 'read').append('{"path":"a.t');
  writer.text({ mimeType: 'application/json' }).append('{"ok":[1,');
  writer.toolResult(ids.toolCall(), 'read').append('reading');
  const { state } = new RecordBuilder()
    .add([{ ...at, fact: { type: 'item_started', itemId, kind: 'assistant' } }])
    .add(writer.take().map((delta) => ({ ...at, delta })));
  expect(messagesOf(state)).toMatchObject([
    { content: { content: 'Hel' }, streaming_status: 'IN_PROGRESS' },
    { content: { type: 'tool_request', arguments: { path: 'a.t' } } },
    { content: { type: 'data', data: { ok: [1] } } },
    { content: { type: 'tool_response', content: 'reading' } },
  ]);
});
