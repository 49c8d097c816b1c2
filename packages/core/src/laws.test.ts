import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeRecord } from './codec/codec.ts';
import { Folder, fold, foldBatch } from './fold/fold.ts';
import { emptyState, type FoldState } from './fold/fold-state.ts';
import { merge, mergeBatch } from './fold/merge.ts';
import { toBytes } from './fold/open-part.ts';
import { toArray } from './fold/sequence.ts';
import { settleTurn } from './fold/settle-turn.ts';
import { totalUsage, transcript } from './fold/transcript.ts';
import { validate } from './fold/validate.ts';
import { attemptOf } from './ids.ts';
import type { Batch, LogRecord } from './protocol/record.ts';
import { addUsage, noUsage } from './protocol/usage.ts';
import { Choices } from './testing/choices.ts';
import { deepFreeze } from './testing/deep-freeze.ts';
import { foldAll } from './testing/fold-all.ts';
import { randomLog, testSession } from './testing/random-log.ts';
import { referenceTranscript } from './testing/reference-fold.ts';
import { isFull } from './testing/runs.ts';

const numbers = fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 400, size: 'max' });
const logs = numbers.map(randomLog);

const empty = emptyState(testSession);

const batchOf = (records: readonly LogRecord[], after: number, through: number): Batch => ({
  after,
  through,
  records: records.filter(({ offset }) => offset > after && offset <= through),
});

/** Returns the content of a state in a form that does not depend on the pieces of its lists and bytes. */
const said = (state: FoldState) => ({
  ...state,
  items: toArray(state.items),
  usage: toArray(state.usage),
  open: state.open.map((part) => ({ ...part, bytes: toBytes(part.bytes) })),
});

/** Random cuts of 0 … last into batches. */
function randomBatches(records: readonly LogRecord[], choices: Choices): readonly Batch[] {
  const batches: Batch[] = [];
  let after = 0;
  while (after < records.length) {
    const through = Math.min(records.length, after + 1 + choices.below(12));
    batches.push(batchOf(records, after, through));
    after = through;
  }
  return batches;
}

const finishedTurns = (records: readonly LogRecord[]): readonly number[] =>
  records.flatMap(({ fact, turn }) => (fact?.type === 'turn_finished' ? turn : []));

/** Does a merged append stand for records that another part's appends lie between? */
function isMergedAcross(records: readonly LogRecord[], merged: LogRecord): boolean {
  const { delta, offset } = merged;
  if (delta?.type !== 'append_text') return false;
  const isFirst = ({ delta: one }: LogRecord) =>
    one?.type === 'append_text' && one.partId === delta.partId && one.at === delta.at;
  const first = records.find(isFirst)?.offset ?? offset;
  const between = records.slice(first - 1, offset);
  return between.some(({ delta: one }) => one && 'partId' in one && one.partId !== delta.partId);
}

test('random logs have what the laws are about', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(logs, (records) => {
      for (const { delta, fact } of records) seen.add((delta ?? fact)?.type ?? '');
      if (records.some(({ delta }) => delta?.type === 'commit_part' && delta.part))
        seen.add('whole');
      if (merge(records).length < records.length) seen.add('merged');
      if (merge(records).some((record) => isMergedAcross(records, record))) {
        seen.add('merged across another part');
      }
      if (finishedTurns(records).length > 0) seen.add('settled');
    }),
  );
  if (!isFull) return;
  expect([...seen]).toEqual(
    expect.arrayContaining([
      'begin_part',
      'append_text',
      'append_bytes',
      'replace_structured',
      'set_metadata',
      'commit_part',
      'retract_part',
      'attempt_superseded',
      'unknown',
      'whole',
      'merged',
      'merged across another part',
      'settled',
      'item_redacted',
      'run_started',
    ]),
  );
});

