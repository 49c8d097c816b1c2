import {
  type DraftRecord,
  isMillraceError,
  type LogRecord,
  type SessionId,
  sessionId,
} from '@millrace/core';
import type { Driver, Log } from '../../contract/log.ts';
import type { Admission, Producer } from '../../contract/producer.ts';
import type { SessionInfo } from '../../contract/session-info.ts';
import * as assert from '../assert.ts';
import { readBatches, stateAfter, summaryOf } from '../follower.ts';
import type { LogStore } from '../log-subject.ts';
import { ReferenceLog } from '../reference/reference-log.ts';
import { infoOf, type ReferenceSession, ReferenceStore } from '../reference/reference-store.ts';
import { nextMacrotask, type TestClock } from '../test-clock.ts';
import type { CutReader, UncutReader } from './readers.ts';
import { stateOf } from './script.ts';

/**
 * A driver or producer of the log under test, and its counterpart of the reference log. `log` contains these
 * two logs.
 */
export type Opened<T> = Pair<T> & { readonly log: Pair<Log> };

export type OpenProducer = Opened<Producer> & {
  readonly isRequest: boolean;
  /** The last append, so that an action can repeat it. */
  last: { readonly drafts: readonly DraftRecord[]; readonly sequence: number };
};

/** Options of `checkModel`. */
export interface ModelOptions {
  readonly store: LogStore;
  readonly isDurable: boolean;
  readonly clock: TestClock;
  /**
   * The prefix of this run's session ids. Many runs may use the same store, so each run needs its own prefix.
   */
  readonly name: string;
  /** The drafts that drivers append, in a legal order. */
  readonly script: readonly DraftRecord[];
}

/** The log under test and the reference log, with all their drivers, producers and readers. */
export class ModelWorld {
  readonly options: ModelOptions;
  readonly reference: ReferenceStore;
  readonly names: readonly SessionId[];
  readonly logs: Pair<Log>[] = [];
  readonly drivers: Opened<Driver>[] = [];
  readonly admissions: (Pair<Admission> & { readonly isRequest: boolean })[] = [];
  readonly producers: OpenProducer[] = [];
  readonly cutReaders: CutReader[] = [];
  uncutReaders: readonly UncutReader[] = [];
  /** The highest epoch of each session. */
  readonly epochs: Map<SessionId, number> = new Map();
  readonly #checked = new Map<SessionId, readonly unknown[]>();
  /** For each session, the number of script drafts that it contains at each offset. */
  readonly #scriptPositions = new WeakMap<ReferenceSession, readonly ScriptPosition[]>();

  constructor(options: ModelOptions) {
    this.options = options;
    this.reference = new ReferenceStore(options.clock);
    this.names = ['a', "b'; --", 'c 😀'].map((name) => sessionId(`${options.name} ${name}`));
  }

  async openLog(): Promise<Pair<Log>> {
    const reference = new ReferenceLog(this.reference);
    return { real: await this.options.store.open(), reference };
  }

  session(name: SessionId): ReferenceSession | undefined {
    return this.reference.sessions.get(name);
  }

  /** Returns a session id. It usually returns the first id, so that the steps affect each other. */
  nameAt(number: number): SessionId {
    const [first, ...others] = this.names;
    return (number % 3 > 0 ? first : others[number % others.length]) ?? sessionId('none');
  }

  sessionAt(number: number): ReferenceSession | undefined {
    return this.session(this.nameAt(number));
  }

  isThere(session: ReferenceSession): boolean {
    return this.session(session.session) === session;
  }

  nextOfScript(session: ReferenceSession, count: number): readonly DraftRecord[] {
    const appended = this.#scriptPositions.get(session)?.at(-1)?.count ?? 0;
    return this.options.script.slice(appended, appended + count);
  }

