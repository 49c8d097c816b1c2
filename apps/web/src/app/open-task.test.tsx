import { toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';
import { fakeApp, loopTask } from '../testing/fake-app.ts';
import { GrowingSource } from '../testing/growing-source.ts';
import { factDraft, numbered } from '../testing/told.ts';
import type { App } from './app-context.ts';

const call = { toolCallId: toolCallId('c'), name: 'write' };

test('the window’s title says while the open session waits, and the list is asked again then', async () => {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { AppContext } = await import('./app-context.ts');
  const { OpenTask } = await import('./open-task.tsx');
  const source = new GrowingSource();
  const live = Object.assign(source, { handle: { snapshot: () => ({ task: undefined }) } });
  const asked: string[] = [];
  const fake = fakeApp({ tasks: [{ ...loopTask('s'), task_metadata: { title: 'Grain' } }] });
  const directory = { ...fake.app.directory, refresh: async () => void asked.push('list') };
  const app = { ...fake.app, sources: { get: () => live }, directory } as unknown as App;
  await page.render(
    <AppContext value={app}>
      <OpenTask id="s" />
    </AppContext>,
  );
  const title = () => page.window.document.title;
  expect([title(), asked.length]).toEqual(['Grain · Millrace', 0]);
  const tell = (...facts: Parameters<typeof factDraft>[0][]) =>
    page.act(() =>
      source.add(
        numbered(
          facts.map((fact) => factDraft(fact, 1, 1)),
          source.state.through + 1,
        ),
      ),
    );
  await tell({ type: 'approval_asked', ...call });
  expect([title(), asked.length]).toEqual(['Waits for you · Grain · Millrace', 1]);
  await tell({ type: 'approval_answered', ...call, decision: 'allow' });
  expect([title(), asked.length]).toEqual(['Grain · Millrace', 2]);
});
