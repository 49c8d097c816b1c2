import { Folder, liveTranscript, sessionId, transcript } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldAll } from '../../../core/src/testing/fold-all.ts';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { runs } from '../../../core/src/testing/runs.ts';
import { LogBuilder, notifyAll, observedRecords, stop } from '../testing/log-builder.ts';
import { transcriptObserver } from './transcript-observer.ts';

const logs = fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 300, size: 'max' }).map(randomLog);

test('the transcript and the live transcript equal those of the log after each record', () => {
  fc.assert(
    fc.property(logs, (records) => {
      const observer = transcriptObserver();
      const folder = new Folder(sessionId('test'));
      for (const { record, events } of observedRecords(records)) {
        folder.add(record);
        observer.observe(record, events);
        expect(observer.transcript()).toEqual(transcript(folder.state));
        expect(observer.live()).toEqual(liveTranscript(folder.state));
      }
    }),
    { numRuns: runs(50) },
  );
});

test('an observer created from a state continues from there', () => {
  fc.assert(
    fc.property(logs, fc.double({ min: 0, max: 1, noNaN: true }), (records, share) => {
      const cut = Math.floor(records.length * share);
      const observer = transcriptObserver(foldAll(records.slice(0, cut), cut));
      notifyAll(observer.observe, observedRecords(records).slice(cut));
      expect(observer.transcript()).toEqual(transcript(foldAll(records)));
    }),
    { numRuns: runs(100) },
  );
});

/** A turn with one text. */
function says(story: LogBuilder, turn: number, words: string): LogBuilder {
  const writer = story.at(turn, 1).item('assistant');
  const text = writer.text();
  text.append(words);
  text.commit();
  return story.take(writer).fact({ type: 'item_finished', itemId: story.lastItem, stop });
}

const textsOf = (observer: { transcript(): readonly { readonly parts: readonly object[] }[] }) =>
  observer.transcript().flatMap(({ parts }) => parts.map((part) => 'text' in part && part.text));

describe('an observer', () => {
  test('is empty before the first record', () => {
    const observer = transcriptObserver();
    expect([observer.transcript(), observer.live(), observer.state]).toEqual([[], [], undefined]);
  });

  test('that starts later has the items since then', () => {
    const story = says(new LogBuilder(), 1, 'before');
    const before = story.records.length;
    const observer = transcriptObserver();
    notifyAll(observer.observe, says(story, 2, 'after').observed.slice(before));
    expect(textsOf(observer)).toEqual(['after']);
  });

  test('keeps to its session, given or first received', () => {
    const mine = says(new LogBuilder(sessionId('mine')), 1, 'mine');
    const other = says(new LogBuilder(sessionId('other')), 1, 'other');
    const mixed = mine.observed.flatMap((told, at) => [...other.observed.slice(at, at + 1), told]);
    const given = transcriptObserver(sessionId('mine'));
    const open = transcriptObserver();
    notifyAll(given.observe, mixed);
    notifyAll(open.observe, mixed);
    expect([textsOf(given), textsOf(open)]).toEqual([['mine'], ['other']]);
  });

  test('that misses a record throws the same error each time, and keeps its state', () => {
    const { observed: told } = says(says(new LogBuilder(), 1, 'one'), 2, 'two');
    const observer = transcriptObserver();
    const missed = told.length / 2;
    notifyAll(observer.observe, told.slice(0, missed));
    const messages = told.slice(missed + 1).map(({ record, events }) => {
      try {
        observer.observe(record, events);
        return 'nothing';
      } catch (error) {
        return String(error);
      }
    });
    expect(new Set(messages).size).toBe(1);
    expect(messages[0]).toMatch(/record 7 does not follow offset 5/);
    expect(textsOf(observer)).toEqual(['one']);
  });
});
