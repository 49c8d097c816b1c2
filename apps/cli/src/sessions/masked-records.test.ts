import { decodeRecord, type LogRecord, transcript } from '@millrace/core';
import { secretMasks } from '@millrace/tools';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { foldAll } from '../../../../packages/core/src/testing/fold-all.ts';
import { randomLog } from '../../../../packages/core/src/testing/random-log.ts';
import { runs } from '../../../../packages/core/src/testing/runs.ts';
import { maskedRecords } from './masked-records.ts';

const noSecrets = secretMasks({});
const masked = (records: readonly LogRecord[], newMask = noSecrets) =>
  maskedRecords(records, newMask).map((line) => decodeRecord(line));

const foldOf = (records: readonly LogRecord[]) => transcript(foldAll(records));

test('masked records of a log without secrets fold to the same transcript', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 400 }), (numbers) => {
      const records = randomLog(numbers);
      expect(foldOf(masked(records))).toEqual(foldOf(records));
    }),
    { numRuns: runs(200) },
  );
});
