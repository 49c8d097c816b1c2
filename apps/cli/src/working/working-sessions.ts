import { type Cost, type FoldState, findLast, type SessionId, totalUsage } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { commandHint } from '../args/command-hint.ts';
import { SessionLookupError } from '../contract/errors.ts';
import {
  findSession,
  type SessionPlace,
  type SessionSummary,
  type ShortId,
  shortIds,
  summariesOf,
} from '../store/session-summaries.ts';

/** A session with work, for `millrace ps` and `millrace top`. */
export interface WorkingSession {
  readonly id: SessionId;
  readonly title: string;
  /** The name that the user gave to the session with `/name`. Null if there is none. */
  readonly name: string | null;
  readonly cwd: string | undefined;
  /**
   * `running`: a process drives it. `waiting`: it waits for an answer of the user. `queued`: a message waits
   * for a driver. `interrupted`: no process drives its run.
   */
  readonly state: 'running' | 'waiting' | 'queued' | 'interrupted';
  /** The name of the process that drives the session. Null if there is none. */
  readonly driver: string | null;
  /** The time at which the last message was sent, in milliseconds since 1970. */
  readonly since: number;
  /** The current work of a running session, such as `answering` or `running bash`. Null in other states. */
  readonly activity: string | null;
  /** The number of the last turn. */
  readonly turn: number;
  /** The tokens of all requests, with those of sub-agents. */
  readonly tokens: number;
  readonly costs: readonly Cost[];
}

/** The sessions of a store that have work. */
interface WorkingSessions {
  /** The session with the newest message is first. Sessions of sub-agents are left out. */
  readonly sessions: readonly WorkingSession[];
  /** Shortens the ids of all sessions of the store. */
  readonly short: ShortId;
}

/**
 * Returns the sessions with work. It lists the store only once, because a store can have many sessions. `names` are
 * those of `/name`. Default: none.
 */
export async function workingSessions(
  log: Log,
  names: ReadonlyMap<SessionId, string> = new Map(),
): Promise<WorkingSessions> {
  const found: WorkingSession[] = [];
  const all = await log.list();
  const withWork = all.filter(({ hasWork, isDamaged }) => hasWork && !isDamaged);
  for await (const summary of summariesOf(log, withWork))
    if (summary.cwd !== undefined) found.push(await describe(log, summary, names.get(summary.id)));
  return {
    sessions: found.sort((one, other) => other.since - one.since),
    short: shortIds(all.map(({ session }) => session)),
  };
}

async function describe(
  log: Log,
  summary: SessionSummary,
  name: string | undefined,
): Promise<WorkingSession> {
  const { id, title, cwd, holder, changedAt } = summary;
  const folded = await snapshot(log, id);
  const { asked, run, items } = folded;
  const idle = run === undefined ? 'queued' : 'interrupted';
  const state = asked.length > 0 ? 'waiting' : holder === undefined ? idle : 'running';
  const { input, output, costs } = totalUsage(folded);
  return {
    ...{ id, title, name: name ?? null, cwd, state, driver: holder ?? null },
    since: findLast(items, ({ kind }) => kind === 'user')?.startedAt ?? changedAt,
    activity: state === 'running' ? activityOf(folded) : null,
    turn: findLast(items, () => true)?.turn ?? 0,
    ...{ tokens: input + output, costs: costs ?? [] },
  };
}

function activityOf({ open }: FoldState): string {
  const names = open.flatMap(({ begin }) => (begin.kind === 'tool_result' ? [begin.name] : []));
  if (names.length > 0) return `running ${[...new Set(names)].join(', ')}`;
  const begin = open.at(-1)?.begin;
  switch (begin?.kind) {
    case undefined:
      return 'waiting for the model';
    case 'reasoning':
      return 'thinking';
    case 'tool_call':
      return `calling ${begin.name}`;
    default:
      return 'answering';
  }
}

/**
 * Finds the session for `attach` and `share`: by its id, or the session with work that changed last, or the
 * last session of the folder.
 */
export async function findWorking(
  log: Log,
  which: string | undefined,
  place: SessionPlace,
): Promise<SessionSummary> {
  if (which !== undefined) return findSession(log, which, place);
  const [first] = (await workingSessions(log)).sessions;
  if (first !== undefined) return findSession(log, first.id, place);
  return findSession(log, 'last', place).catch((error: unknown) => {
    if (!(error instanceof SessionLookupError)) throw error;
    const list = commandHint(place.flags ?? {}, 'sessions --all');
    const message = `There is no session with work. List all sessions with ${list}`;
    throw new SessionLookupError('no_such_session', message, {});
  });
}
