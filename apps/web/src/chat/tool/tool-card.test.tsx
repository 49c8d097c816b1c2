import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import { fakeApp, loopTask } from '../../testing/fake-app.ts';

async function shown(id: string) {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { AppContext } = await import('../../app/app-context.ts');
  const { ChildSession } = await import('./tool-card.tsx');
  const { app, looked } = fakeApp({ tasks: [loopTask('s'), loopTask('a task')] });
  await page.render(
    <AppContext value={app}>
      <ChildSession id={id} />
    </AppContext>,
  );
  const links = page.findAll('a').map((link) => link.getAttribute('href'));
  return { text: page.text(), links, looked };
}

test('the session of a sub-agent that is a task of the server leads to it', async () => {
  const { text, links, looked } = await shown('a task');
  expect(text).toBe('Session of the sub-agent: a task');
  expect(links).toEqual(['/app/tasks/a%20task']);
  expect(looked).toEqual([]);
});

test('one that is none is named and leads nowhere, once it was looked for', async () => {
  const { text, links, looked } = await shown('in the log alone');
  expect(text).toBe('Session of the sub-agent: in the log alone');
  expect(links).toEqual([]);
  expect(looked).toEqual(['in the log alone']);
});
