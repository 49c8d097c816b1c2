import type { Connection, Task, TaskStatus } from '@millrace/client';
import { type DraftRecord, noUsage, runId, toolCallId, type Usage } from '@millrace/core';
import type { LiveSource } from '@millrace/react';
import { expect, test } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import { GrowingSource } from '../../../../packages/react/src/testing/growing-source.ts';
import { factDraft, numberDrafts } from '../../../../packages/react/src/testing/records.ts';
import { fakeApp, loopTask } from '../testing/fake-app.ts';

interface SessionState {
  readonly connection: Connection;
  readonly status?: TaskStatus;
  readonly tasks?: readonly string[];
  readonly usage?: Usage;
  /** Records after the start of the run. */
  readonly more?: readonly DraftRecord[];
  readonly hasAgent?: boolean;
}

/** Renders the foot of a session that has a run in progress. */
async function renderFoot({
  connection,
  status = 'RUNNING',
  tasks = ['s'],
  usage = noUsage,
  more = [],
  hasAgent = true,
}: SessionState) {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { AppContext } = await import('../app/app-context.ts');
  // The foot loads the questions on demand.
  await import('../../../../packages/react/src/chat/approval/approval-dock.tsx');
  const { ChatFoot } = await import('./chat-foot.tsx');
  const source = new GrowingSource();
  const drafts = [
    factDraft({ type: 'run_started', runId: runId('r1') }, 1, 1),
    factDraft({ type: 'usage_reported', usage }, 1, 1),
    ...more,
  ];
  source.add(numberDrafts(drafts));
  const snapshot = { connection, task: { id: 's', status } as Task };
  const stops: string[] = [];
  const stop = async () => void stops.push('stop');
  const live = Object.assign(source, { handle: { snapshot: () => snapshot, stop } });
  const { app, fetched } = fakeApp({
    tasks: tasks.map((id) => ({ ...loopTask(id), ...(hasAgent ? {} : { agents: [] }) })),
  });
  await page.render(
    <AppContext value={app}>
      <ChatFoot
        {...{ live: live as unknown as LiveSource, source, isPast: false }}
        onBackToNow={() => {}}
        onSent={() => {}}
      />
    </AppContext>,
  );
  return { page, fetched, stops };
}

test('the activity is shown and can be stopped', async () => {
  const { page } = await renderFoot({ connection: { state: 'live' } });
  expect(page.text()).toContain('Working');
  expect(page.text()).toContain('Stop');
  expect(page.text()).toContain('Steer');
});

test('the usage has the share of the input that came from the cache', async () => {
  const usage = { ...noUsage, input: 1200, cacheRead: 1000, output: 34 };
  const { page } = await renderFoot({ connection: { state: 'live' }, usage });
  expect(page.text()).toContain('1.2K in (83% cached) · 34 out');
});

test.each<SessionState>([
  { connection: { state: 'ended', reason: 'deleted' }, status: 'DELETED' },
  { connection: { state: 'ended', reason: 'over' } },
  { connection: { state: 'live' }, status: 'CANCELED' },
])('an ended session shows no activity, whatever its log contains: %j', async (shown) => {
  const { page } = await renderFoot(shown);
  expect(page.text()).not.toContain('Working');
  expect(page.text()).not.toContain('Stop');
});

test('a closed session has a link to a new session', async () => {
  const connection: Connection = { state: 'ended', reason: 'deleted' };
  const { page } = await renderFoot({ connection, status: 'DELETED' });
  expect(page.text()).toContain('This session was deleted.');
  expect(page.find('a').textContent).toBe('Start another session');
  expect(page.find('a').getAttribute('href')).toBe('/');
});

test('a session that is not in the list is fetched by its id', async () => {
  const { fetched } = await renderFoot({ connection: { state: 'live' }, tasks: ['another'] });
  expect(fetched).toEqual(['s']);
});

const asksAndParks: readonly DraftRecord[] = [
  factDraft({ type: 'approval_asked', toolCallId: toolCallId('t'), name: 'pay' }, 1, 1),
  factDraft({ type: 'run_finished', runId: runId('r1'), stop: { reason: 'parked' } }, 1, 1),
];

test('22.7: a session that waits for an answer can be stopped, with the button and with Escape', async () => {
  const { page, stops } = await renderFoot({ connection: { state: 'live' }, more: asksAndParks });
  const button = page.findAll('button').find((one) => one.textContent?.includes('Stop'));
  if (button === undefined) throw new Error('There is no Stop');
  await page.click(button);
  expect(stops).toEqual(['stop']);
  await page.press(page.find('textarea'), 'Escape');
  await page.press(page.find('.approval'), 'Escape');
  expect(stops).toEqual(['stop', 'stop', 'stop']);
});

test.each<Connection>([
  { state: 'retrying', failures: 2, nextTryAt: 0 } as Connection,
  { state: 'connecting', failures: 1 } as Connection,
])('22.9: without a connection no spinner runs: %j', async (connection) => {
  const { page } = await renderFoot({ connection });
  expect(page.findAll('.spinner')).toEqual([]);
  expect(page.find('.activity').textContent).toBe('Last known: Working');
});

test('22.9: the session of a sub-agent can be read, and has no message field', async () => {
  const { page } = await renderFoot({ connection: { state: 'live' }, hasAgent: false });
  expect(page.text()).toContain('You can only read it.');
  expect(page.findAll('textarea')).toEqual([]);
});
