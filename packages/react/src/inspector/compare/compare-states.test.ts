import { sessionId } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import { recordedRun } from '../../../../server/src/testing/recorded-run.ts';
import { english } from '../../labels/en.ts';
import { numberedRecords } from '../../testing/records.ts';
import { SessionModel } from '../model/session-model.ts';
import { compareStates, textChange } from './compare-states.ts';

const records = numberedRecords(recordedRun(2));
const model = new SessionModel(sessionId('test'));
model.add(records);
const compare = (a: number, b: number) =>
  compareStates(model.checkpoints.stateAt(a), model.checkpoints.stateAt(b), english);

describe('two moments', () => {
  test('that are the same have no difference', () => {
    for (const at of [1, 9, 40, records.length]) expect(compare(at, at).items).toEqual([]);
  });

  test('differ by the words that streamed between them', () => {
    const words = records.filter(({ delta }) => delta?.type === 'append_text');
    const [, , third = expect.fail(), , fifth = expect.fail()] = words;
    const { items, same } = compare(third.offset, fifth.offset);
    expect(items).toMatchObject([{ kind: 'assistant', change: 'changed' }]);
    expect(same).toBe(1);
    for (const { before = '', after = '' } of items[0]?.parts ?? [])
      expect(after.startsWith(before)).toBe(true);
  });

  test('differ by whole items, and by the usage', () => {
    const { items, usage } = compare(0, records.length);
    expect(items.every(({ change }) => change === 'added')).toBe(true);
    expect(items.map(({ kind }) => kind)).toContain('tool');
    expect(usage.before.input).toBe(0);
    expect(usage.after.input).toBeGreaterThan(0);
  });

  test('in the other order, show the same items as removed', () => {
    const { items } = compare(records.length, 0);
    expect(items.length).toBe(compare(0, records.length).items.length);
    expect(items.every(({ change }) => change === 'removed')).toBe(true);
  });
});

test('law: a change of a text gives both texts back, and its middle is as short as possible', () => {
  const texts = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 12 });
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const { start, removed, added, end } = textChange(before, after);
      expect(start + removed + end).toBe(before);
      expect(start + added + end).toBe(after);
      if (removed !== '' && added !== '') expect(removed[0]).not.toBe(added[0]);
    }),
    { numRuns: runs(1000) },
  );
});
