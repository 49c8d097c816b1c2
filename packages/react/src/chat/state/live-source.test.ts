import { createClient } from '@millrace/client';
import type { DraftRecord } from '@millrace/core';
import { expect, onTestFinished, test } from 'vitest';
import { frame, numbered } from '../../../../client/src/testing/batches.ts';
import { FakeServer } from '../../../../client/src/testing/fake-server.ts';
import { settled } from '../../../../client/src/testing/settled.ts';
import { factDraft } from '../../testing/records.ts';
import { LiveSource } from './live-source.ts';

const queuedCommand = (key: string): DraftRecord => {
  const parts = [{ kind: 'text', text: key }];
  const command = { type: 'message', items: [{ id: key, kind: 'user', parts }] };
  return factDraft({ type: 'command_queued', key, command });
};
const [first, second] = numbered([[queuedCommand('one')], [queuedCommand('two')]]).map(frame);

function watched() {
  const server = new FakeServer();
  const client = createClient({ url: 'http://server.test', fetch: server.fetch });
  onTestFinished(() => client.close());
  let unusedCalls = 0;
  const source = new LiveSource(client.task('t'), () => {
    unusedCalls++;
  });
  const queued = () => source.facts.queued.map(({ text }) => text);
  return { server, source, queued, unusedCalls: () => unusedCalls };
}

test('facts are known from the start, and listeners are notified', async () => {
  const { server, source, queued } = watched();
  const notifications = Promise.withResolvers<readonly string[]>();
  source.subscribe(() => queued().length > 0 && notifications.resolve(queued()));
  (await server.next()).open(first);
  expect(await notifications.promise).toEqual(['one']);
});

test('a stream that continues after its end is read without gaps or duplicates', async () => {
  const { server, source, queued } = watched();
  source.subscribe(() => {});
  const stream = await server.next();
  stream.open(first);
  stream.push('event: end\ndata: {"reason":"failed"}\n\n');
  await settled();
  expect(source.handle.snapshot().connection.state).toBe('ended');
  source.handle.reconnect();
  (await server.next()).open(`${first}${second}`);
  await settled();
  expect(queued()).toEqual(['one', 'two']);
});

test('the callback runs when the last listener unsubscribes', async () => {
  const { server, source, unusedCalls } = watched();
  const unsubscribe = [source.subscribe(() => {}), source.subscribe(() => {})];
  (await server.next()).open(first);
  unsubscribe[0]?.();
  expect([unusedCalls(), source.hasListeners]).toEqual([0, true]);
  unsubscribe[1]?.();
  expect([unusedCalls(), source.hasListeners]).toEqual([1, false]);
});
