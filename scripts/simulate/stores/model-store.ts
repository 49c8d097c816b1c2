import type { LogRecord, SessionId } from '@millrace/core';
import type {
  RecordStore,
  SessionRow,
  SessionRowFilter,
  StoreTransaction,
} from '@millrace/log/store';
import type { Machine, World } from '../world.ts';
import { CrashedError, type Disk } from './disk.ts';
import { recordsOf, rowOf, rowsOf, StateDraft } from './store-state.ts';

/**
 * The delay after which a process notices a commit without a file system event. The real store
 * checks at this interval.
 */
const safetyCheckMs = 1000;

/**
 * A model of the SQLite store. Several processes of a machine use one file. Calls return
 * immediately, and commits are atomic. Other processes notice a commit after a short delay.
 */
export class ModelStore implements RecordStore {
  readonly #world: World;
  readonly #disk: Disk;
  readonly #machine: Machine;
  readonly #start: number;

  constructor(world: World, disk: Disk, machine: Machine) {
    this.#world = world;
    this.#disk = disk;
    this.#machine = machine;
    this.#start = machine.start;
  }

  transact<T>(work: (tx: StoreTransaction) => T): T {
    this.assertRunning();
    const draft = new StateDraft(this.#disk.state);
    const result = work(draft);
    if (draft.hasChanged) {
      this.#disk.assertWritable();
      this.#disk.commit(this.#machine, draft.result);
    }
    return result;
  }

  watch(listener: () => void): () => void {
    const { random } = this.#world;
    return this.#disk.watch(this.#machine, (writer) => {
      if (writer === this.#machine) return;
      const delayMs = random.oneIn(6) ? safetyCheckMs : random.below(8);
      this.#world.schedule(this.#machine, delayMs, 'sees a commit', listener);
    });
  }

  close(): void {}

  session(session: SessionId): SessionRow | undefined {
    return rowOf(this.#state, session);
  }

  sessions(filter: SessionRowFilter): readonly SessionRow[] {
    return rowsOf(this.#state, filter);
  }

  producer(session: SessionId, producer: string) {
    return this.#state.sessions.get(session)?.producers.get(producer);
  }

  command(session: SessionId, key: string) {
    return this.#state.sessions.get(session)?.commands.get(key);
  }

  records(session: SessionId, after: number): readonly LogRecord[] {
    return recordsOf(this.#state, session, after);
  }

  blob(hash: string): Uint8Array | undefined {
    return this.#state.blobs.get(hash);
  }

  blobSlice(hash: string, start: number, end: number): Uint8Array | undefined {
    return this.blob(hash)?.slice(start, end);
  }

  blobsOf(): readonly string[] {
    return [];
  }

  get #state() {
    this.assertRunning();
    return this.#disk.state;
  }

  /** Throws if the program has crashed. */
  protected assertRunning(): void {
    if (this.#machine.start !== this.#start) throw new CrashedError('The program has crashed');
  }
}
