import { type Batch, encodeRecord, type LogRecord, type PartId } from '@millrace/core';
import type { FaultReport } from './faults.ts';
import type { HistoryEvent } from './history.ts';
import type { SubscriptionStart } from './messages.ts';

interface Reader {
  readonly name: string;
  readonly start: SubscriptionStart;
  through: number;
}

/** Checks that each reader received all stored records from its start offset, once and in order. */
export function checkReaders(
  events: readonly HistoryEvent[],
  finals: ReadonlyMap<string, readonly LogRecord[]>,
  faults: FaultReport,
): void {
  const readers = new Map<string, Reader>();
  for (const event of events) {
    if (!('session' in event) || event.type === 'attempted') continue;
    const { session, process, subscriber = 'main' } = event;
    const name = `${process} (${subscriber}) of ${session}`;
    if (event.type === 'subscribed') {
      readers.set(name, { name, start: event, through: event.from });
      continue;
    }
    const reader = readers.get(name);
    if (reader === undefined)
      throw new Error(`Cannot check this history: ${name} did not report where it started`);
    const final = finals.get(session) ?? [];
    if (event.type === 'received') checkBatch(reader, event.batch, final, faults);
    const known = event.type === 'ended' ? (final.at(-1)?.offset ?? 0) : reader.start.knownThrough;
    if (event.type !== 'received' && reader.through < known)
      faults.add(
        'gaps',
        `${name} ${event.type} at ${reader.through}, but the log reaches ${known}`,
      );
  }
}

function checkBatch(
  reader: Reader,
  batch: Batch,
  final: readonly LogRecord[],
  faults: FaultReport,
): void {
  const { after, through, records } = batch;
  const { name } = reader;
  if (after > reader.through) faults.add('gaps', `${name} got ${after} after ${reader.through}`);
  if (after < reader.through) faults.add('doubled', `${name} got ${after} after ${reader.through}`);
  let last = after;
  for (const { offset } of records) {
    if (offset === last) faults.add('doubled', `${name} got ${offset} twice`);
    if (offset < last || offset > through)
      faults.add('reordered', `${name} got ${offset} after ${last}, up to ${through}`);
    last = Math.max(last, offset);
  }
  compare(
    name,
    normalize(records),
    normalize(final.filter(({ offset }) => offset > after && offset <= through)),
    faults,
  );
  reader.through = Math.max(reader.through, through);
}

function compare(
  name: string,
  received: readonly Entry[],
  stored: readonly Entry[],
  faults: FaultReport,
): void {
  const receivedAt = new Map(received.map(({ content, offset }) => [content, offset]));
  const storedAt = new Map(stored.map(({ content, offset }) => [content, offset]));
  for (const [content, offset] of receivedAt) {
    const now = storedAt.get(content);
    const problem = `${name} got ${offset}, which is`;
    if (now === undefined) faults.add('lost', `${problem} not stored: ${content.slice(0, 120)}`);
    else if (now !== offset) faults.add('reordered', `${problem} at ${now}`);
  }
  for (const [content, offset] of storedAt) {
    if (!receivedAt.has(content))
      faults.add('gaps', `${name} did not get ${offset}: ${content.slice(0, 120)}`);
  }
}

/** A record, or the joined text of several append records. */
export interface Entry {
  readonly offset: number;
  readonly content: string;
}

/** Consecutive text appends of one part. */
interface TextRun {
  offset: number;
  readonly at: number;
  text: string;
  readonly attempt: string;
}

/**
 * Converts records to a form that does not depend on how the log merged text. The log may merge
 * consecutive appends of one part into one record, which gets the last offset. It does not merge
 * them if a fact or a different delta of the same part is between them.
 */
export function normalize(records: readonly LogRecord[]): readonly Entry[] {
  const entries: Entry[] = [];
  const runs = new Map<PartId, TextRun>();
  const close = (part: PartId) => {
    const run = runs.get(part);
    if (run !== undefined) {
      const { offset, attempt, at, text } = run;
      entries.push({ offset, content: `${attempt} ${part} at ${at}: ${text}` });
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
    entries.push({ offset, content: encodeRecord(record).replace(`"offset":${offset},`, '') });
  }
  for (const part of [...runs.keys()]) close(part);
  return entries.sort((a, b) => a.offset - b.offset);
}
