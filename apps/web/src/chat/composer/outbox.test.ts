import { ClientError } from '@millrace/client';
import { expect, test } from 'vitest';
import { settled } from '../../../../../packages/client/src/testing/settled.ts';
import { memoryStorage } from '../../testing/fake-app.ts';
import { type Delivery, Outbox, type OutgoingMessage } from './outbox.ts';

interface TestDelivery extends PromiseWithResolvers<Delivery> {
  readonly message: OutgoingMessage;
}

/** A browser that can open several pages in turn. The test answers in place of the server. */
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
  const take = () => deliveries.splice(0);
  return { open, take, clock };
}

const delivered = { shown: Promise.resolve() };
const shown = (messages: readonly OutgoingMessage[]) =>
  messages.map(({ text, state, error }) => [text, state, error]);

test('what is said is there until it is shown otherwise', async () => {
  const { open, take } = setUp();
  const outbox = open();
  const later = Promise.withResolvers<void>();
  outbox.add('s', 'one', 'steer');
  expect(shown(outbox.of('s'))).toEqual([['one', 'sending', undefined]]);
  const [delivery] = take();
  expect(delivery?.message).toMatchObject({ task: 's', text: 'one', when: 'steer' });
  delivery?.resolve({ shown: later.promise });
  await settled();
  expect(shown(outbox.of('s'))).toEqual([['one', 'sent', undefined]]);
  later.resolve();
  await settled();
  expect(outbox.of('s')).toEqual([]);
  expect(open().of('s')).toEqual([]);
});

test('messages of a session are sent in order, and those of another do not wait for them', async () => {
  const { open, take } = setUp();
  const outbox = open();
  for (const [task, text] of [
    ['s', 'one'],
    ['s', 'two'],
    ['t', 'three'],
  ] as const)
    outbox.add(task, text, 'follow_up');
  const first = take();
  expect(first.map(({ message }) => message.text)).toEqual(['one', 'three']);
  first[0]?.resolve(delivered);
  await settled();
  expect(take().map(({ message }) => message.text)).toEqual(['two']);
});

test('what was on its way when the page was left is sent by the next one, with the same key', async () => {
  const { open, take } = setUp();
  open().add('s', 'one', 'follow_up');
  const [before] = take();
  const next = open();
  const [after] = take();
  expect(after?.message.key).toBe(before?.message.key);
  after?.resolve(delivered);
  await settled();
  expect(next.of('s')).toEqual([]);
  open();
  expect(take()).toEqual([]);
});

test('what was refused says why, stays over a reload, and is sent again only when asked', async () => {
  const { open, take } = setUp();
  open().add('s', 'one', 'follow_up');
  const [refused] = take();
  refused?.reject(new ClientError('bad_state', 'It is closed'));
  await settled();
  const next = open();
  expect(take()).toEqual([]);
  const [message] = next.of('s');
  expect(message).toMatchObject({ text: 'one', state: 'failed', error: 'It is closed' });
  if (message !== undefined) next.retry(message);
  expect(shown(next.of('s'))).toEqual([['one', 'sending', undefined]]);
  expect(take().map((one) => one.message.key)).toEqual([refused?.message.key]);
});

test('one that fails does not hold up the next', async () => {
  const { open, take } = setUp();
  const outbox = open();
  outbox.add('s', 'one', 'follow_up');
  outbox.add('s', 'two', 'follow_up');
  take()[0]?.reject(new Error('no'));
  await settled();
  take()[0]?.resolve(delivered);
  await settled();
  expect(shown(outbox.of('s'))).toEqual([['one', 'failed', 'no']]);
});

test('what nobody answered is sent when somebody does again; what was refused is not', async () => {
  const { open, take } = setUp();
  const outbox = open();
  outbox.add('s', 'one', 'follow_up');
  outbox.add('s', 'two', 'follow_up');
  take()[0]?.reject(new ClientError('unreachable', 'Cannot give a command to task 123'));
  await settled();
  take()[0]?.reject(new ClientError('invalid', 'Too odd'));
  await settled();
  expect(shown(outbox.of('s'))).toEqual([
    ['one', 'failed', 'The server does not answer.'],
    ['two', 'failed', 'Too odd'],
  ]);
  outbox.retryUnanswered('s');
  expect(take().map(({ message }) => message.text)).toEqual(['one']);
});

test('what was said long ago is not sent unasked', () => {
  const { open, take, clock } = setUp();
  open().add('s', 'one', 'follow_up');
  take();
  clock.now += 86_400_000;
  expect(shown(open().of('s'))).toEqual([['one', 'failed', 'The page was closed before.']]);
  expect(take()).toEqual([]);
});

test('what is discarded is gone for good, and there is room for so many', () => {
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

test('what a browser kept may be anything', () => {
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
