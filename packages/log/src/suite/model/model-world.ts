import assert from 'node:assert/strict';
import { type DraftRecord, type SessionId, sessionId } from '@millrace/core';
import type { Driver, Log } from '../../contract/log.ts';
import type { Admission, Producer } from '../../contract/producer.ts';
import type { SessionInfo } from '../../contract/session-info.ts';
import { readBatches, said, stateAfter } from '../fold-log.ts';
import type { LogStore } from '../log-subject.ts';
import { ReferenceLog } from '../reference-log.ts';
import { infoOf, ReferenceStore, type Session } from '../reference-store.ts';
import type { TestClock } from '../test-clock.ts';
import { stateOf } from './content.ts';
import { type Pair, plain } from './outcome.ts';
import type { CutReader, UncutReader } from './readers.ts';

/** What was opened with one of the logs. */
export type Opened<T> = Pair<T> & { readonly log: Pair<Log> };

export type Written = Opened<Producer> & {
  readonly isRequest: boolean;
  /** What it said last, to say it again. */
  last: { readonly drafts: readonly DraftRecord[]; readonly sequence: number };
};

export interface WorldOptions {
  readonly store: LogStore;
  readonly isDurable: boolean;
  readonly clock: TestClock;
  /** Begins the names of this run's sessions: a store may serve many runs. */
  readonly name: string;
  /** What drivers have to say, in an order that is legal. */
  readonly script: readonly DraftRecord[];
}

/** The log and the reference side by side, with those who use them. */
export class ModelWorld {
  readonly options: WorldOptions;
  readonly reference: ReferenceStore;
  readonly names: readonly SessionId[];
  readonly logs: Pair<Log>[] = [];
  readonly drivers: Opened<Driver>[] = [];
  readonly admissions: (Pair<Admission> & { readonly isRequest: boolean })[] = [];
  readonly producers: Written[] = [];
  readonly cutReaders: CutReader[] = [];
  uncutReaders: readonly UncutReader[] = [];
  /** The highest there was for each session. */
  readonly epochs: Map<SessionId, number> = new Map();
  readonly #checked = new Map<SessionId, readonly unknown[]>();
  /** How much of the script a session has, and since which offset. */
  readonly #told = new WeakMap<Session, readonly Told[]>();

  constructor(options: WorldOptions) {
    this.options = options;
    this.reference = new ReferenceStore(options.clock);
    this.names = ['a', "b'; --", 'c 😀'].map((name) => sessionId(`${options.name} ${name}`));
  }

  async openLog(): Promise<Pair<Log>> {
    const reference = new ReferenceLog(this.reference);
    return { real: await this.options.store.open(), reference };
  }

  session(name: SessionId): Session | undefined {
    return this.reference.sessions.get(name);
  }

  /** Mostly the first one, so that something comes of it. */
  nameAt(number: number): SessionId {
    const [first, ...others] = this.names;
    return (number % 3 > 0 ? first : others[number % others.length]) ?? sessionId('none');
  }

  sessionAt(number: number): Session | undefined {
    return this.session(this.nameAt(number));
  }

  isThere(session: Session): boolean {
    return this.session(session.session) === session;
  }

  nextOfScript(session: Session, count: number): readonly DraftRecord[] {
    const told = this.#told.get(session)?.at(-1)?.count ?? 0;
    return this.options.script.slice(told, told + count);
  }

  noteTold(session: Session, count: number): void {
    const marks = this.#told.get(session) ?? [];
    const before = marks.at(-1)?.count ?? 0;
    this.#told.set(session, [...marks, { offset: session.through, count: before + count }]);
  }

  /** A fork goes on with the script where it was cut. */
  noteFork(origin: Session, copy: Session, through: number): void {
    const marks = this.#told.get(origin) ?? [];
    const kept = marks.filter(({ offset }) => offset <= through);
    this.#told.set(copy, kept);
  }

  /** Only where something happened: the rest is looked at in the end. */
  async checkChanged(log: Pair<Log>): Promise<void> {
    for (const name of this.names) {
      const { records, lease, isClosed } = this.session(name) ?? {};
      const now = [records, lease?.expiresAt, isClosed];
      const before = this.#checked.get(name) ?? [];
      this.#checked.set(name, now);
      if (now.some((one, index) => one !== before[index])) await this.check(name, log);
    }
  }

  /** The log has what the reference has: what is known of the session, its records, and their fold. */
  async check(name: SessionId, { real }: Pair<Log>): Promise<void> {
    const session = this.session(name);
    const info = await real.info(name);
    assert.deepEqual(info && plainInfo(info), session && plainInfo(infoOf(session)));
    if (session === undefined) return;
    const batches = await readBatches(real, name, { maxBytes: 300 });
    assert.deepEqual(plain(batches.flatMap(({ records }) => records)), plain(session.records));
    assert.deepEqual(said(stateAfter(name, batches)), said(stateOf(session)));
  }
}

interface Told {
  readonly offset: number;
  readonly count: number;
}

/** Without what a store may see in its own way. */
export function plainInfo({ changedAt: _, lease, ...rest }: SessionInfo): unknown {
  return { ...rest, lease: lease && [lease.holder, lease.expiresAt] };
}
