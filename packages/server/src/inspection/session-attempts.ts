import type { Fact, LogRecord, SessionId, Usage } from '@millrace/core';
import type { Log, SessionInfo } from '@millrace/log';

/** One attempt to get a model response, as a row of the statistics. */
export interface AttemptRow {
  /** The time at which the attempt started, in milliseconds since 1970. */
  readonly startedAt: number;
  readonly firstTokenMs: number | undefined;
  /** The duration of the attempt. Undefined while the attempt is open, and for attempts of sub-agents. */
  readonly durationMs: number | undefined;
  readonly isError: boolean;
  readonly provider: string | null;
  readonly model: string | null;
  /** The version of the agent. Null if the agent has no version. */
  readonly version: string | null;
  /** The name of the agent. Undefined if it is the agent of the session. */
  readonly subAgent: string | undefined;
  readonly usage: Usage | undefined;
}

type MutableRow = { -readonly [Key in keyof AttemptRow]: AttemptRow[Key] };

/** Maximum number of sessions whose attempts are cached. */
const maxSessions = 500;
/** Maximum number of attempts per session. Above it, the oldest attempts are dropped. */
const maxAttempts = 500;
const pageBytes = 2 ** 20;
/** Maximum number of pages that one read loads. A longer session needs several reads. */
const maxPages = 32;

interface CachedSession {
  readonly incarnation: string;
  through: number;
  isCut: boolean;
  readonly attempts: Map<string, MutableRow>;
}

/** The attempts of a session. */
export interface SessionAttempts {
  readonly attempts: readonly AttemptRow[];
  /** False if a part of the log has not been read yet, or if old attempts were dropped. */
  readonly isWhole: boolean;
}

/**
 * Reads the attempts of sessions from their logs. Each read starts where the last one ended. The attempts
 * exist only in memory, because they can be read again.
 */
export class SessionAttemptsCache {
  readonly #log: Log;
  /** The cached sessions. The most recently used session is the last entry. */
  readonly #sessions = new Map<SessionId, CachedSession>();

  constructor(log: Log) {
    this.#log = log;
  }

  async read({ session, incarnation, through, origin }: SessionInfo): Promise<SessionAttempts> {
    const known = this.#sessions.get(session);
    const cached =
      known?.incarnation === incarnation
        ? known
        : // A fork starts with a copy of another session, whose attempts must not count twice.
          { incarnation, through: origin?.through ?? 0, isCut: false, attempts: new Map() };
    for (let pages = 0; pages < maxPages && cached.through < through; pages++) {
      const from = cached.through;
      const page = await this.#log.read(session, { from, incarnation, maxBytes: pageBytes });
      // A concurrent request may already have read the same page.
      if (page.through <= cached.through) break;
      for (const record of page.records)
        if (record.offset > cached.through) addRecord(cached.attempts, record);
      cached.through = page.through;
      this.#cut(cached);
    }
    this.#remember(session, cached);
    const isWhole = cached.through >= through && !cached.isCut;
    return { attempts: [...cached.attempts.values()], isWhole };
  }

  #cut(cached: CachedSession): void {
    for (const key of cached.attempts.keys()) {
      if (cached.attempts.size <= maxAttempts) return;
      cached.attempts.delete(key);
      cached.isCut = true;
    }
  }

  #remember(session: SessionId, cached: CachedSession): void {
    this.#sessions.delete(session);
    this.#sessions.set(session, cached);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > maxSessions && oldest !== undefined) this.#sessions.delete(oldest);
  }
}

const cachesByLog = new WeakMap<Log, SessionAttemptsCache>();

/** Returns the cache of a log. Each log has one cache. */
export function attemptsCacheFor(log: Log): SessionAttemptsCache {
  const cache = cachesByLog.get(log) ?? new SessionAttemptsCache(log);
  cachesByLog.set(log, cache);
  return cache;
}

function addRecord(attempts: Map<string, MutableRow>, record: LogRecord): void {
  const { turn, attempt, time, fact } = record;
  const known = attempts.get(`${turn}.${attempt}`);
  if (fact === undefined) {
    // A delta after the end of the attempt comes from a tool and not from the model.
    if (known?.durationMs === undefined && known?.firstTokenMs === undefined && known)
      known.firstTokenMs = time - known.startedAt;
    return;
  }
  if (fact.type === 'response_started') {
    const { provider, model, version = null } = fact;
    attempts.set(`${turn}.${attempt}`, { ...newRow(time), provider, model, version });
  } else if (fact.type === 'child_usage_reported') {
    const { session, turn: childTurn, attempt: childAttempt, agent } = fact.of;
    const { provider = null, model = null, version = null } = fact.of;
    const row = { ...newRow(time), provider, model, version, subAgent: agent, usage: fact.usage };
    attempts.set(`${session} ${childTurn}.${childAttempt}`, row);
  } else if (known !== undefined) addFact(known, time, fact);
}

function newRow(startedAt: number): MutableRow {
  return {
    ...{ startedAt, firstTokenMs: undefined, durationMs: undefined, isError: false },
    ...{ provider: null, model: null, version: null, subAgent: undefined, usage: undefined },
  };
}

function addFact(row: MutableRow, time: number, fact: Fact): void {
  switch (fact.type) {
    case 'usage_reported':
      row.usage = fact.usage;
      return;
    case 'response_finished':
      row.usage = fact.usage;
      if (fact.stop.reason === 'error') row.isError = true;
      row.durationMs ??= time - row.startedAt;
      return;
    case 'error_reported':
    case 'attempt_superseded':
    case 'retry_scheduled':
      row.isError = true;
      row.durationMs ??= time - row.startedAt;
      return;
    case 'turn_finished':
      if (row.durationMs === undefined && fact.stop.reason === 'error') row.isError = true;
      row.durationMs ??= time - row.startedAt;
      return;
    default:
      return;
  }
}
