import type { Client, TaskDigest, TaskSummary } from '@millrace/client';
import { TestClock } from '@millrace/log/suite';
import { expect, test } from 'vitest';
import { settled } from '../../../../packages/client/src/testing/settled.ts';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import { OverviewStore } from './overview-store.ts';

test('the page shows the last data and a warning when the server stops answering', async () => {
  const page = await openDomPage('http://localhost/app/overview');
  const { OverviewView } = await import('./overview-page.tsx');
  const server = { isBroken: false };
  const list = async () => {
    if (server.isBroken) throw new Error('away');
    return { data: [{ id: 'a', status: 'RUNNING' }], next: undefined };
  };
  const digest = async () => ({ state: 'running', agents: ['builder'], usage: [] });
  const client = { tasks: list, task: () => ({ digest }) } as unknown as Client;
  const clock = new TestClock();
  const store = new OverviewStore({ client, api: { get: async () => [] }, clock });
  await page.render(<OverviewView store={store} />);
  await page.act(settled);
  expect(page.text()).toContain('Running 1');
  expect(page.findAll('[role=alert]')).toEqual([]);
  server.isBroken = true;
  await page.act(async () => {
    await clock.advance(5000);
    await settled();
  });
  expect(page.find('[role=alert]').textContent).toMatch(/^The server does not answer/);
  expect(page.text()).toContain('Running 1');
  server.isBroken = false;
  await page.act(async () => {
    await clock.advance(5000);
    await settled();
  });
  expect(page.findAll('[role=alert]')).toEqual([]);
});

test('the card shows how many sessions wait for an approval, and which', async () => {
  const page = await openDomPage('http://localhost/app/overview');
  const { Running } = await import('./status-cards.tsx');
  const task = (id: string, state: string) => ({
    task: { id, name: id, status: 'RUNNING' } as TaskSummary,
    digest: { state, agents: ['builder'], running_since: null } as unknown as TaskDigest,
  });
  const render = (...states: readonly string[]) =>
    page.render(
      <Running tasks={states.map((state, at) => task(`t${at}`, state))} isTruncated={false} />,
    );
  await render('waiting', 'waiting', 'running');
  expect(page.find('h2').textContent).toBe('Running 3 2 wait for you');
  const rows = page.findAll('li').map((row) => row.textContent ?? '');
  expect(rows.map((row) => row.includes('waits for an approval'))).toEqual([true, true, false]);
  await render('running');
  expect(page.find('h2').textContent).toBe('Running 1');
});
