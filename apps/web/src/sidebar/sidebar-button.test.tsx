import { expect, test } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import { fakeApp, loopTask } from '../testing/fake-app.ts';

test.each([
  [0, 'Sessions'],
  [1, 'Sessions: 1 waits for you'],
  [2, 'Sessions: 2 wait for you'],
])('the button of the closed list shows that %d sessions wait', async (count, words) => {
  const page = await openDomPage('http://localhost/');
  const { AppContext } = await import('../app/app-context.ts');
  const { SidebarButton } = await import('./sidebar-button.tsx');
  const tasks = ['a', 'b', 'c'].map((id, at) => ({ ...loopTask(id), awaits_approval: at < count }));
  const { app } = fakeApp({ tasks });
  await page.render(
    <AppContext value={app}>
      <SidebarButton />
    </AppContext>,
  );
  expect(page.find('button').getAttribute('aria-label')).toBe(words);
  expect(page.findAll('.sidebar-button-dot')).toHaveLength(Math.min(count, 1));
});
