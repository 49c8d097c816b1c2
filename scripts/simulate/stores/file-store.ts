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

/** The number of commits between two copies. */
const commitsPerCopy = 25;

/**
 * A real SQLite file that all servers use. Every write also goes to the disk of the simulation. So
 * the same laws are checked as for the models. The file is also compared with the disk.
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

  /** Opens the file for a machine. When the machine crashes, the file is closed. */
  open(machine: Machine): RecordStore {
    const store = this.#openStore();
    machine.onCrash.add(() => this.#close(store));
    return new MirroredStore(this.#world, this.#disk, machine, store, () => this.#copy(store));
  }

  /**
   * Restores the newest copy with at most this number of commits, or only removes the WAL. All
   * machines must be stopped. Returns the content of the file after the change.
   */
  restore(commits: number, what: 'copy' | 'wal'): StoreState | undefined {
    for (const store of [...this.#open]) this.#close(store);
    const copy = this.#copies.findLast((one) => one.commits <= commits);
    if (copy === undefined) return undefined;
    if (what === 'copy') copyFileSync(copy.path, this.#path);
    for (const end of ['-wal', '-shm']) rmSync(this.#path + end, { force: true });
    return this.content();
  }

  /** Reads the content of the file. */
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

  /** Reports the sessions that differ between the file and the disk of the simulation. */
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
    // A checkpoint moves all commits from the WAL to the database file. The copy then contains
    // them.
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

/** A store that reads from the file, and writes to the file and to the disk of the simulation. */
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
      // After the rollback, `commit` crashes the machine before it stores the state. So the disk
      // does not change either.
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
    // A page has at most 4 KiB, so that a reader needs several pages.
    return this.#store.records(session, after, 4096);
  }
}

/**
 * The writes that are repeated on the disk of the simulation. Numbers, such as epochs, come from
 * the file.
 */
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