  noteScript(session: ReferenceSession, count: number): void {
    const marks = this.#scriptPositions.get(session) ?? [];
    const before = marks.at(-1)?.count ?? 0;
    this.#scriptPositions.set(session, [
      ...marks,
      { offset: session.through, count: before + count },
    ]);
  }

  /**
   * Copies the script positions of a session to its fork. The fork then continues the script at the place
   * where it was cut.
   */
  noteFork(origin: ReferenceSession, copy: ReferenceSession, through: number): void {
    const marks = this.#scriptPositions.get(origin) ?? [];
    const kept = marks.filter(({ offset }) => offset <= through);
    this.#scriptPositions.set(copy, kept);
  }

  /** Checks only the sessions that have changed. All sessions are checked at the end. */
  async checkChanged(log: Pair<Log>): Promise<void> {
    for (const name of this.names) {
      const { records, lease, isClosed } = this.session(name) ?? {};
      const now = [records, lease?.expiresAt, isClosed];
      const before = this.#checked.get(name) ?? [];
      this.#checked.set(name, now);
      if (now.some((one, index) => one !== before[index])) await this.check(name, log);
    }
  }

  /** Checks that the log has the same session info, records and folded state as the reference. */
  async check(name: SessionId, { real }: Pair<Log>): Promise<void> {
    const session = this.session(name);
    const info = await real.info(name);
    assert.deepEqual(info && comparableInfo(info), session && comparableInfo(infoOf(session)));
    if (session === undefined) return;
    const batches = await readBatches(real, name, { maxBytes: 300 });
    assert.deepEqual(
      comparableRecords(batches.flatMap(({ records }) => records)),
      comparableRecords(session.records),
    );
    assert.deepEqual(summaryOf(stateAfter(name, batches)), summaryOf(stateOf(session)));
  }
}

interface ScriptPosition {
  readonly offset: number;
  readonly count: number;
}

/** Returns the info without the fields that may differ between stores. */
export function comparableInfo(info: SessionInfo): unknown {
  const { changedAt: _time, incarnation: _random, lease, epoch, ...rest } = info;
  const hadDriver = epoch > 0;
  return { ...rest, hadDriver, lease: lease && [lease.holder, lease.expiresAt] };
}

/**
 * Random numbers. They select an action's arguments from the drivers, producers and sessions that exist at
 * that time.
 */
export interface ActionNumbers {
  readonly a: number;
  readonly b: number;
}

/** Runs one action in both logs and compares the results. Returns a short description of the outcome. */
export type Action = (world: ModelWorld, numbers: ActionNumbers) => Promise<string>;

/** A value in the log under test and its counterpart in the reference log. */
export interface Pair<T> {
  readonly real: T;
  readonly reference: T;
}

type Outcome<T> =
  | { readonly value: T; readonly code?: undefined }
  | { readonly code: string; readonly value?: undefined };

async function outcomeOf<T>(attempt: Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await attempt };
  } catch (error) {
    if (isMillraceError(error)) return { code: error.code };
    throw error;
  }
}

/**
 * Asserts that both calls have the same outcome, which is the same error code or equal values. Returns the
 * values or the code.
 */
export async function sameOutcome<T>(
  { real, reference }: Pair<Promise<T>>,
  comparable: (value: T) => unknown,
): Promise<{ readonly values?: Pair<T>; readonly code: string }> {
  const [one, other] = await Promise.all([outcomeOf(real), outcomeOf(reference)]);
  const shown = ({ code, value }: Outcome<T>) => code ?? comparable(value as T);
  assert.deepEqual(shown(one), shown(other));
  if (one.code !== undefined || other.code !== undefined) return { code: one.code ?? '' };
  return { values: { real: one.value, reference: other.value }, code: 'done' };
}

/** Returns the records without the producer's name, because each store chooses these names. */
export function comparableRecords(records: readonly LogRecord[]): readonly unknown[] {
  return records.map(({ producer: _, ...rest }) => rest);
}

/**
 * Returns the code of the error that `lost` resolved with. Returns `undefined` if the promise is still
 * pending.
 */
export async function codeOfLoss(lost: Promise<Error>): Promise<string | undefined> {
  const error = await Promise.race([lost, nextMacrotask()]);
  return isMillraceError(error) ? error.code : error?.name;
}

/** Returns one of the last four elements. Older drivers and producers have mostly ended. */
export function pickRecent<T>(list: readonly T[], number: number): T | undefined {
  return list.at(-1 - (number % Math.max(1, Math.min(list.length, 4))));
}
