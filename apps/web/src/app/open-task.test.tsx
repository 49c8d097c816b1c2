import { runId, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import { GrowingSource } from '../../../../packages/react/src/testing/growing-source.ts';
import { factDraft, numberDrafts } from '../../../../packages/react/src/testing/records.ts';
import { fakeApp, loopTask } from '../testing/fake-app.ts';
import type { App } from './app-context.ts';

const call = { toolCallId: toolCallId('c'), name: 'write' };

/** Renders an open session. Returns the title of the window and the number of list requests. */
async function renderOpenTask() {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { AppContext } = await import('./app-context.ts');
  const { OpenTask } = await import('./open-task.tsx');
  const source = new GrowingSource();
  const live = Object.assign(source, { handle: { snapshot: () => ({ task: undefined }) } });
  const requests: string[] = [];
  const fake = fakeApp({ tasks: [{ ...loopTask('s'), task_metadata: { title: 'Weather' } }] });
  const directory = { ...fake.app.directory, refresh: async () => void requests.push('list') };
  const app = { ...fake.app, sources: { get: () => live }, directory } as unknown as App;
  await page.render(
    <AppContext value={app}>
      <OpenTask id="s" />
    </AppContext>,
  );
  const title = () => page.window.document.title;
  const addFacts = (...facts: Parameters<typeof factDraft>[0][]) =>
    page.act(() =>
      source.add(
        numberDrafts(
          facts.map((fact) => factDraft(fact, 1, 1)),
          source.state.through + 1,
        ),
      ),
    );
  return { now: () => [title(), requests.length], addFacts };
}

test('the window title shows that the open session waits, and the list is read again', async () => {
  const { now, addFacts } = await renderOpenTask();
  expect(now()).toEqual(['Weather · Millrace', 0]);
  await addFacts({ type: 'approval_asked', ...call });
  expect(now()).toEqual(['Waits for you · Weather · Millrace', 1]);
  await addFacts({ type: 'approval_answered', ...call, decision: 'allow' });
  expect(now()).toEqual(['Weather · Millrace', 2]);
});

test('the list is read again when a run of the open session starts or ends', async () => {
  const { now, addFacts } = await renderOpenTask();
  await addFacts({ type: 'run_started', runId: runId('r') });
  expect(now()).toEqual(['Weather · Millrace', 1]);
  await addFacts({ type: 'turn_started' });
  expect(now()).toEqual(['Weather · Millrace', 1]);
  await addFacts({ type: 'run_finished', runId: runId('r'), stop: { reason: 'stop' } });
  expect(now()).toEqual(['Weather · Millrace', 2]);
});
