import { type DraftRecord, itemId, partId } from '@millrace/core';
import { expect, test } from 'vitest';
import { openPage } from '../../../../client/src/testing/page.ts';
import { GrowingSource } from '../../testing/growing-source.ts';
import { factDraft, numberDrafts } from '../../testing/records.ts';

const done = itemId('done');
const live = itemId('live');
const finished = partId(1, 1, 'finished');
const streaming = partId(2, 1, 'streaming');

const part = (id: typeof finished) => ({ type: 'begin_part', partId: id, kind: 'text' }) as const;
const opening: readonly DraftRecord[] = [
  factDraft({ type: 'item_started', itemId: done, kind: 'assistant' }, 1, 1),
  { turn: 1, attempt: 1, delta: { ...part(finished), itemId: done } },
  {
    turn: 1,
    attempt: 1,
    delta: { type: 'append_text', partId: finished, at: 0, chunk: 'All said' },
  },
  { turn: 1, attempt: 1, delta: { type: 'commit_part', partId: finished, length: 8 } },
  factDraft({ type: 'item_finished', itemId: done, stop: { reason: 'stop' } }, 1, 1),
  factDraft({ type: 'item_started', itemId: live, kind: 'assistant' }, 2, 1),
  { turn: 2, attempt: 1, delta: { ...part(streaming), itemId: live } },
];

const chunk = 'word ';
const count = 20_000;
const append = (at: number): DraftRecord => ({
  ...{ turn: 2, attempt: 1 },
  delta: { type: 'append_text', partId: streaming, at: at * chunk.length, chunk },
});

test('while 20,000 deltas stream into one part, no other part renders', async () => {
  const page = await openPage();
  const { ItemView } = await import('./item-view.tsx');
  const source = new GrowingSource();
  source.add(numberDrafts(opening));
  await page.render([done, live].map((id) => <ItemView key={id} source={source} id={id} />));
  const readsOfFinished = source.reads.get(finished);
  const atOnce = 100;
  for (let at = 0; at < count; at += atOnce) {
    const drafts = Array.from({ length: atOnce }, (_, more) => append(at + more));
    await page.act(() => source.add(numberDrafts(drafts, opening.length + 1 + at)));
  }
  expect(source.reads.get(finished)).toBe(readsOfFinished);
  expect(source.reads.get(streaming)).toBeGreaterThanOrEqual(count / atOnce);
  expect(page.text()).toContain('All said');
  expect(page.text().split('word').length - 1).toBe(count);
});
