import { type DraftRecord, runId, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import { GrowingSource } from '../../testing/growing-source.ts';
import { factDraft, foldDrafts, numberDrafts } from '../../testing/records.ts';

const run = factDraft({ type: 'run_started', runId: runId('r1') }, 1, 1);
const message = {
  type: 'message',
  items: [{ parts: [{ kind: 'text', text: 'and then' }] }],
} as const;
const queued = factDraft({ type: 'command_queued', key: 'k', command: message });
const stopped = factDraft(
  { type: 'run_finished', runId: runId('r1'), stop: { reason: 'aborted' } },
  1,
  1,
);

async function renderQueue(facts = [run, queued, stopped], shown = [run, queued]) {
  const page = await openDomPage('http://localhost/');
  const { QueueView } = await import('./queue-view.tsx');
  const source = new GrowingSource();
  for (const event of foldDrafts(facts).events) source.facts.add(event);
  source.add(numberDrafts(shown));
  const withdrawn: string[] = [];
  await page.render(<QueueView source={source} onWithdraw={(key) => withdrawn.push(key)} />);
  const add = (draft: DraftRecord, at: number) =>
    page.act(() => source.add(numberDrafts([draft], at)));
  return { page, add, withdrawn };
}

test('a queued message shows what it waits for, also after the run was stopped', async () => {
  const { page, add } = await renderQueue();
  expect(page.find('.queue-when').textContent).toBe('queued');
  await add(stopped, 3);
  expect(page.find('.queue-when').textContent).toBe('stopped: sent with your next message');
});

test('22.5: a message that starts a run is queued and does not look stopped', async () => {
  const finished = factDraft(
    { type: 'run_finished', runId: runId('r1'), stop: { reason: 'stop' } },
    1,
    1,
  );
  const { page } = await renderQueue([run, finished, queued], [run, finished, queued]);
  expect(page.find('.queue-when').textContent).toBe('queued');
});

test('a queued message can be withdrawn', async () => {
  const { page, withdrawn } = await renderQueue();
  await page.click(page.find('[aria-label="Withdraw this message"]'));
  expect(withdrawn).toEqual(['k']);
});

test('22.7: a message that waits for an answer to a question does not look stopped', async () => {
  const { page, add } = await renderQueue();
  const call = { toolCallId: toolCallId('t'), name: 'pay' };
  await add(factDraft({ type: 'approval_asked', ...call }, 1, 1), 3);
  await add(stopped, 4);
  expect(page.find('.queue-when').textContent).toBe('sent after your answer');
});
