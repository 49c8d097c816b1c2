import { ClientError } from '@millrace/client';
import { expect, test } from 'vitest';
import { settled } from '../../../../../packages/client/src/testing/settled.ts';
import { memoryStorage } from '../../../../../packages/react/src/testing/memory-storage.ts';
import { type Delivery, Outbox, type OutgoingMessage } from './outbox.ts';

interface TestDelivery extends PromiseWithResolvers<Delivery> {
  readonly message: OutgoingMessage;
}

/**
 * A browser that can open several pages one after the other. The test answers in place of the
 * server.
 */
function setUp() {
  const storage = memoryStorage();
  const deliveries: TestDelivery[] = [];
  const clock = { now: 1_000_000 };
  let keys = 0;
  const open = () => {
    const outbox = new Outbox({
      deliver: (message) => {
        const delivery = { message, ...Promise.withResolvers<Delivery>() };
        deliveries.push(delivery);
        return delivery.promise;
      },
      newKey: () => `key ${++keys}`,
      now: () => clock.now,
      storage,
    });
    outbox.resume();
    return outbox;
  };
  const takeDeliveries = () => deliveries.splice(0);
  return { open, takeDeliveries, clock };
}

const delivered = { shown: Promise.resolve() };
const shown = (messages: readonly OutgoingMessage[]) =>
  messages.map(({ text, state, error }) => [text, state, error]);

test('a message stays in the outbox until the conversation shows it', async () => {
  const { open, takeDeliveries } = setUp();
  const outbox = open();
  const later = Promise.withResolvers<void>();
  outbox.add('s', 'one', 'steer');
  expect(shown(outbox.of('s'))).toEqual([['one', 'sending', undefined]]);
  const [delivery] = takeDeliveries();
  expect(delivery?.message).toMatchObject({ task: 's', text: 'one', when: 'steer' });
  delivery?.resolve({ shown: later.promise });
  await settled();
  expect(shown(outbox.of('s'))).toEqual([['one', 'sent', undefined]]);
  later.resolve();
  await settled();
  expect(outbox.of('s')).toEqual([]);
  expect(open().of('s')).toEqual([]);
});

test('messages of a session are sent in order, and sessions do not wait for each other', async () => {
  const { open, takeDeliveries } = setUp();
  const outbox = open();
  for (const [task, text] of [
    ['s', 'one'],
    ['s', 'two'],
    ['t', 'three'],
  ] as const)
    outbox.add(task, text, 'follow_up');
  const first = takeDeliveries();
  expect(first.map(({ message }) => message.text)).toEqual(['one', 'three']);
  first[0]?.resolve(delivered);
  await settled();
  expect(takeDeliveries().map(({ message }) => message.text)).toEqual(['two']);
});

test('a message that was being sent when the page closed is sent by the next page with the same key', async () => {
  const { open, takeDeliveries } = setUp();
  open().add('s', 'one', 'follow_up');
  const [before] = takeDeliveries();
  const next = open();
  const [after] = takeDeliveries();
  expect(after?.message.key).toBe(before?.message.key);
  after?.resolve(delivered);
  await settled();
  expect(next.of('s')).toEqual([]);
  open();
  expect(takeDeliveries()).toEqual([]);
});

test('a rejected message shows the reason, survives a reload and is sent again only on request', async () => {
  const { open, takeDeliveries } = setUp();
  open().add('s', 'one', 'follow_up');
  const [refused] = takeDeliveries();
  refused?.reject(new ClientError('bad_state', 'It is closed'));
  await settled();
  const next = open();
  expect(takeDeliveries()).toEqual([]);
  const [message] = next.of('s');
  expect(message).toMatchObject({ text: 'one', state: 'failed', error: 'It is closed' });
  if (message !== undefined) next.retry(message);
  expect(shown(next.of('s'))).toEqual([['one', 'sending', undefined]]);
  expect(takeDeliveries().map((one) => one.message.key)).toEqual([refused?.message.key]);
});

test('a failed message does not block the next one', async () => {
  const { open, takeDeliveries } = setUp();
  const outbox = open();
  outbox.add('s', 'one', 'follow_up');
  outbox.add('s', 'two', 'follow_up');
  takeDeliveries()[0]?.reject(new Error('no'));
  await settled();
  takeDeliveries()[0]?.resolve(delivered);
  await settled();
  expect(shown(outbox.of('s'))).toEqual([['one', 'failed', 'no']]);
});

test('unanswered messages are sent when the server is back; rejected messages are not', async () => {
  const { open, takeDeliveries } = setUp();
  const outbox = open();
  outbox.add('s', 'one', 'follow_up');
  outbox.add('s', 'two', 'follow_up');
  takeDeliveries()[0]?.reject(new ClientError('unreachable', 'Cannot give a command to task 123'));
  await settled();
  takeDeliveries()[0]?.reject(new ClientError('invalid', 'Too odd'));
  await settled();
  expect(shown(outbox.of('s'))).toEqual([
    ['one', 'failed', 'The server does not answer.'],
    ['two', 'failed', 'Too odd'],
  ]);
  outbox.retryUnanswered('s');
  expect(takeDeliveries().map(({ message }) => message.text)).toEqual(['one']);
});

test('old messages are not sent automatically', () => {
  const { open, takeDeliveries, clock } = setUp();
  open().add('s', 'one', 'follow_up');
  takeDeliveries();
  clock.now += 86_400_000;
  expect(shown(open().of('s'))).toEqual([
    ['one', 'failed', 'The page was closed before the message was sent.'],
  ]);
  expect(takeDeliveries()).toEqual([]);
});

test('a discarded message is removed, and the outbox has a limit', () => {
  const { open } = setUp();
  const outbox = open();
  let count = 0;
  while (outbox.add('s', `message ${count}`, 'follow_up')) count++;
  expect(count).toBe(100);
  const [first] = outbox.of('s');
  if (first !== undefined) outbox.remove(first);
  expect(open().of('s')).toHaveLength(99);
  expect(outbox.add('s', 'one more', 'follow_up')).toBe(true);
});

test('invalid stored data is ignored', () => {
  const storage = memoryStorage();
  const options = {
    deliver: () => Promise.resolve(delivered),
    newKey: () => 'k',
    now: () => 0,
    storage,
  };
  for (const text of ['', '{', '{}', '[1, null, [], {"task": 1}]', '"x"']) {
    storage().setItem('millrace:outbox', text);
    const outbox = new Outbox(options);
    outbox.resume();
    expect(outbox.of('s')).toEqual([]);
  }
});

test('the files of a message survive a reload, because the server has them', async () => {
  const { open, takeDeliveries } = setUp();
  const file = { file_id: 'file_1', name: 'a.png', type: 'image/png', size: 3 };
  open().add('s', '', 'follow_up', [file]);
  expect(open().of('s')[0]?.attachments).toEqual([file]);
  expect(takeDeliveries().map(({ message }) => message.attachments)).toEqual([[file], [file]]);
});
