import { foldBatch as coreFold, type foldBatch } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldAll } from '../../../../core/src/testing/fold-all.ts';
import { randomLog, testSession } from '../../../../core/src/testing/random-log.ts';
import { recordedRun } from '../../../../server/src/testing/recorded-run.ts';
import { numberedRecords } from '../../testing/records.ts';
import { Checkpoints, countUpTo } from './session-model.ts';

/** Counts how many records were folded. */
class CountedFold {
  count = 0;
  readonly fold: typeof foldBatch = (state, batch, onStep) => {
    this.count += batch.records.length;
    return coreFold(state, batch, onStep);
  };
}

describe('the state of a session in the past', () => {
  test('equals a fold from the start, for any record and order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(), { maxLength: 400 }),
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        (numbers, interval, requests) => {
          const records = randomLog(numbers);
          const checkpoints = new Checkpoints(testSession, { interval });
          for (const record of records) checkpoints.add(record);
          for (const request of requests) {
            const offset = request % (records.length + 2);
            const prefix = records.filter((record) => record.offset <= offset);
            expect(checkpoints.stateAt(offset)).toEqual(foldAll(prefix));
          }
          expect(checkpoints.head).toEqual(foldAll(records));
        },
      ),
    );
  });

  test('costs less than one interval of folds, for any length', () => {
    const records = numberedRecords(recordedRun(40));
    const counted = new CountedFold();
    const interval = 64;
    const checkpoints = new Checkpoints(testSession, { interval, fold: counted.fold });
    for (const record of records) checkpoints.add(record);
    expect(counted.count).toBe(records.length);
    expect(records.length).toBeGreaterThan(20 * interval);
    const requests = [5, records.length - 2, 100, 101, 1, 1300, records.length, 64, 63, 128];
    for (const offset of requests) {
      counted.count = 0;
      checkpoints.stateAt(offset);
      expect(counted.count).toBeLessThan(interval);
    }
  });

  test('costs one fold per record when moving forward', () => {
    const records = numberedRecords(recordedRun(10));
    const counted = new CountedFold();
    const checkpoints = new Checkpoints(testSession, { fold: counted.fold });
    for (const record of records) checkpoints.add(record);
    counted.count = 0;
    for (let offset = 1; offset < records.length; offset++) checkpoints.stateAt(offset);
    expect(counted.count).toBeLessThan(records.length);
  });

  test('between two records equals the state after the first one', () => {
    const [first = expect.fail(), second = expect.fail()] = numberedRecords(recordedRun(1));
    const settled = [first, { ...second, offset: 9 }];
    const checkpoints = new Checkpoints(testSession);
    for (const record of settled) checkpoints.add(record);
    expect(checkpoints.stateAt(8)).toEqual(checkpoints.stateAt(1));
    expect([0, 1, 8, 9, 100].map((offset) => countUpTo(settled, offset))).toEqual([0, 1, 1, 2, 2]);
  });
});
