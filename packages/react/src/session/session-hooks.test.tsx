import { itemId, noUsage, partId, runId, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';
import { GrowingSource } from '../testing/growing-source.ts';
import { factDraft, numberDrafts } from '../testing/records.ts';
import type { Session, SessionCommands } from './session.ts';

const call = toolCallId('c1');
const head = {
  kind: 'tool_call',
  toolCallId: call,
  name: 'refund',
  arguments: '{"order":4411}',
} as const;
const item = itemId('calls');
const opening = [
  factDraft({ type: 'run_started', runId: runId('r') }, 1, 1),
  factDraft({ type: 'item_started', itemId: item, kind: 'assistant' }, 1, 1),
  {
    ...{ turn: 1, attempt: 1 },
    delta: { type: 'commit_part', partId: partId(1, 1, 'call'), itemId: item, part: head } as const,
  },
  factDraft({ type: 'item_finished', itemId: item, stop: { reason: 'tool_use' } }, 1, 1),
  factDraft({ type: 'usage_reported', usage: { ...noUsage, input: 10, output: 2 } }, 1, 1),
  factDraft({ type: 'approval_asked', toolCallId: call, name: 'refund' }, 1, 1),
];

test('the hooks without elements follow a session, and answer its question', async () => {
  const page = await openDomPage('http://localhost/');
  const { useActivity, useApprovals, useIsRunning, useItemIds, useToolCall, useUsage } =
    await import('../headless.ts');
  const source = new GrowingSource();
  const answers: unknown[] = [];
  const commands: SessionCommands = {
    ...{ canSteer: false, canAttach: false },
    ...{ send: async () => {}, stop: async () => {} },
    approve: async (id, options) => void answers.push(['approve', id, options]),
    deny: async (id, options) => void answers.push(['deny', id, options]),
  };
  const session: Session = { source, commands };
  function Shown() {
    const approvals = useApprovals(session);
    const { status } = useToolCall(session, call);
    const { input, output } = useUsage(session);
    const shown = [useItemIds(session).length, useIsRunning(session), useActivity(session)];
    return (
      <>
        <p>{[...shown, status, input, output].join(' · ')}</p>
        {approvals.map(({ asked, call: part, approve, deny }) => (
          <div key={asked.toolCallId}>
            {part?.arguments}
            <button type="button" onClick={() => void approve?.()} />
            <button type="button" onClick={() => void deny?.({ reason: 'No' })} />
          </div>
        ))}
      </>
    );
  }
  await page.render(<Shown />);
  expect(page.text()).toBe('0 · false ·  · unanswered · 0 · 0');
  await page.act(() => source.add(numberDrafts(opening)));
  expect(page.find('p').textContent).toBe('1 · true · Waiting for your answer · asking · 10 · 2');
  expect(page.find('div').textContent).toBe('{"order":4411}');
  for (const button of page.findAll('button')) await page.click(button);
  expect(answers).toEqual([
    ['approve', call, undefined],
    ['deny', call, { reason: 'No' }],
  ]);
});
