import type { Task, TaskStatus } from '@millrace/client';
import { runId } from '@millrace/core';
import type { LiveSource } from '@millrace/react';
import { expect, test } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import { GrowingSource } from '../../../../packages/react/src/testing/growing-source.ts';
import { factDraft, numberDrafts } from '../../../../packages/react/src/testing/records.ts';
import { fakeApp, loopTask } from '../testing/fake-app.ts';

/** Returns the text below the title: the agent and the status. */
async function subtitle(status: TaskStatus, isRunning = false) {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { AppContext } = await import('../app/app-context.ts');
  const { ChatHeader } = await import('./chat-header.tsx');
  const source = new GrowingSource();
  if (isRunning)
    source.add(numberDrafts([factDraft({ type: 'run_started', runId: runId('r') }, 1, 1)]));
  const snapshot = { task: { id: 's', status } as Task };
  const live = Object.assign(source, { handle: { snapshot: () => snapshot } });
  const { app } = fakeApp({ tasks: [loopTask('s')] });
  await page.render(
    <AppContext value={app}>
      <ChatHeader
        {...{ live: live as unknown as LiveSource, isInspecting: false, onInspect: undefined }}
      />
    </AppContext>,
  );
  return page.find('.chat-title p').textContent;
}

test.each([false, true])(
  'an open session has no status in its header, whether it works (%s) or not',
  async (isRunning) => {
    expect(await subtitle('RUNNING', isRunning)).toBe('builder');
  },
);

test.each<readonly [TaskStatus, string]>([
  ['INTERRUPTED', 'stopped'],
  ['COMPLETED', 'completed'],
  ['CANCELED', 'closed'],
  ['FAILED', 'failed'],
])('a session with status %s shows %s', async (status, words) => {
  expect(await subtitle(status)).toBe(`builder${words}`);
});
