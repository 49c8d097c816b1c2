import type { LiveSource } from '@millrace/react';
import { expect, test } from 'vitest';
import { openDomPage } from '../../../../../packages/react/src/testing/dom-page.ts';
import { memoryStorage } from '../../../../../packages/react/src/testing/memory-storage.ts';
import { fakeApp } from '../../testing/fake-app.ts';
import { type Delivery, Outbox } from './outbox.ts';

const connection = { state: 'live' };

/** A session. The test adds the messages of its conversation. */
function fakeLive() {
  const listeners = new Set<() => void>();
  const live = {
    id: 's',
    itemIds: [] as readonly string[],
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    item: (id: string) => ({ kind: 'user', partIds: [id] }),
    part: (text: string) => ({ kind: 'text', text }),
    handle: { snapshot: () => ({ connection }) },
    /** Adds a message of the user to the conversation. */
    addItem(text: string) {
      live.itemIds = [...live.itemIds, text];
      for (const listener of [...listeners]) listener();
    },
  };
  return live;
}

async function renderOutbox() {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { AppContext } = await import('../../app/app-context.ts');
  const { drafts } = await import('@millrace/react');
  const { OutboxView } = await import('./outbox-view.tsx');
  const answers: PromiseWithResolvers<Delivery>[] = [];
  const deliver = () => {
    const answer = Promise.withResolvers<Delivery>();
    answers.push(answer);
    return answer.promise;
  };
  const outbox = new Outbox({ deliver, newKey: () => 'k', now: () => 0, storage: memoryStorage() });
  const live = fakeLive();
  await page.render(
    <AppContext value={{ ...fakeApp().app, outbox }}>
      <OutboxView live={live as unknown as LiveSource} />
    </AppContext>,
  );
  const button = (name: string) => {
    const found = page.findAll('button').find(({ textContent }) => textContent === name);
    if (found === undefined) throw new Error(`There is no button ${name}`);
    return found;
  };
  return { page, live, outbox, answers, drafts, button };
}

test('a message is shown while it is sent, and removed when the conversation contains it', async () => {
  const { page, outbox, answers } = await renderOutbox();
  expect(page.text()).toBe('');
  await page.act(() => void outbox.add('s', 'hello', 'follow_up'));
  expect(page.text()).toBe('helloSending …');
  await page.act(() => answers[0]?.resolve({ shown: Promise.resolve() }));
  expect(page.text()).toBe('');
});

test('a message is shown once if the stream is faster than the answer of the server', async () => {
  const { page, live, outbox } = await renderOutbox();
  await page.act(() => live.addItem('hello'));
  await page.act(() => void outbox.add('s', 'hello', 'follow_up'));
  expect(page.text()).toBe('helloSending …');
  await page.act(() => live.addItem('something else'));
  expect(page.text()).toBe('helloSending …');
  await page.act(() => live.addItem('hello'));
  expect(page.text()).toBe('');
});

test('a failed message shows the reason and can be sent again, edited or discarded', async () => {
  const { page, outbox, answers, drafts, button } = await renderOutbox();
  await page.act(() => void outbox.add('s', 'hello', 'follow_up'));
  await page.act(() => answers[0]?.reject(new Error('No room')));
  expect(page.find('[role=alert]').textContent).toBe('Not sent: No room');
  await page.click(button('Try again'));
  expect(page.text()).toContain('Sending …');
  await page.act(() => answers[1]?.reject(new Error('No room')));
  await page.click(button('Edit'));
  expect(page.text()).toBe('');
  expect(drafts.read('s')).toBe('hello');
  await page.act(() => void outbox.add('s', 'another', 'follow_up'));
  await page.act(() => answers[2]?.reject(new Error('No room')));
  await page.click(button('Discard'));
  expect(page.text()).toBe('');
  expect(drafts.read('s')).toBe('hello');
});
