import { encodeDraft, type LogRecord } from '@millrace/core';
import { checkReaders } from './check-readers.ts';
import { Verdict } from './faults.ts';
import type { History, HistoryEvent } from './history.ts';
import type { Tried } from './messages.ts';

/**
 * Was anything lost, doubled or put out of order? Judged by what processes were told and what is read
 * in the end, and by nothing else: how a log does its work is not known here.
 */
export function checkHistory({ events, finals }: History): Verdict {
  const verdict = new Verdict();
  const places = new Map(
    [...finals].map(([session, records]) => [session, checkFinal(session, records, verdict)]),
  );
  checkAppends(events, finals, places, verdict);
  checkReaders(events, finals, verdict);
  return verdict;
}

interface Append extends Tried {
  readonly process: string;
  tries: number;
  through: number | undefined;
  isRefused: boolean;
}

/** Where each thing is that was read in the end, by session and what it says. */
type Places = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Whoever wrote was told the truth: what is stored is there, whole, once and in order; what is not, is not. */
function checkAppends(
  events: readonly HistoryEvent[],
  finals: ReadonlyMap<string, readonly LogRecord[]>,
  places: Places,
  verdict: Verdict,
): void {
  const appends = appendsOf(events);
  const lastOf = new Map<string, number>();
  for (const append of appends) {
    const { session, drafts, process } = append;
    const found = drafts.map((draft) => places.get(session)?.get(draft));
    const first = judge(append, found, verdict);
    // A process waits for the answer before it writes on.
    const writer = `${process} in ${session}`;
    const before = lastOf.get(writer) ?? 0;
    if (first !== undefined && first < before && append.tries === 1)
      verdict.add('reordered', `${append.append} at ${first}, after what is at ${before}`);
    lastOf.set(writer, Math.max(before, ...found.map((offset) => offset ?? 0)));
  }
  checkDrivers(appends, places, verdict);
  const known = new Set(appends.flatMap(({ session, drafts }) => drafts.map((d) => session + d)));
  for (const [session, records] of finals) {
    for (const record of records) {
      // The store's own remarks, for instance that an attempt was superseded, nobody else writes.
      if (record.producer !== 'store' && !known.has(session + bodyOf(record)))
        verdict.add('invented', `${session}, offset ${record.offset}: nobody wrote it`);
    }
  }
}

/** Of those who drove a session, each began when the one before was over. */
function checkDrivers(appends: readonly Append[], places: Places, verdict: Verdict): void {
  const found = appends
    .filter(({ isDrivers }) => isDrivers)
    .flatMap(({ session, drafts, process }) => {
      const at = drafts[0] === undefined ? undefined : places.get(session)?.get(drafts[0]);
      return at === undefined ? [] : [{ session, process, at }];
    })
    .sort((a, b) => a.at - b.at);
  const last = new Map<string, string>();
  const over = new Set<string>();
  for (const { session, process, at } of found) {
    const before = last.get(session);
    if (before !== undefined && before !== process) over.add(`${before} in ${session}`);
    if (over.has(`${process} in ${session}`))
      verdict.add('invented', `${process} wrote ${at} in ${session}, which another drove already`);
    last.set(session, process);
  }
}

/** Gives the offset of its first draft, where it is there. */
function judge(
  { append, through, isRefused, tries }: Append,
  found: readonly (number | undefined)[],
  verdict: Verdict,
): number | undefined {
  const offsets = found.filter((offset) => offset !== undefined);
  const [first] = offsets;
  if (offsets.length < found.length && (through !== undefined || first !== undefined)) {
    const what = through === undefined ? 'was tried' : 'was acknowledged';
    verdict.add('lost', `${append} ${what}, and ${offsets.length} of ${found.length} are there`);
  }
  if (first === undefined) return undefined;
  if (offsets.some((offset, index) => offset !== first + index))
    verdict.add('reordered', `${append} is at ${offsets.join()}`);
  if (through !== undefined && Math.max(...offsets) > through)
    verdict.add('reordered', `${append} is at ${offsets.join()}, told was up to ${through}`);
  if (isRefused && tries === 1) verdict.add('invented', `${append} is there, and was refused`);
  return first;
}

function appendsOf(events: readonly HistoryEvent[]): readonly Append[] {
  const appends = new Map<string, Append>();
  const owners = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'tried') {
      const known = appends.get(event.append);
      if (known !== undefined) known.tries++;
      else appends.set(event.append, { ...event, tries: 1, through: undefined, isRefused: false });
      for (const draft of event.drafts) own(owners, event.session + draft, event.append);
    }
    const told = 'append' in event ? appends.get(event.append) : undefined;
    if (event.type === 'stored' && told !== undefined) told.through = event.through;
    if (event.type === 'refused' && told !== undefined) told.isRefused = true;
  }
  return [...appends.values()];
}

/** Two appends that say the same could not be told apart: that is a fault of whoever made the history. */
function own(owners: Map<string, string>, draft: string, append: string): void {
  const owner = owners.get(draft) ?? append;
  if (owner !== append) throw new Error(`Cannot judge: ${owner} and ${append} both have ${draft}`);
  owners.set(draft, append);
}

/** A log that was read in the end: numbered without holes, nothing twice, and where each thing is. */
function checkFinal(
  session: string,
  records: readonly LogRecord[],
  verdict: Verdict,
): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const seen = new Set<number>();
  let last = 0;
  for (const record of records) {
    const { offset } = record;
    const where = `${session}, offset ${offset}`;
    if (seen.has(offset)) verdict.add('doubled', `${where} is there twice`);
    else if (offset < last) verdict.add('reordered', `${where} follows ${last}`);
    else if (offset > last + 1) verdict.add('gaps', `${where} follows ${last}`);
    seen.add(offset);
    last = Math.max(last, offset);
    const body = bodyOf(record);
    const first = places.get(body);
    if (first === undefined) places.set(body, offset);
    else verdict.add('doubled', `${where} is what ${first} is: ${body.slice(0, 120)}`);
  }
  return places;
}

/** What its writer wrote, without what the store adds. */
const bodyOf = (record: LogRecord): string => encodeDraft(record);
