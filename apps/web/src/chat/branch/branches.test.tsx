import { type ItemId, itemId } from '@millrace/core';
import type { LiveSource } from '@millrace/react';
import { expect, test } from 'vitest';
import { openDomPage } from '../../../../../packages/react/src/testing/dom-page.ts';
import { fakeApp, loopTask } from '../../testing/fake-app.ts';

const [question, answer] = [itemId('question'), itemId('answer')];
const file = { file_id: 'file_1', name: 'a.png', type: 'image/png', size: 3 };
const live = {
  id: 's',
  itemIds: [question, answer],
  item: (id: ItemId) => ({ id, kind: id === answer ? 'assistant' : 'user' }),
} as unknown as LiveSource;

async function renderBranches(post: () => Promise<never>) {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { AppContext } = await import('../../app/app-context.ts');
  const { useItemActions } = await import('@millrace/react');
  const { Branches } = await import('./branches.tsx');
  const { app, posted } = fakeApp({ tasks: [loopTask('s')], post });
  const Again = () => {
    const { regenerate, edit } = useItemActions();
    return (
      <>
        <button type="button" onClick={() => regenerate?.(answer)}>
          again
        </button>
        <button
          type="button"
          className="edit"
          onClick={() => void edit?.(question, 'Rain?', [file])}
        >
          edit
        </button>
      </>
    );
  };
  await page.render(
    <AppContext value={app}>
      <Branches live={live} isPast={false}>
        <Again />
      </Branches>
    </AppContext>,
  );
  return { page, posted };
}

test('a double click creates one branch', async () => {
  const { page, posted } = await renderBranches(() => new Promise(() => {}));
  await page.click(page.find('button'));
  await page.click(page.find('button'));
  expect(posted).toEqual([['/tasks/s/fork', { item_id: 'answer' }]]);
});

test('a failed branch shows the reason and can be tried again', async () => {
  const { page, posted } = await renderBranches(() => Promise.reject(new Error('No room')));
  await page.click(page.find('button'));
  expect(page.find('[role=alert]').textContent).toBe('No room');
  await page.click(page.find('button'));
  expect(posted).toHaveLength(2);
});

test('an edited message is sent with its files', async () => {
  const { page, posted } = await renderBranches(() => new Promise(() => {}));
  await page.click(page.find('.edit'));
  const content = { type: 'text', author: 'user', content: 'Rain?', attachments: [file] };
  expect(posted).toEqual([['/tasks/s/fork', { item_id: 'question', content }]]);
});
