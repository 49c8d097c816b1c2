import { type Batch, encodeRecord, type LogRecord, type PartId } from '@millrace/core';
import type { Verdict } from './faults.ts';
import type { HistoryEvent } from './history.ts';
import type { Asked } from './messages.ts';

interface Reader {
  readonly name: string;
  readonly asked: Asked;
  through: number;
}

/** Whoever listened was told all of it, from where it began, in order and once, and it is still so. */
export function checkReaders(
  events: readonly HistoryEvent[],
  finals: ReadonlyMap<string, readonly LogRecord[]>,
  verdict: Verdict,
): void {
  const readers = new Map<string, Reader>();
  for (const event of events) {
    if (!('session' in event) || event.type === 'tried') continue;
    const { session, process, ear = 'itself' } = event;
    const name = `${process} (${ear}) of ${session}`;
    if (event.type === 'asked') {
      readers.set(name, { name, asked: event, through: event.from });
      continue;
    }
    const reader = readers.get(name);
    if (reader === undefined) throw new Error(`Cannot judge: ${name} did not say where it began`);
    const final = finals.get(session) ?? [];
    if (event.type === 'heard') hear(reader, event.batch, final, verdict);
    const known = event.type === 'ended' ? (final.at(-1)?.offset ?? 0) : reader.asked.atLeast;
    if (event.type !== 'heard' && reader.through < known)
      verdict.add('gaps', `${name} ${event.type} at ${reader.through}, and there is ${known}`);
  }
}

function hear(reader: Reader, batch: Batch, final: readonly LogRecord[], verdict: Verdict): void {
  const { after, through, records } = batch;
  const { name } = reader;
  if (after > reader.through) verdict.add('gaps', `${name} got ${after} after ${reader.through}`);
  if (after < reader.through)
    verdict.add('doubled', `${name} got ${after} after ${reader.through}`);
  let last = after;
  for (const { offset } of records) {
    if (offset === last) verdict.add('doubled', `${name} got ${offset} twice`);
    if (offset < last || offset > through)
      verdict.add('reordered', `${name} got ${offset} after ${last}, up to ${through}`);
    last = Math.max(last, offset);
  }
  compare(
    name,
    essence(records),
    essence(final.filter(({ offset }) => offset > after && offset <= through)),
    verdict,
  );
  reader.through = Math.max(reader.through, through);
}

function compare(
  name: string,
  heard: readonly Said[],
  there: readonly Said[],
  verdict: Verdict,
): void {
  const heardAt = new Map(heard.map(({ what, offset }) => [what, offset]));
  const isAt = new Map(there.map(({ what, offset }) => [what, offset]));
  for (const [what, offset] of heardAt) {
    const now = isAt.get(what);
    const problem = `${name} got ${offset}, which is`;
    if (now === undefined) verdict.add('lost', `${problem} not there: ${what.slice(0, 120)}`);
    else if (now !== offset) verdict.add('reordered', `${problem} at ${now}`);
  }
  for (const [what, offset] of isAt) {
    if (!heardAt.has(what))
      verdict.add('gaps', `${name} did not get ${offset}: ${what.slice(0, 120)}`);
  }
}

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
