import { type DraftRecord, itemId, partId, sessionId, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { recordedRun } from '../../../../server/src/testing/recorded-run.ts';
import { numberDrafts, numberedRecords } from '../../testing/records.ts';
import { SessionModel } from '../model/session-model.ts';
import { turnSummary } from './turn-preview.tsx';

const item = itemId('i');
const [thought, call, answer] = [partId(1, 1, 'p1'), partId(1, 1, 'p2'), partId(1, 1, 'p3')];
const deltas: readonly NonNullable<DraftRecord['delta']>[] = [
  { type: 'begin_part', partId: thought, itemId: item, kind: 'reasoning', form: 'full' },
  { type: 'append_text', partId: thought, at: 0, chunk: 'I look it up.' },
  {
    ...{ type: 'begin_part', partId: call, itemId: item, kind: 'tool_call' },
    ...{ toolCallId: toolCallId('t'), name: 'weather' },
  },
  { type: 'append_text', partId: call, at: 0, chunk: '{"city":"Bern"}' },
  { type: 'begin_part', partId: answer, itemId: item, kind: 'text' },
  { type: 'append_text', partId: answer, at: 0, chunk: 'x'.repeat(60) },
  { type: 'append_text', partId: answer, at: 60, chunk: 'x'.repeat(30) },
];

const records = numberDrafts(deltas.map((delta) => ({ turn: 1, attempt: 1, delta })));

test('22.3: a thumbnail shows the parts of a turn as lines, with their lengths', () => {
  const { words, lines = [] } = turnSummary({ records, after: 0 }, 1) ?? {};
  expect(words).toMatch(/^I look it up\. x+$/);
  expect(lines.map(({ kind }) => kind)).toEqual(['reasoning', 'tool_call', 'text', 'text']);
  expect(lines.at(-1)?.width).toBe(0.5);
});

test('a thumbnail ends where the next turn starts, and omits retracted parts', () => {
  expect(turnSummary({ records, after: 0 }, 1, 3)?.lines).toHaveLength(1);
  const retract = { type: 'retract_part', partId: answer, reason: 'cut' } as const;
  const more = numberDrafts([{ turn: 1, attempt: 1, delta: retract }], records.length + 1);
  const summary = turnSummary({ records: [...records, ...more], after: 0 }, 1);
  expect(summary?.lines.map(({ kind }) => kind)).toEqual(['reasoning', 'tool_call']);
});

test('a thumbnail of a long turn has few lines, and one of records that are not loaded has none', () => {
  const model = new SessionModel(sessionId('test'));
  model.add(numberedRecords(recordedRun(2)));
  const { lines = [] } = turnSummary(model, 1) ?? {};
  expect(lines.length).toBeGreaterThan(2);
  expect(lines.length).toBeLessThanOrEqual(16);
  expect(turnSummary({ records, after: 10 }, 5)).toBeUndefined();
  expect(turnSummary({ records, after: 0 }, 100)).toBeUndefined();
});
