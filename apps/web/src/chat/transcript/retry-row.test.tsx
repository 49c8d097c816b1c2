import type { Task, TaskStatus } from '@millrace/client';
import { type DraftRecord, runId, type Stop } from '@millrace/core';
import type { LiveSource } from '@millrace/react';
import { expect, test } from 'vitest';
import { openDomPage } from '../../../../../packages/react/src/testing/dom-page.ts';
import { GrowingSource } from '../../../../../packages/react/src/testing/growing-source.ts';
import {
  factDraft,
  foldDrafts,
  numberDrafts,
} from '../../../../../packages/react/src/testing/records.ts';
import { fakeApp, loopTask } from '../../testing/fake-app.ts';

const run = (stop: Stop): readonly DraftRecord[] => [
  factDraft({ type: 'run_started', runId: runId('r1') }, 1, 1),
  factDraft({ type: 'run_finished', runId: runId('r1'), stop }, 1, 1),
];

async function renderRow(drafts: readonly DraftRecord[], status: TaskStatus = 'FAILED') {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { AppContext } = await import('../../app/app-context.ts');
  const { RetryRow } = await import('./retry-row.tsx');
  const source = new GrowingSource();
  for (const event of foldDrafts(drafts).events) source.facts.add(event);
  source.add(numberDrafts(drafts));
  const retries: string[] = [];
  const retry = () => {
    retries.push('retry');
    return Promise.reject(new Error('No room'));
  };
  // When a task fails, its stream ends.
  const connection = { state: 'ended', reason: 'over' };
  const snapshot = { connection, task: { id: 's', status } as Task };
  const live = Object.assign(source, { handle: { snapshot: () => snapshot, retry } });
  const { app } = fakeApp({ tasks: [loopTask('s')] });
  await page.render(
    <AppContext value={app}>
      <RetryRow live={live as unknown as LiveSource} />
    </AppContext>,
  );
  return { page, retries };
}

test('22.9: a failed run has a button that retries it, and shows why that failed', async () => {
  const { page, retries } = await renderRow(run({ reason: 'error', cause: 'auth' }));
  expect(page.text()).toContain('Retry');
  await page.click(page.find('button'));
  expect(retries).toEqual(['retry']);
  expect(page.find('[role=alert]').textContent).toBe('No room');
});

test('a closed session has no such button', async () => {
  const { page } = await renderRow(run({ reason: 'error' }), 'CANCELED');
  expect(page.findAll('button')).toEqual([]);
});

test.each([
  ['a finished run', run({ reason: 'stop' })],
  ['a stopped run', run({ reason: 'aborted' })],
  ['a run in progress', run({ reason: 'error' }).slice(0, 1)],
  ['a session without a run', []],
])('%s has no such button', async (_, drafts) => {
  expect((await renderRow(drafts)).page.findAll('button')).toEqual([]);
});
