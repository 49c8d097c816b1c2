import { expect, test } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import { fakeApp, loopTask } from '../testing/fake-app.ts';

async function renderLink(id: string) {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { AppContext } = await import('./app-context.ts');
  const { SessionLink } = await import('./session-link.tsx');
  const { app, fetched } = fakeApp({ tasks: [loopTask('s'), loopTask('a task')] });
  await page.render(
    <AppContext value={app}>
      <SessionLink id={id} view="chat">
        {id}
      </SessionLink>
    </AppContext>,
  );
  const links = page.findAll('a').map((link) => link.getAttribute('href'));
  return { text: page.text(), links, fetched };
}

test('the session of a sub-agent is a link if the server has a task for it', async () => {
  const { text, links, fetched } = await renderLink('a task');
  expect(text).toBe('a task');
  expect(links).toEqual(['/app/tasks/a%20task']);
  expect(fetched).toEqual([]);
});

test('a session without a task is shown as text after one request', async () => {
  const { text, links, fetched } = await renderLink('in the log alone');
  expect(text).toBe('in the log alone');
  expect(links).toEqual([]);
  expect(fetched).toEqual(['in the log alone']);
});
