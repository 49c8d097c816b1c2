import {
  encodeRecord,
  encodeTranscript,
  type FoldState,
  type LogRecord,
  transcript,
} from '@millrace/core';

/** A log: one record a line. In pieces, so that a long one is never one string. */
export function recordLines(records: readonly LogRecord[]): readonly string[] {
  return records.map((record) => `${encodeRecord(record)}\n`);
}

/** What was committed by then: the format that a store keeps. */
export function transcriptText(state: FoldState): string {
  return encodeTranscript(transcript(state));
}

export function fileName(taskId: string, at: number | undefined, ending: string): string {
  const safe = taskId.replace(/[^\w-]+/g, '_').slice(0, 60);
  return at === undefined ? `${safe}.${ending}` : `${safe}-at-${at}.${ending}`;
}
