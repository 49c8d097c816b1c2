import { encodeDraft, encodeRecord, type LogRecord, type PartId } from '@millrace/core';

/** One thing that a stretch of a log says. */
export interface Said {
  readonly offset: number;
  readonly what: string;
}

interface Run {
  offset: number;
  readonly at: number;
  text: string;
  readonly attempt: string;
}

/**
 * What a stretch of a log says, however its appends were merged: those of one part may have become one
 * with the offset of the last, though not across a fact or another word on that part.
 */
export function essence(records: readonly LogRecord[]): readonly Said[] {
  const said: Said[] = [];
  const runs = new Map<PartId, Run>();
  const close = (part: PartId) => {
    const run = runs.get(part);
    if (run !== undefined) {
      const { offset, attempt, at, text } = run;
      said.push({ offset, what: `${attempt} ${part} at ${at}: ${text}` });
    }
    runs.delete(part);
  };
  for (const record of records) {
    const { delta, offset } = record;
    if (delta?.type === 'append_text') {
      const { partId, at, chunk } = delta;
      const run = runs.get(partId);
      if (run !== undefined && run.at + run.text.length === at) {
        run.text += chunk;
        run.offset = offset;
        continue;
      }
      close(partId);
      runs.set(partId, { offset, at, text: chunk, attempt: `${record.turn}.${record.attempt}` });
      continue;
    }
    if (delta === undefined) for (const part of [...runs.keys()]) close(part);
    else if (delta.type !== 'unknown') close(delta.partId);
    said.push({ offset, what: encodeRecord(record).replace(`"offset":${offset},`, '') });
  }
  for (const part of [...runs.keys()]) close(part);
  return said.sort((a, b) => a.offset - b.offset);
}

/** What its writer wrote, without what the store adds. */
export const bodyOf = (record: LogRecord): string => encodeDraft(record);
