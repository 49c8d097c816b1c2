import { expect, onTestFinished, test, vi } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import type { ListedTask } from '../server/directory.ts';
import { loopTask } from '../testing/fake-app.ts';
import type { FindTasks } from './task-search.ts';

const titled = (id: string, title: string): ListedTask => ({
  ...loopTask(id),
  task_metadata: { title },
});
const many = Array.from({ length: 30 }, (_, at) =>
  titled(`t${at}`, at === 7 ? 'The Order Refund' : `Session ${at}`),
);

interface Listing {
  readonly tasks: readonly ListedTask[];
  readonly hasMore?: boolean;
  readonly find?: FindTasks;
  readonly renderContent?: (text: string) => string;
}

async function renderList({ tasks, hasMore = false, find, renderContent }: Listing) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const page = await openDomPage('http://localhost/');
  const { TaskList } = await import('./task-list.tsx');
  const loadMoreCalls: string[] = [];
  const show = (shown: readonly ListedTask[]) =>
    page.render(
      <TaskList
        tasks={shown}
        {...{ isLoaded: true, current: undefined, hasMore, find, renderContent }}
        onLoadMore={() => loadMoreCalls.push('more')}
      />,
    );
  await show(tasks);
  const pass = (ms: number) => page.act(() => vi.advanceTimersByTimeAsync(ms).then(() => {}));
  const search = (text: string) => page.type(page.find('input[type=search]'), text);
  const links = () => page.findAll('a').map((link) => link.textContent ?? '');
  return { page, loadMoreCalls, show, pass, search, links };
}

/** A server that finds tasks by text. It records the requests. */
function fakeSearch(old: readonly ListedTask[]) {
  const requests: string[] = [];
  const aborted: string[] = [];
  const find: FindTasks = async (text, signal) => {
    requests.push(text);
    signal.addEventListener('abort', () => aborted.push(text));
    return old.filter(({ task_metadata: data }) => String(data?.['title']).includes(text));
  };
  return { requests, aborted, find };
}

test('sessions are found by a word in their names', async () => {
  const { page, search, links } = await renderList({ tasks: many });
  expect(links()).toHaveLength(30);
  await search('refund');
  expect(links()).toEqual([expect.stringContaining('The Order Refund')]);
  await search('nothing like it');
  expect(page.text()).toContain('No name matches.');
});

test('22: the list does not say that no name matches above results in messages', async () => {
  const renderContent = (text: string) => `Messages with ${text}`;
  const { page, search } = await renderList({ tasks: many, renderContent });
  await search('nothing like it');
  expect(page.text()).toContain('Messages with nothing like it');
  expect(page.text()).not.toContain('No name matches.');
});

test('an incomplete list is searched on the server after a pause in typing', async () => {
  const { requests, find } = fakeSearch([
    titled('old', 'an old refund'),
    titled('t7', 'stale refund'),
  ]);
  const { page, pass, search, links } = await renderList({ tasks: many, find });
  await search('gra');
  await pass(100);
  await search('refund');
  expect(page.find('[role=status]').textContent).toContain('Searching older sessions');
  expect(requests).toEqual([]);
  await pass(1000);
  expect(requests).toEqual(['refund']);
  expect(page.find('[role=status]').textContent).toBe('');
  expect(links()).toEqual([
    expect.stringContaining('The Order Refund'),
    expect.stringContaining('an old refund'),
  ]);
});

test('the search repeats when the list changes, and only while there is a query', async () => {
  const { requests, aborted, find } = fakeSearch([]);
  const { pass, search, show } = await renderList({ tasks: many, find });
  await show([...many]);
  await pass(1000);
  expect(requests).toEqual([]);
  await search('order');
  await pass(1000);
  await show([...many]);
  await pass(1000);
  expect(requests).toEqual(['order', 'order']);
  expect(aborted).toEqual(['order']);
});

test('a failed search shows the error and the local matches', async () => {
  const find = () => Promise.reject(new Error('away'));
  const { page, pass, search, links } = await renderList({ tasks: many, find });
  await search('refund');
  await pass(1000);
  expect(page.find('[role=status]').textContent).toContain('could not be searched');
  expect(links()).toHaveLength(1);
});

test('a waiting session is marked in place, and the heading shows the number', async () => {
  const tasks: readonly ListedTask[] = [
    { ...titled('a', 'works'), is_at_work: true, awaits_approval: false },
    { ...titled('b', 'asks'), is_at_work: true, awaits_approval: true },
    { ...titled('c', 'unknown'), is_at_work: true },
    titled('d', 'rests'),
  ];
  const { page, links, show } = await renderList({ tasks });
  const work = page.findAll('a').map((link) => link.querySelector('.task-link-work')?.textContent);
  expect(work).toEqual(['in progress', 'waits for you', 'in progress', undefined]);
  expect(links()[1]).toContain('asks');
  expect(page.find('h2').textContent).toContain('1 waits for you');
  await show(tasks.slice(2));
  expect(page.find('h2').textContent).toBe('Sessions');
});

test('an idle session has no mark, neither visible nor for screen readers', async () => {
  const idle = { status: 'RUNNING', agents: null, updated_at: null } as const;
  const tasks: readonly ListedTask[] = [
    { ...titled('a', 'rests'), ...idle, is_at_work: false, awaits_approval: false },
    { ...titled('b', 'not known'), ...idle },
    { ...titled('c', 'works'), ...idle, is_at_work: true },
  ];
  const { page, links } = await renderList({ tasks });
  const linkText = (title: string, words = '') => `${title}unknown agent${words}`;
  expect(links()).toEqual([
    linkText('rests'),
    linkText('not known'),
    linkText('works', 'in progress'),
  ]);
  expect(page.findAll('a [aria-label], a [title]')).toEqual([]);
});

test('22.9: a session has one state, although messages wait for a stopped agent', async () => {
  const stopped = { status: 'INTERRUPTED', agents: null, updated_at: null } as const;
  const tasks: readonly ListedTask[] = [
    { ...titled('a', 'halted'), ...stopped, is_at_work: true, awaits_approval: false },
    { ...titled('b', 'asks'), ...stopped, is_at_work: true, awaits_approval: true },
  ];
  const { links } = await renderList({ tasks });
  expect(links()).toEqual(['haltedunknown agentstopped', 'asksunknown agentwaits for you']);
});

test('a button loads older sessions', async () => {
  const { page, loadMoreCalls } = await renderList({ tasks: many, hasMore: true });
  await page.click(page.find('.task-list-more button'));
  expect(loadMoreCalls).toEqual(['more']);
});

test('a list with one session has no search field', async () => {
  const { page } = await renderList({ tasks: many.slice(0, 1) });
  expect(page.findAll('input')).toEqual([]);
});
