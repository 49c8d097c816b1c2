import type { LogRecord } from '@millrace/core';
import { oneLine } from '../print/printable.ts';
import { recordWords } from './record-words.ts';

/** Offset, time since the session's start, turn and attempt, type, and what it is about. */
export type RecordRow = readonly [string, string, string, string, string];

interface Run {
  readonly first: LogRecord;
  last: LogRecord;
  count: number;
  words: string;
}

const wordsLength = 300;

/** The records as rows. Neighbouring appends of one part are one row: there may be thousands. */
export async function* recordRows(records: AsyncIterable<LogRecord>): AsyncGenerator<RecordRow> {
  let run: Run | undefined;
  let startMs: number | undefined;
  for await (const record of records) {
    startMs ??= record.time;
    if (run !== undefined && isNext(run.last, record)) {
      run.last = record;
      run.count++;
      if (run.words.length < wordsLength) run.words += chunkOf(record);
      continue;
    }
    if (run !== undefined) yield rowOf(run, startMs);
    run = { first: record, last: record, count: 1, words: chunkOf(record) };
  }
  if (run !== undefined) yield rowOf(run, startMs ?? 0);
}

function isNext(before: LogRecord, record: LogRecord): boolean {
  return (
    before.delta?.type === 'append_text' &&
    record.delta?.type === 'append_text' &&
    before.delta.partId === record.delta.partId
  );
}

function chunkOf({ delta }: LogRecord): string {
  return delta?.type === 'append_text' ? delta.chunk : '';
}

function rowOf({ first, last, count, words }: Run, startMs: number): RecordRow {
  const { offset, time, turn, attempt, fact, delta } = first;
  const type = (fact ?? delta).type;
  return [
    count === 1 ? String(offset) : `${offset}–${last.offset}`,
    `+${((time - startMs) / 1000).toFixed(3)}`,
    `${turn}.${attempt}`,
    count === 1 ? type : `${type} ×${count}`,
    oneLine(count === 1 ? recordWords(first) : JSON.stringify(words), wordsLength),
  ];
}
