import { sessionId, toArray } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { recordedRun } from '../../../server/src/testing/recorded-run.ts';
import type { Notice } from '../chat/state/notice.ts';
import { english } from '../labels/en.ts';
import { numberedRecords } from '../testing/records.ts';
import { SessionModel } from './model/session-model.ts';
import { PastSourceFactory } from './past-source.ts';

const model = new SessionModel(sessionId('test'));
const records = numberedRecords(recordedRun(3));
model.add(records);

const blob = async () => new Blob([]);
const sources = () => {
  const past = new PastSourceFactory(blob);
  return (offset: number) => past.at(model.checkpoints.stateAt(offset), model.factsUpTo(offset));
};

describe('a moment in the chat', () => {
  test('has the same facts after moving forward and backward', () => {
    const moved = sources();
    for (const offset of [30, 90, records.length, 60, 61, 20, records.length]) {
      const { facts } = moved(offset);
      const fresh = sources()(offset);
      const shown = ({ text, ...rest }: Notice) => ({ ...rest, text: text(english) });
      expect(facts.notices.map(shown)).toEqual(fresh.facts.notices.map(shown));
      expect(facts.runStartedAt).toBe(fresh.facts.runStartedAt);
    }
  });

  test('shows a superseded attempt only after it was superseded', () => {
    const gone = records.find(({ fact }) => fact?.type === 'attempt_superseded')?.offset ?? 0;
    const before = sources()(gone - 1).facts.notices.length;
    expect(sources()(gone).facts.notices.length).toBe(before + 1);
  });

  test('returns the same item object each time, also while it streams', () => {
    const streaming = records.find(({ delta }) => delta?.type === 'append_text')?.offset ?? 0;
    const source = sources()(streaming);
    const [, item = expect.fail()] = toArray(source.state.items);
    expect(source.state.open.length).toBeGreaterThan(0);
    expect(source.item(item.id)).toBe(source.item(item.id));
    expect(source.item(item.id)?.parts.length).toBeGreaterThan(0);
  });
});
