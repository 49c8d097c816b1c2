import { expect, test, vi } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import type { App } from '../app/app-context.ts';
import { fakeApp, loopTask } from '../testing/fake-app.ts';

const hit = (match: string) => ({
  ...{ item_id: 'i1', kind: 'user', before: 'before <b>', match, after: '</b> after' },
});

/** Renders the search. The server answers each request with the next result. */
async function renderSearch(text: string, results: readonly object[]) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { AppContext } = await import('../app/app-context.ts');
  const { ContentSearch } = await import('./content-search.tsx');
  const { app } = fakeApp({ tasks: [loopTask('one'), loopTask('two')] });
  const requests: string[] = [];
  const api = {
    get: async (path: string) => {
      requests.push(path);
      const result = results[requests.length - 1];
      if (result === undefined) throw new Error('Not reached');
      return result;
    },
  };
  const node = (searched: string) => (
    <AppContext value={{ ...app, api } as unknown as App}>
      <ContentSearch text={searched} />
    </AppContext>
  );
  await page.render(node(text));
  const wait = () => page.act(() => void vi.advanceTimersByTime(1000));
  await wait();
  const type = async (next: string) => {
    await page.render(node(next));
    await wait();
  };
  const done = { [Symbol.asyncDispose]: async () => void vi.useRealTimers() };
  return { page, requests, type, ...done };
}

test('the found text is marked, its text stays text, and a button finds more', async () => {
  await using search = await renderSearch('rain', [
    { data: [{ task_id: 'one', hits: [hit('Rain')] }], searched: 50, next: 'c1' },
    { data: [{ task_id: 'two', hits: [hit('rain')] }], searched: 3, next: null },
  ]);
  const { page, requests } = search;
  expect(page.find('mark').textContent).toBe('Rain');
  expect(page.findAll('b')).toEqual([]);
  await page.click(page.find('button'));
  expect(requests).toEqual(['/search?text=rain', '/search?text=rain&cursor=c1']);
  expect(page.findAll('.content-hit').map((one) => one.getAttribute('href'))).toEqual([
    ...['/app/tasks/one', '/app/tasks/two'],
  ]);
  expect(page.findAll('button')).toEqual([]);
});

test('a short text sends no request, and an error is shown', async () => {
  await using search = await renderSearch('ra', []);
  expect(search.requests).toEqual([]);
  await search.type('rains');
  expect(search.requests).toHaveLength(1);
  expect(search.page.text()).toContain('cannot be searched');
});

test('an empty result says what was searched', async () => {
  await using search = await renderSearch('rain', [{ data: [], searched: 50, next: 'c1' }]);
  expect(search.page.text()).toContain('No message in the newest 50 sessions has this text.');
});
