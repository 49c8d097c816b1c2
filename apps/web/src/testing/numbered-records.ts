import { type DraftRecord, type LogRecord, recordVersion } from '@millrace/core';

const testStart = 1_763_200_000_000;

/** As a log would number them, one every 10 ms unless told. */
export function numberedRecords(
  reads: readonly (readonly DraftRecord[])[],
  stepMs = 10,
): readonly LogRecord[] {
  return reads.flat().map((draft, index) => {
    const time = testStart + index * stepMs;
    return { v: recordVersion, offset: index + 1, time, producer: 'test', ...draft };
  });
}
