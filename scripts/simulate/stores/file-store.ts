import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeRecord, type LogRecord, type SessionId } from '@millrace/core';
import type { RecordStore, SessionRow, StoreTransaction } from '@millrace/log/store';
import { SqliteStore } from '../../../packages/log/src/sqlite/sqlite-store.ts';
import type { Machine, World } from '../world.ts';
import { CrashedError, type Disk } from './disk.ts';
import { ModelStore } from './model-store.ts';
import { emptyState, StateDraft, type StoreState } from './store-state.ts';

/** A copy of the file after a number of commits. */
interface FileCopy {
  readonly commits: number;
  readonly path: string;
}

/** A copy is made after so many commits. */
const commitsPerCopy = 25;

/**
 * A real SQLite file that all servers use. The disk of the simulation gets the same writes, so that the
 * laws are checked in the same way, and the file is compared with it.
 */
export class SharedFile {
  readonly #world: World;
  readonly #disk: Disk;
  readonly #folder = mkdtempSync(join(tmpdir(), 'simulate-'));
  readonly #path = join(this.#folder, 'sessions.db');
  readonly #copies: FileCopy[] = [];
  readonly #open = new Set<SqliteStore>();

  constructor(world: World, disk: Disk) {
    this.#world = world;
    this.#disk = disk;
  }

  /** Opens the file for a machine. Its crash closes the file. */
  open(machine: Machine): RecordStore {
    const store = this.#openStore();
    machine.onCrash.add(() => this.#close(store));
    return new MirroredStore(this.#world, this.#disk, machine, store, () => this.#copy(store));
  }

  /**
   * Puts the newest copy back that is not newer than a number of commits, or only removes the WAL. All
   * machines must be stopped. Returns what the file contains then.
   */
  restore(commits: number, what: 'copy' | 'wal'): StoreState | undefined {
    for (const store of [...this.#open]) this.#close(store);
    const copy = this.#copies.findLast((one) => one.commits <= commits);
    if (copy === undefined) return undefined;
    if (what === 'copy') copyFileSync(copy.path, this.#path);
    for (const end of ['-wal', '-shm']) rmSync(this.#path + end, { force: true });
    return this.content();
  }

  /** The content of the file. */
  content(): StoreState {
    const store = this.#openStore();
    try {
      const draft = new StateDraft(emptyState(0));
      for (const row of store.sessions({})) {
        draft.putSession(row);
        draft.insert(row.session, allRecords(store, row.session));
      }
      return draft.result;
    } finally {
      this.#close(store);
    }
  }

  /** Reports sessions that differ between the file and the disk of the simulation. */
  compare(): void {
    const [stored, expected] = [this.content(), this.#disk.state];
    const text = (state: StoreState, session: SessionId) =>
      (state.sessions.get(session)?.records ?? []).map(encodeRecord).join('\n');
    for (const session of new Set([...stored.sessions.keys(), ...expected.sessions.keys()]))
      if (text(stored, session) !== text(expected, session))
        this.#world.fail(`Session ${session}: the file differs from what was written to it`);
  }

  remove(): void {
    for (const store of [...this.#open]) this.#close(store);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #openStore(): SqliteStore {
    const onRewound = () => this.#world.note('the file was rewound');
    const options = { durability: 'process', busyTimeoutMs: 0, onRewound } as const;
    const store = new SqliteStore({ path: this.#path, ...options });
    this.#open.add(store);
    return store;
  }

  #close(store: SqliteStore): void {
    if (this.#open.delete(store)) store.close();
  }

  #copy(store: SqliteStore): void {
    const { commits } = this.#disk;
    if (commits - (this.#copies.at(-1)?.commits ?? 0) < commitsPerCopy) return;
    // A checkpoint brings everything into the file itself.
    if (!store.checkpoint()) return;
    const path = join(this.#folder, `copy-${commits}`);
    copyFileSync(this.#path, path);
    this.#copies.push({ commits, path });
  }
}

function allRecords(store: SqliteStore, session: SessionId): readonly LogRecord[] {
  const records: LogRecord[] = [];
  for (;;) {
    const page = store.records(session, records.at(-1)?.offset ?? 0, 2 ** 20);
    if (page.length === 0) return records;
    records.push(...page);
  }
}

/** Reads from the file, and writes to the file and to the disk of the simulation. */
class MirroredStore extends ModelStore implements RecordStore {
  readonly #disk: Disk;
  readonly #machine: Machine;
  readonly #store: SqliteStore;
  readonly #onCommit: () => void;

  constructor(
    world: World,
    disk: Disk,
    machine: Machine,
    store: SqliteStore,
    onCommit: () => void,
  ) {
    super(world, disk, machine);
    this.#disk = disk;
    this.#machine = machine;
    this.#store = store;
    this.#onCommit = onCommit;
  }

  override transact<T>(work: (tx: StoreTransaction) => T): T {
    this.assertRunning();
    const draft = new StateDraft(this.#disk.state);
    const crash = this.#disk.crashAt.get(this.#machine);
    let isRolledBack = false;
    const run = (tx: StoreTransaction) => {
      const done = work(mirrored(tx, draft));
      if (draft.hasChanged) this.#disk.assertWritable();
      isRolledBack = draft.hasChanged && crash === 'before';
      if (isRolledBack) throw new CrashedError('The program crashes before a commit');
      return done;
    };
    try {
      const result = this.#store.transact(run);
      if (draft.hasChanged) this.#disk.commit(this.#machine, draft.result);
      this.#onCommit();
      return result;
    } catch (error) {
      // The disk crashes the machine, and stores nothing either.
      if (isRolledBack) this.#disk.commit(this.#machine, draft.result);
      throw error;
    }
  }

  override session(session: SessionId): SessionRow | undefined {
    this.assertRunning();
    return this.#store.session(session);
  }

  override records(session: SessionId, after: number): readonly LogRecord[] {
    this.assertRunning();
    // Short pages, as the model has.
    return this.#store.records(session, after, 4096);
  }
}

/** Writes that a transaction repeats on the draft. Its numbers come from the file. */
const writes = ['putSession', 'putProducer', 'putCommand', 'insert', 'replace', 'deleteSession'];

function mirrored(tx: StoreTransaction, draft: StateDraft): StoreTransaction {
  return new Proxy(tx, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const value: unknown = Reflect.apply(member, target, args);
        const repeat: unknown = Reflect.get(draft, name, draft);
        if (writes.includes(String(name)) && typeof repeat === 'function')
          Reflect.apply(repeat, draft, args);
        return value;
      };
    },
  });
}
