import { expect, test, vi } from 'vitest';
import { openDomPage } from '../../../../../packages/react/src/testing/dom-page.ts';
import type { ListedTask } from '../../server/directory.ts';
import { fakeApp, loopTask } from '../../testing/fake-app.ts';

const titled = (id: string, title: string, metadata: object = {}): ListedTask => ({
  ...loopTask(id),
  task_metadata: { title, ...metadata },
});

async function renderList(tasks: readonly ListedTask[]) {
  const page = await openDomPage('http://localhost/app/tasks/a');
  const frame = (run: () => void) => setTimeout(run);
  vi.stubGlobal('requestAnimationFrame', frame);
  vi.stubGlobal('innerWidth', 800);
  vi.stubGlobal('innerHeight', 600);
  const pushState = vi.fn();
  vi.stubGlobal('history', { pushState });
  vi.stubGlobal('dispatchEvent', vi.fn());
  const { AppContext } = await import('../../app/app-context.ts');
  const { TaskList } = await import('../task-list.tsx');
  // React loads these components when it shows them. They are loaded here first, so that the test
  // does not depend on the loading time.
  await Promise.all([import('./session-manager.tsx'), import('./selection-bar.tsx')]);
  await import('./rename-field.tsx');
  const { app, changed } = fakeApp({ tasks });
  await page.render(
    <AppContext value={app}>
      <TaskList
        {...{ tasks, isLoaded: true, current: 'a', hasMore: false, find: undefined }}
        onLoadMore={() => {}}
      />
    </AppContext>,
  );
  const choose = async (title: string, action: string) => {
    await page.click(page.find(`[aria-label="Actions for ${title}"]`));
    await page.act(async () => {});
    await page.click(page.find(`[data-action=${action}]`));
    await page.act(async () => {});
  };
  return { page, changed, choose, pushState };
}

test('the menu pins and unpins, and archives', async () => {
  const { page, changed, choose } = await renderList([
    titled('a', 'Paris'),
    titled('b', 'Rome', { pinned: true }),
  ]);
  await choose('Paris', 'pin');
  await choose('Rome', 'pin');
  await choose('Paris', 'archive');
  expect(changed).toEqual([
    ['PUT', '/tasks/a', { merge_metadata: { pinned: true } }],
    ['PUT', '/tasks/b', { merge_metadata: { pinned: null } }],
    ['PUT', '/tasks/a', { merge_metadata: { archived: true } }],
  ]);
  expect(page.findAll('[role=menu]')).toEqual([]);
});

test('a title is changed in place, with the menu and with F2', async () => {
  const { page, changed, choose } = await renderList([titled('a', 'Paris')]);
  await choose('Paris', 'rename');
  await page.type(page.find('.rename-field input'), '  Rome  ');
  await page.submit(page.find('.rename-field'));
  expect(changed).toEqual([['PUT', '/tasks/a', { merge_metadata: { title: 'Rome' } }]]);
  await page.press(page.find('[data-task=a]'), 'F2');
  await page.type(page.find('.rename-field input'), 'Oslo');
  await page.press(page.find('.rename-field input'), 'Escape');
  expect(page.findAll('.rename-field')).toEqual([]);
  await page.press(page.find('[data-task=a]'), 'F2');
  await page.type(page.find('.rename-field input'), '   ');
  await page.submit(page.find('.rename-field'));
  expect(changed).toHaveLength(1);
});

test('deleting asks first, and leaves the page of the deleted session', async () => {
  const { page, changed, pushState } = await renderList([
    titled('a', 'Paris'),
    titled('b', 'Rome'),
  ]);
  const remove = async () => {
    await page.press(page.find('[data-task=a]'), 'Delete');
    expect(page.find('dialog').textContent).toContain('“Paris” will be deleted');
  };
  await remove();
  await page.click(page.find('.manage-buttons button:last-child'));
  expect(changed).toEqual([]);
  await remove();
  await page.click(page.find('.manage-buttons button:first-child'));
  expect(changed).toEqual([['DELETE', '/tasks/a']]);
  expect(pushState).toHaveBeenCalledWith(null, '', '/');
});

test('several sessions are moved to a folder at once', async () => {
  const tasks = [
    titled('a', 'Paris'),
    titled('b', 'Rome'),
    titled('c', 'Bread', { folder: 'Food' }),
  ];
  const { page, changed, choose } = await renderList(tasks);
  await choose('Paris', 'select');
  await page.click(page.find('[aria-label="Select Rome"]'));
  expect(page.find('.selection-bar [role=status]').textContent).toBe('2 selected');
  await page.click(page.find('[aria-label="Move to folder …"]'));
  expect(page.findAll('datalist option').map((option) => option.getAttribute('value'))).toEqual([
    'Food',
  ]);
  await page.type(page.find('dialog input'), 'Trips');
  await page.submit(page.find('dialog form'));
  const body = { merge_metadata: { folder: 'Trips' } };
  expect(changed).toEqual([
    ['PUT', '/tasks/a', body],
    ['PUT', '/tasks/b', body],
  ]);
  expect(page.findAll('.selection-bar, dialog, [type=checkbox]')).toEqual([]);
});

test('arrow keys move between sessions and between the entries of a menu', async () => {
  const { page } = await renderList([titled('a', 'Paris'), titled('b', 'Rome')]);
  const focused = () => page.window.document.activeElement;
  page.find('[data-task=a]').focus();
  await page.press(page.find('[data-task=a]'), 'ArrowDown');
  expect(focused()?.getAttribute('data-task')).toBe('b');
  await page.press(page.find('[data-task=b]'), 'Home');
  expect(focused()?.getAttribute('data-task')).toBe('a');
  await page.click(page.find('[aria-label="Actions for Rome"]'));
  expect(focused()?.getAttribute('data-action')).toBe('rename');
  await page.press(page.find('[role=menu]'), 'ArrowUp');
  expect(focused()?.getAttribute('data-action')).toBe('delete');
  await page.press(page.find('[role=menu]'), 'Escape');
  expect(focused()?.getAttribute('aria-label')).toBe('Actions for Rome');
});
