import { expect, onTestFinished, test, vi } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import type { ListedTask } from '../server/directory.ts';
import { fakeApp } from '../testing/fake-app.ts';
import type { BranchPlace } from './branch-dialog.tsx';

async function openDialog(place: BranchPlace) {
  const page = await openDomPage('http://localhost/app/tasks/s/inspect');
  vi.stubGlobal('history', page.window.history);
  vi.stubGlobal('dispatchEvent', () => true);
  onTestFinished(() => void vi.unstubAllGlobals());
  const { AppContext } = await import('../app/app-context.ts');
  const { BranchDialog } = await import('./branch-dialog.tsx');
  const models = ['small', 'large', 'other'];
  const agent = { name: 'builder', registration_metadata: { kind: 'loop', models } };
  const task = { id: 's', agents: [agent], task_metadata: null } as unknown as ListedTask;
  let made = 0;
  const { app, posted, changed } = fakeApp({
    tasks: [task],
    post: async () => ({ id: `b${++made}` }),
  });
  await page.render(
    <AppContext value={app}>
      <BranchDialog id="s" place={place} onClose={() => {}} />
    </AppContext>,
  );
  return { page, posted, changed };
}

test('25.2: each selected model gets a branch with its name, and they are shown side by side', async () => {
  const { page, posted, changed } = await openDialog({ offset: 41, call: undefined });
  await page.type(page.find('textarea'), 'Another way');
  const [small, , other] = page.findAll('input[type=checkbox]');
  for (const box of [small, other]) if (box !== undefined) await page.click(box);
  expect(page.text()).toContain('Start 2 branches');
  await page.submit(page.find('form'));
  const content = { type: 'text', author: 'user', content: 'Another way' };
  expect(posted).toEqual([
    ['/tasks/s/branch', { at: 41, content, model: 'small' }],
    ['/tasks/s/branch', { at: 41, content, model: 'other' }],
  ]);
  expect(changed).toEqual([
    ['PUT', '/tasks/b1', { merge_metadata: { title: 'small' } }],
    ['PUT', '/tasks/b2', { merge_metadata: { title: 'other' } }],
  ]);
  expect(page.window.location.href).toBe('http://localhost/app/tasks/s/branches?with=b1&with=b2');
});

test('25.2: each message gets a branch', async () => {
  const { page, posted } = await openDialog({ offset: 41, call: undefined });
  await page.click(
    page.findAll('button').find(({ textContent }) => textContent === 'Add a message') as never,
  );
  const [first, second] = page.findAll('textarea');
  if (first !== undefined) await page.type(first, 'One');
  if (second !== undefined) await page.type(second, 'Two');
  await page.submit(page.find('form'));
  const texts = posted.map(([, body]) => (body['content'] as { content: string }).content);
  expect(texts).toEqual(['One', 'Two']);
});

test('25.2: a call runs again only if the user asks for it', async () => {
  const call = { toolCallId: 'c1', name: 'read' };
  const { page, posted } = await openDialog({ offset: 7, call });
  const [again] = page.findAll('input[type=checkbox]');
  if (again !== undefined) await page.click(again);
  await page.submit(page.find('form'));
  expect(posted).toEqual([['/tasks/s/branch', { at: 7, rerun: ['c1'] }]]);
  expect(page.window.location.pathname).toBe('/app/tasks/b1');
});
