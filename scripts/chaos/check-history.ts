import { encodeDraft, type LogRecord } from '@millrace/core';
import { checkReaders } from './check-readers.ts';
import { FaultReport } from './faults.ts';
import type { History, HistoryEvent } from './history.ts';
import type { AppendAttempt } from './messages.ts';

/**
 * Checks that no record was lost, duplicated, reordered or invented. It uses only the reports of
 * the processes and the final content of the log. So the check does not depend on the
 * implementation of the log.
 */
export function checkHistory({ events, finals }: History): FaultReport {
  const faults = new FaultReport();
  const offsets = new Map(
    [...finals].map(([session, records]) => [session, checkFinal(session, records, faults)]),
  );
  checkAppends(events, finals, offsets, faults);
  checkReaders(events, finals, faults);
  return faults;
}

interface Append extends AppendAttempt {
  readonly process: string;
  tries: number;
  through: number | undefined;
  isRefused: boolean;
}

/** The offset of each record in the final log, by session and encoded body. */
type OffsetsBySession = ReadonlyMap<string, ReadonlyMap<string, number>>;

/**
 * Checks that acknowledged appends are stored completely, once and in order. Also checks that
 * rejected appends are not stored.
 */
function checkAppends(
  events: readonly HistoryEvent[],
  finals: ReadonlyMap<string, readonly LogRecord[]>,
  offsets: OffsetsBySession,
  faults: FaultReport,
): void {
  const appends = appendsOf(events);
  const lastOf = new Map<string, number>();
  for (const append of appends) {
    const { session, drafts, process } = append;
    const found = drafts.map((draft) => offsets.get(session)?.get(draft));
    const first = checkAppend(append, found, faults);
    // A process waits for each answer. So its appends must be stored in the order of its attempts.
    const writer = `${process} in ${session}`;
    const before = lastOf.get(writer) ?? 0;
    if (first !== undefined && first < before && append.tries === 1)
      faults.add(
        'reordered',
        `${append.append} at ${first}, but the same process wrote ${before} earlier`,
      );
    lastOf.set(writer, Math.max(before, ...found.map((offset) => offset ?? 0)));
  }
  checkDrivers(appends, offsets, faults);
  const known = new Set(appends.flatMap(({ session, drafts }) => drafts.map((d) => session + d)));
  for (const [session, records] of finals) {
    for (const record of records) {
      // The store itself writes some records, for example when an attempt is superseded. No process
      // reports them.
      if (record.producer !== 'store' && !known.has(session + bodyOf(record)))
        faults.add('invented', `${session}, offset ${record.offset}: no process wrote it`);
    }
  }
}

/** Checks that a driver writes no records after the next driver has written. */
function checkDrivers(
  appends: readonly Append[],
  offsets: OffsetsBySession,
  faults: FaultReport,
): void {
  const found = appends
    .filter(({ isFromDriver }) => isFromDriver)
    .flatMap(({ session, drafts, process }) => {
      const at = drafts[0] === undefined ? undefined : offsets.get(session)?.get(drafts[0]);
      return at === undefined ? [] : [{ session, process, at }];
    })
    .sort((a, b) => a.at - b.at);
  const last = new Map<string, string>();
  const replaced = new Set<string>();
  for (const { session, process, at } of found) {
    const before = last.get(session);
    if (before !== undefined && before !== process) replaced.add(`${before} in ${session}`);
    if (replaced.has(`${process} in ${session}`))
      faults.add(
        'invented',
        `${process} wrote ${at} in ${session} after another driver had taken over`,
      );
    last.set(session, process);
  }
}

/**
 * Checks one append. Returns the offset of its first stored draft. Returns undefined if no draft is
 * stored.
 */
function checkAppend(
  { append, through, isRefused, tries }: Append,
  found: readonly (number | undefined)[],
  faults: FaultReport,
): number | undefined {
  const offsets = found.filter((offset) => offset !== undefined);
  const [first] = offsets;
  if (offsets.length < found.length && (through !== undefined || first !== undefined)) {
    const what = through === undefined ? 'was attempted' : 'was acknowledged';
    faults.add(
      'lost',
      `${append} ${what}, but ${offsets.length} of ${found.length} records are stored`,
    );
  }
  if (first === undefined) return undefined;
  if (offsets.some((offset, index) => offset !== first + index))
    faults.add('reordered', `${append} is at ${offsets.join()}`);
  if (through !== undefined && Math.max(...offsets) > through)
    faults.add(
      'reordered',
      `${append} is at ${offsets.join()}, but was acknowledged through ${through}`,
    );
  if (isRefused && tries === 1) faults.add('invented', `${append} is stored, but was refused`);
  return first;
}

function appendsOf(events: readonly HistoryEvent[]): readonly Append[] {
  const appends = new Map<string, Append>();
  const owners = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'attempted') {
      const known = appends.get(event.append);
      if (known !== undefined) known.tries++;
      else appends.set(event.append, { ...event, tries: 1, through: undefined, isRefused: false });
      for (const draft of event.drafts) claimDraft(owners, event.session + draft, event.append);
    }
    const append = 'append' in event ? appends.get(event.append) : undefined;
    if (event.type === 'stored' && append !== undefined) append.through = event.through;
    if (event.type === 'refused' && append !== undefined) append.isRefused = true;
  }
  return [...appends.values()];
}

/**
 * Records which append contains a draft. Throws if two appends contain the same draft, because the
 * checks could not tell them apart.
 */
function claimDraft(owners: Map<string, string>, draft: string, append: string): void {
  const owner = owners.get(draft) ?? append;
  if (owner !== append)
    throw new Error(`Cannot check this history: ${owner} and ${append} both contain ${draft}`);
  owners.set(draft, append);
}

/**
 * Checks that offsets have no gaps and that no record is stored twice. Returns the offset of each
 * record, by its encoded body.
 */
function checkFinal(
  session: string,
  records: readonly LogRecord[],
  faults: FaultReport,
): ReadonlyMap<string, number> {
  const offsets = new Map<string, number>();
  const seen = new Set<number>();
  let last = 0;
  for (const record of records) {
    const { offset } = record;
    const where = `${session}, offset ${offset}`;
    if (seen.has(offset)) faults.add('doubled', `${where} occurs twice`);
    else if (offset < last) faults.add('reordered', `${where} follows ${last}`);
    else if (offset > last + 1) faults.add('gaps', `${where} follows ${last}`);
    seen.add(offset);
    last = Math.max(last, offset);
    const body = bodyOf(record);
    const first = offsets.get(body);
    if (first === undefined) offsets.set(body, offset);
    else faults.add('doubled', `${where} repeats offset ${first}: ${body.slice(0, 120)}`);
  }
  return offsets;
}

/** Returns the record in the encoding of its writer, without the fields that the store adds. */
const bodyOf = (record: LogRecord): string => encodeDraft(record);
