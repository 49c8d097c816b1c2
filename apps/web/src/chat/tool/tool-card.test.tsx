import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import { fakeApp, loopTask } from '../../testing/fake-app.ts';

async function renderChildSession(id: string) {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { AppContext } = await import('../../app/app-context.ts');
  const { ChildSession } = await import('./tool-card.tsx');
  const { app, fetched } = fakeApp({ tasks: [loopTask('s'), loopTask('a task')] });
  await page.render(
    <AppContext value={app}>
      <ChildSession id={id} />
    </AppContext>,
  );
  const links = page.findAll('a').map((link) => link.getAttribute('href'));
  return { text: page.text(), links, fetched };
}

test('the session of a sub-agent is a link if the server has a task for it', async () => {
  const { text, links, fetched } = await renderChildSession('a task');
  expect(text).toBe('Session of the sub-agent: a task');
  expect(links).toEqual(['/app/tasks/a%20task']);
  expect(fetched).toEqual([]);
});

test('a session without a task is shown as text after one request', async () => {
  const { text, links, fetched } = await renderChildSession('in the log alone');
  expect(text).toBe('Session of the sub-agent: in the log alone');
  expect(links).toEqual([]);
  expect(fetched).toEqual(['in the log alone']);
});