describe('law 1: the transcript is the fold of the log', () => {
  test('as an independent reading of the log has it', () => {
    fc.assert(
      fc.property(logs, (records) => {
        expect(transcript(foldAll(records))).toEqual(referenceTranscript(records));
      }),
    );
  });

  test('incrementally or from zero, at any record', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (records, at) => {
        const some = records.slice(0, 1 + (at % records.length));
        const folder = new Folder(testSession);
        let state = empty;
        for (const record of some) {
          const folded = fold(state, record);
          if (folded.outcome !== 'applied') expect(folded).toBe(record);
          state = folded.state;
          folder.add(record);
        }
        expect(folder.state).toEqual(state);
        expect(state).toEqual(foldAll(some));
      }),
    );
  });

  test('and never changes a state, a record or a batch that it was given', () => {
    fc.assert(
      fc.property(logs, numbers, (records, choice) => {
        let state = deepFreeze(emptyState(testSession));
        for (const batch of randomBatches(records, new Choices(choice))) {
          state = deepFreeze(foldBatch(state, deepFreeze(mergeBatch(deepFreeze(batch)))).state);
        }
        expect(transcript(state)).toEqual(referenceTranscript(records));
      }),
    );
  });

  test('and of a log whose finished turns are settled', () => {
    fc.assert(
      fc.property(logs, (records) => {
        const whole = foldAll(records);
        const settled = finishedTurns(records).reduce(
          (log: readonly LogRecord[], turn) => settleTurn(log, turn, whole),
          records,
        );
        expect(transcript(foldAll(settled, records.length))).toEqual(transcript(whole));
      }),
    );
  });

  test('a reader cut at any offset and resumed on the settled log has the same', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (records, at) => {
        const whole = foldAll(records);
        const cut = at % (records.length + 1);
        const had = foldAll(records.slice(0, cut));
        const settled = finishedTurns(records).reduce(
          (log: readonly LogRecord[], turn) => settleTurn(log, turn, whole),
          records,
        );
        const resumed = foldBatch(had, batchOf(settled, cut, records.length));
        expect(resumed.outcome).toBe(cut === records.length ? 'seen' : 'applied');
        expect(transcript(resumed.state)).toEqual(transcript(whole));
        expect(said(resumed.state).open).toEqual(said(whole).open);
      }),
    );
  });

  test('and is the same when an attempt of a settled turn is superseded after all', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (records, at) => {
        const turns = finishedTurns(records);
        const turn = turns[at % Math.max(1, turns.length)];
        if (turn === undefined) return;
        const late = {
          ...(records[0] as LogRecord),
          offset: records.length + 1,
          turn,
          attempt: 1 + (at % 2),
          delta: undefined,
          fact: { type: 'attempt_superseded', reason: 'late' },
        } as LogRecord;
        const settled = settleTurn(records, turn, foldAll(records));
        const expected = referenceTranscript([...records, late]);
        expect(transcript(foldAll([...settled, late]))).toEqual(expected);
        expect(transcript(foldAll([...records, late]))).toEqual(expected);
      }),
    );
  });
});

describe('law 3: applying any record again, or any overlap, changes nothing', () => {
  test('a record that was folded is nothing, and gives the same state back', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (records, at) => {
        const state = foldAll(records);
        const record = records[at % Math.max(1, records.length)];
        if (record === undefined) return;
        const again = fold(state, record);
        expect(again.outcome).toBe('seen');
        expect(again.state).toBe(state);
      }),
    );
  });

  test('batches that overlap, merged or not, give what the log gives', () => {
    fc.assert(
      fc.property(logs, numbers, (records, choice) => {
        const choices = new Choices(choice);
        const folder = new Folder(testSession);
        while (folder.state.through < records.length) {
          const { through } = folder.state;
          const after = through - Math.min(through, choices.below(8));
          const batch = batchOf(
            records,
            after,
            Math.min(records.length, after + 1 + choices.below(16)),
          );
          const sent = choices.below(2) === 0 ? batch : mergeBatch(batch);
          expect(folder.addBatch(sent).outcome).not.toBe('gap');
          // Never stuck: an exhausted source of choices asks for the next record.
          if (choices.isSpent && folder.state.through === through) {
            folder.addBatch(batchOf(records, through, through + 1));
          }
        }
        expect(said(folder.state)).toEqual(said(foldAll(records)));
      }),
    );
  });

  test('a skipped record is a gap, and leaves the state as it was', () => {
    fc.assert(
      fc.property(logs, fc.nat(), (records, at) => {
        const skipped = at % records.length;
        const state = foldAll(records.slice(0, skipped));
        for (const record of records.slice(skipped + 1)) {
          const folded = fold(state, record);
          expect(folded.outcome).toBe('gap');
          expect(folded.state).toBe(state);
        }
      }),
    );
  });
});

