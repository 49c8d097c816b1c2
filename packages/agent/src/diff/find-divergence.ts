import { assertKnownOptions } from '../known-options.ts';
import { compareTurns } from './compare-turns.ts';
import { alignedTurns } from './diff-sessions.ts';
import { openTurns, type TurnStart } from './read-turns.ts';
import type { DiffOptions, DiffSource, SessionDifference } from './session-diff.ts';

/**
 * Finds the first difference of two sessions, and reads no further. It does not read what a fork copied, so
 * the time depends on the records between the fork and the difference. Content that is redacted after the
 * difference counts as a difference; `diffSessions` ignores it. Returns undefined if there is no difference.
 *
 * @example
 * const divergence = await findDivergence({ log, session: 'trip' }, { log, session: 'trip-2' });
 */
export async function findDivergence(
  a: DiffSource,
  b: DiffSource,
  options: Pick<DiffOptions, 'maxTextLength'> = {},
): Promise<SessionDifference | undefined> {
  assertKnownOptions('findDivergence', options, { maxTextLength: true });
  const { maxTextLength = 16_384 } = options;
  const start = await runBefore(b, await copiedRecords(a, b));
  const [one, other] = [await openTurns(a, start), await openTurns(b, start)];
  for await (const pair of alignedTurns(one, other)) {
    const [found] = await compareTurns(pair, { maxTextLength, redacted: new Set() });
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the last offset up to which both sessions are copies of the same session, or 0. */
export async function copiedRecords(a: DiffSource, b: DiffSource): Promise<number> {
  if (a.log !== b.log) return 0;
  const [one, other] = [await originsOf(a), await originsOf(b)];
  for (const [session, through] of one) {
    const same = other.get(session);
    if (same !== undefined) return Math.min(through, same);
  }
  return 0;
}

/** Maximum number of forks of forks. */
const maxDepth = 100;

/** Returns the session and the sessions that it was forked from, each with the last copied offset. */
async function originsOf({ log, session }: DiffSource): Promise<ReadonlyMap<string, number>> {
  const origins = new Map<string, number>();
  let [id, through]: [string, number] = [session, Number.POSITIVE_INFINITY];
  while (!origins.has(id) && origins.size < maxDepth) {
    const info = await log.info(id);
    through = Math.min(through, info?.through ?? 0);
    origins.set(id, through);
    if (info?.origin === undefined) break;
    [id, through] = [info.origin.session, Math.min(through, info.origin.through)];
  }
  return origins;
}

/** The number of records in which the search for the end of a run starts. */
const firstWindow = 2000;

/** Returns the place after the last run that ended at or before the offset, with no queued command. */
async function runBefore({ log, session }: DiffSource, offset: number): Promise<TurnStart> {
  const none: TurnStart = { after: 0, turn: 0 };
  for (let size = firstWindow; size < 8 * offset; size *= 8) {
    const first = Math.max(0, offset - size);
    const queued = new Set<string>();
    let [turn, found] = [0, none];
    for (let from = first; from < offset; ) {
      const page = await log.read(session, { from });
      for (const { offset: at, fact, turn: of } of page.records) {
        if (at > offset) break;
        turn = Math.max(turn, of);
        if (fact?.type === 'command_queued') queued.add(fact.key);
        if (fact?.type === 'command_consumed') queued.delete(fact.key);
        if (fact?.type === 'run_finished' && turn > 0 && queued.size === 0)
          found = { after: at, turn };
      }
      if (page.through <= from) break;
      from = page.through;
    }
    if (found.after > 0 || first === 0) return found;
  }
  return none;
}
