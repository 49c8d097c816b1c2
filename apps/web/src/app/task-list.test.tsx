import { expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';
import { loopTask } from '../testing/fake-app.ts';

const many = Array.from({ length: 30 }, (_, at) => ({
  ...loopTask(`t${at}`),
  task_metadata: { title: at === 7 ? 'The Grain Mill' : `Session ${at}` },
}));

async function opened(count: number, isMore = false) {
  const page = await openDomPage('http://localhost/');
  const { TaskList } = await import('./task-list.tsx');
  const heard: string[] = [];
  await page.render(
    <TaskList
      tasks={many.slice(0, count)}
      {...{ isLoaded: true, current: undefined, isMore }}
      onMore={() => heard.push('more')}
      onSearch={() => heard.push('search')}
    />,
  );
  return { page, heard, links: () => page.findAll('a').length };
}

test('sessions are found by a word of their names, and all are asked for to find them', async () => {
  const { page, heard, links } = await opened(30);
  expect(links()).toBe(30);
  await page.type(page.find('input[type=search]'), 'grain');
  expect(heard).toContain('search');
  expect(links()).toBe(1);
  expect(page.text()).toContain('The Grain Mill');
  await page.type(page.find('input[type=search]'), 'nothing like it');
  expect(page.text()).toContain('No session has that in its name.');
});

test('where there are older ones a button gets them', async () => {
  const { page, heard } = await opened(30, true);
  await page.click(page.find('.task-list-more button'));
  expect(heard).toEqual(['more']);
});

test('a few are seen at a glance, without anything to search them', async () => {
  const { page } = await opened(5);
  expect(page.findAll('input, button')).toEqual([]);
});
