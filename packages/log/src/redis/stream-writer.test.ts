import { type LogRecord, recordVersion, type SessionId, sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import type { BusNotice } from '../contract/bus.ts';
import { decodeNotice } from './notice-codec.ts';
import { StreamWriter } from './stream-writer.ts';

/** A client that accepts all commands and keeps the entries that were added. */
class AddedEntries {
  readonly added: { readonly key: string; readonly fields: readonly string[] }[] = [];
  pipelines = 0;

  pipeline() {
    this.pipelines++;
    const replies: unknown[] = [];
    const chain = {
      xadd: (key: string, ...rest: readonly string[]) => {
        this.added.push({ key, fields: rest.slice(rest.indexOf('*') + 1) });
        replies.push([null, '1-1']);
        return chain;
      },
      pexpire: () => {
        replies.push([null, 1]);
        return chain;
      },
      exec: async () => replies,
    };
    return chain;
  }
}

function writerWith(maxBytes: number) {
  const client = new AddedEntries();
  const keys = { origin: 'me', wake: 'wake', stream: (id: SessionId) => `stream ${id}` };
  const limits = { maxBytes, maxPendingBytes: 1e6, maxLength: 100, expiresMs: 1, timeoutMs: 1000 };
  const writer = new StreamWriter({ client } as never, keys as never, limits as never, () => {});
  const notices = () =>
    client.added.map(({ key, fields }) =>
      fields[2] === 'gone'
        ? 'gone'
        : decodeNotice(sessionId(key.slice('stream '.length)), fields.slice(2)),
    );
  return { writer, client, notices };
}

function notice(session: string, offsets: readonly number[], more: object = {}): BusNotice {
  const records = offsets.map(
    (offset): LogRecord => ({
      ...{ v: recordVersion, offset, time: 0, turn: 0, attempt: 0, producer: 'p' },
      fact: { type: 'handed_off', to: 'x' },
    }),
  );
  const work = { isClosed: false, openWork: [], queuedCommands: 0 };
  const state = { made: 1, incarnation: 'a', rewrites: 0, changedAt: 0, ...work };
  return { session: sessionId(session), through: offsets.at(-1) ?? 9, ...state, records, ...more };
}

const send = (writer: StreamWriter, ...all: readonly BusNotice[]) => {
  for (const one of all) writer.send(one.session, one);
};

test('appends to a session that continue each other are one message', async () => {
  const { writer, client, notices } = writerWith(10_000);
  send(writer, notice('a', [1]), notice('b', [1]), notice('a', [2, 3], { openWork: ['run 1'] }));
  send(writer, notice('b', [2]), notice('a', [4]));
  await writer.drained();
  expect(client.pipelines).toBe(1);
  expect(notices()).toMatchObject([
    { session: 'a', through: 4, openWork: [], records: [1, 2, 3, 4].map((offset) => ({ offset })) },
    { session: 'b', through: 2, records: [{ offset: 1 }, { offset: 2 }] },
  ]);
  expect(writer.pendingBytes).toBe(0);
});

test.each([
  ['a gap', notice('a', [3])],
  ['another incarnation', notice('a', [2], { incarnation: 'b' })],
  ['a session with the same id that was created later', notice('a', [2], { made: 2 })],
  ['a rewrite', notice('a', [2], { rewrites: 1 })],
])('a message is not joined after %s', async (_, second) => {
  const { writer, notices } = writerWith(10_000);
  send(writer, notice('a', [1]), second);
  await writer.drained();
  expect(notices()).toMatchObject([{ through: 1 }, { through: second.through }]);
});

test('a message about a deletion stays between the others', async () => {
  const { writer, notices } = writerWith(10_000);
  send(writer, notice('a', [1]));
  writer.send(sessionId('a'), 'gone');
  send(writer, notice('a', [2]));
  await writer.drained();
  expect(notices()).toMatchObject([{ through: 1 }, 'gone', { through: 2 }]);
});

test('messages are joined only as long as their records are sent', async () => {
  const { writer, notices } = writerWith(250);
  send(writer, ...[1, 2, 3, 4, 5].map((offset) => notice('a', [offset])));
  await writer.drained();
  const sent = notices().flatMap((one) => (one === 'gone' ? [] : (one?.records ?? [])));
  expect(sent.map(({ offset }) => offset)).toEqual([1, 2, 3, 4, 5]);
  expect(notices().length).toBeGreaterThan(1);
});
