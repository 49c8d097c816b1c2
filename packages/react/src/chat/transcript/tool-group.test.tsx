import { type DraftRecord, itemId, type PartId, partId, runId, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import { GrowingSource } from '../../testing/growing-source.ts';
import { factDraft, foldDrafts, numberDrafts } from '../../testing/records.ts';

const [turn, results] = [itemId('turn'), itemId('results')];
const callOf = (name: string) => partId(1, 1, name);

const call = (name: string): readonly DraftRecord[] => {
  const head = { kind: 'tool_call', toolCallId: toolCallId(name), name: 'read' } as const;
  const id = callOf(name);
  return [
    { turn: 1, attempt: 1, delta: { type: 'begin_part', partId: id, itemId: turn, ...head } },
    { turn: 1, attempt: 1, delta: { type: 'append_text', partId: id, at: 0, chunk: '{}' } },
    { turn: 1, attempt: 1, delta: { type: 'commit_part', partId: id, length: 2 } },
  ];
};
const result = (name: string, isError = false): readonly DraftRecord[] => {
  const head = { kind: 'tool_result', toolCallId: toolCallId(name), name: 'read' } as const;
  const id = partId(1, 1, `${name}-result`);
  const part = { ...head, text: 'ok', isError };
  return [
    { turn: 1, attempt: 1, delta: { type: 'commit_part', partId: id, itemId: results, part } },
  ];
};

test('a question and a failure stay visible beside the row of finished calls', async () => {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { ToolGroup } = await import('./tool-group.tsx');
  const names = ['a', 'b', 'c', 'failed', 'asked'];
  const drafts = [
    factDraft({ type: 'run_started', runId: runId('r') }, 1, 1),
    factDraft({ type: 'item_started', itemId: turn, kind: 'assistant' }, 1, 1),
    ...names.flatMap(call),
    factDraft({ type: 'item_finished', itemId: turn, stop: { reason: 'tool_use' } }, 1, 1),
    factDraft({ type: 'approval_asked', toolCallId: toolCallId('asked'), name: 'read' }, 1, 1),
    factDraft({ type: 'item_started', itemId: results, kind: 'tool' }, 1, 1),
    ...['a', 'b', 'c'].flatMap((name) => result(name)),
    ...result('failed', true),
  ];
  const source = new GrowingSource();
  for (const event of foldDrafts(drafts).events) source.facts.add(event);
  source.add(numberDrafts(drafts));
  const ids: readonly PartId[] = names.map(callOf);
  await page.render(<ToolGroup source={source} ids={ids} />);
  const labels = () => page.findAll('fieldset').map((card) => card.getAttribute('aria-label'));
  const row = page.find('.tool-group-head');
  expect(row.textContent).toBe('Read 3 files');
  const loud = ['Tool read: failed', 'Tool read: waits for your answer'];
  expect(labels()).toEqual(loud);
  await page.click(row);
  expect(labels()).toEqual([...Array.from({ length: 3 }, () => 'Tool read: done'), ...loud]);
});
