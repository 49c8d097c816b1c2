import { emptyState, type FoldState, foldBatch, liveTranscript, sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import { recordedRun } from '../../../server/src/testing/recorded-run.ts';
import type { LiveItem } from '../contract/task-handle.ts';
import { numbered } from '../testing/batches.ts';
import { LiveItems } from './live-items.ts';

/** Each batch contains one record. */
const batches = numbered(recordedRun(3).flatMap((drafts) => drafts.map((draft) => [draft])));
const start = emptyState(sessionId('s'));

const plain = ({ partIds, isOpen, startedAt, finishedAt, ...item }: LiveItem) => item;

test('items are those of the live transcript, after each record', () => {
  const items = new LiveItems();
  batches.reduce<FoldState>((state, batch) => {
    const next = foldBatch(state, batch).state;
    items.read(next);
    expect(items.list.map(plain)).toEqual(liveTranscript(next));
    expect(items.ids).toEqual(items.list.map(({ id }) => id));
    for (const item of items.list) {
      expect(items.find(item.id)).toBe(item);
      expect(item.partIds.map((id) => items.findPart(id))).toEqual(item.parts);
    }
    return next;
  }, start);
});

test('what a record does not change is the same object after it', () => {
  const items = new LiveItems();
  let kept = 0;
  batches.reduce<FoldState>((state, batch) => {
    const [before, ids] = [items.list, items.ids];
    const next = foldBatch(state, batch).state;
    items.read(next);
    const [record] = batch.records;
    const touched =
      record?.delta !== undefined && 'partId' in record.delta ? record.delta.partId : undefined;
    if (record?.delta?.type === 'append_text') expect(items.ids).toBe(ids);
    for (const [place, item] of before.entries()) {
      const now = items.list[place];
      if (now === undefined || now === item) continue;
      // A new object must have a different content.
      expect(now).not.toEqual(item);
      for (const [index, id] of item.partIds.entries()) {
        const isSame = now.parts[now.partIds.indexOf(id)] === item.parts[index];
        if (id !== touched && now.partIds.includes(id)) expect([id, isSame]).toEqual([id, true]);
        kept++;
      }
      if (now.parts.length === item.parts.length) expect(now.partIds).toBe(item.partIds);
    }
    items.read(next);
    expect(items.list).toBe(items.list);
    return next;
  }, start);
  expect(kept).toBeGreaterThan(100);
});