describe('law 4: merging changes nothing', () => {
  test('merged batches give what the log gives, however it is cut', () => {
    fc.assert(
      fc.property(logs, numbers, (records, choice) => {
        const folder = new Folder(testSession);
        for (const batch of randomBatches(records, new Choices(choice))) {
          expect(folder.addBatch(mergeBatch(batch)).outcome).toBe('applied');
        }
        expect(said(folder.state)).toEqual(said(foldAll(records)));
      }),
    );
  });

  test('merging twice is merging once, and what is merged has the log in the same order', () => {
    fc.assert(
      fc.property(logs, (records) => {
        const merged = merge(records);
        expect(merge(merged)).toEqual(merged);
        const offsets = merged.map(({ offset }) => offset);
        expect(offsets).toEqual([...new Set(offsets)].sort((a, b) => a - b));
        expect(merged.filter(({ fact }) => fact)).toEqual(records.filter(({ fact }) => fact));
      }),
    );
  });

  test('nothing is merged across a fact, or across any begin, commit or retraction', () => {
    fc.assert(
      fc.property(logs, (records) => {
        const isAppend = ({ delta }: LogRecord) => delta?.type.startsWith('append_') ?? false;
        const borders = records.filter((record) => !isAppend(record));
        const merged = merge(records);
        for (const border of borders) {
          const before = (log: readonly LogRecord[]) =>
            log
              .filter((record) => record.offset < border.offset && isAppend(record))
              .flatMap(({ delta }) => (delta && 'chunk' in delta ? delta.chunk.length : 0))
              .reduce((sum, length) => sum + length, 0);
          expect(before(merged)).toBe(before(records));
        }
      }),
    );
  });
});

/** The attempts that anything in the state belongs to. */
function attemptsIn({ items: sequence, open }: FoldState): readonly string[] {
  const items = toArray(sequence);
  const ids = [...items.flatMap((item) => item.parts), ...open].map(({ id }) => attemptOf(id));
  return [...items, ...ids].map(({ turn, attempt }) => `${turn}.${attempt}`);
}

describe('law 10: superseded attempts leave nothing in the transcript, and their usage in the totals', () => {
  test('no part and no item of theirs is left at any later record', () => {
    fc.assert(
      fc.property(logs, (records) => {
        const superseded = new Set<string>();
        const folder = new Folder(testSession);
        for (const record of records) {
          folder.add(record);
          const { turn, attempt, fact } = record;
          if (fact?.type === 'attempt_superseded') superseded.add(`${turn}.${attempt}`);
          const left = attemptsIn(folder.state).filter((named) => superseded.has(named));
          if (left.length > 0) expect(left).toEqual([]);
        }
      }),
    );
  });

  test('the totals are the last word on every attempt, added up once', () => {
    fc.assert(
      fc.property(logs, (records) => {
        const last = new Map(
          records.flatMap(({ fact, turn, attempt }) =>
            fact && 'usage' in fact ? [[`${turn}.${attempt}`, fact.usage] as const] : [],
          ),
        );
        expect(totalUsage(foldAll(records))).toEqual([...last.values()].reduce(addUsage, noUsage));
      }),
    );
  });
});

describe('law 12: the same seed gives the same bytes', () => {
  test('record by record', () => {
    fc.assert(
      fc.property(numbers, (seed) => {
        const bytes = randomLog(seed).map(encodeRecord);
        expect(randomLog(seed).map(encodeRecord)).toEqual(bytes);
      }),
    );
  });
});

describe('the writer and the validator agree', () => {
  test('whatever the writer wrote, the validator takes as it is', () => {
    fc.assert(
      fc.property(logs, (records) => {
        const folder = new Folder(testSession);
        for (const record of records) {
          expect(validate(folder.state, record)).toEqual(record);
          folder.add(record);
        }
      }),
    );
  });
});
