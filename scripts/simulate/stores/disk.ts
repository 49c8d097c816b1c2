import { LogError } from '@millrace/log';
import { randomIncarnation } from '@millrace/log/store';
import type { Machine, World } from '../world.ts';
import { LeaseWatch } from './lease-watch.ts';
import { emptyState, type RowsState, type StoreState, withIncarnation } from './store-state.ts';

/** When a machine crashes at a commit: before it is stored, or before its program learns of it. */
export type CommitCrash = 'before' | 'after';

/** A rewind of the store: what is in `before` and not in `after` is gone. */
interface Rewind {
  readonly at: number;
  readonly before: StoreState;
  readonly after: StoreState;
}

interface DiskOptions {
  /** Keeps the incarnation after a rewind: the fault B of before. */
  readonly keepsIncarnation: boolean;
  /** The rows as they are now. */
  readonly rows: () => RowsState;
}

/** Says that a crashed program has called a store. Nothing happens. */
export class CrashedError extends Error {}

/**
 * The disk under the store of a log. It keeps every state, so that it can lose its last commits or be
 * restored from a backup.
 */
export class Disk {
  readonly #world: World;
  readonly #states: StoreState[];
  /** The rows at each commit, for backups. */
  readonly #rows: RowsState[] = [];
  readonly #listeners = new Map<Machine, Set<(writer: Machine) => void>>();
  readonly leases: LeaseWatch;
  readonly rewinds: Rewind[] = [];
  /** Writes fail with `storage_full` until then. */
  fullUntil = 0;
  /** Writes fail with `storage` until then. */
  brokenUntil = 0;
  /** Crashes the machine at its next commit. */
  readonly crashAt = new Map<Machine, CommitCrash>();
  readonly #options: DiskOptions;

  constructor(world: World, options: DiskOptions) {
    this.#world = world;
    this.#options = options;
    this.#states = [emptyState(randomIncarnation())];
    this.#rows.push(options.rows());
    this.leases = new LeaseWatch(world);
  }

  get state(): StoreState {
    return this.#states.at(-1) as StoreState;
  }

  /** Number of commits so far. */
  get commits(): number {
    return this.#states.length;
  }

  /** Throws if the disk accepts no writes now. */
  assertWritable(): void {
    const { now } = this.#world;
    if (this.fullUntil > now)
      throw new LogError('storage_full', 'Cannot write: the disk of the simulation is full');
    if (this.brokenUntil > now)
      throw new LogError('storage', 'Cannot write: the disk of the simulation fails');
  }

  /** Stores a state. The machine may crash before or after. */
  commit(machine: Machine, state: StoreState): void {
    const crash = this.crashAt.get(machine);
    this.crashAt.delete(machine);
    if (crash !== 'before') {
      this.leases.compare(machine, this.state, state);
      this.advance(state);
      this.#world.note(`${machine.name} commits ${this.commits}`);
      for (const listeners of this.#listeners.values())
        for (const listener of listeners) listener(machine);
    }
    if (crash === undefined) return;
    this.#world.crash(machine);
    throw new CrashedError(`${machine.name} crashed ${crash} a commit`);
  }

  /** Stores a state without a commit of a program, for numbers that are never given back. */
  advance(state: StoreState): void {
    this.#states.push(state);
    this.#rows.push(this.#options.rows());
  }

  /** Calls the listener after each commit, until the machine crashes. */
  watch(machine: Machine, listener: (writer: Machine) => void): () => void {
    const listeners = this.#listeners.get(machine) ?? new Set();
    this.#listeners.set(machine, listeners.add(listener));
    const stop = () => void listeners.delete(listener);
    machine.onCrash.add(stop);
    return stop;
  }

  /** The state and the rows after a number of commits. */
  at(commits: number): { readonly state: StoreState; readonly rows: RowsState } {
    const index = Math.max(0, Math.min(commits, this.commits) - 1);
    return { state: this.#states[index] ?? this.state, rows: this.#rows[index] ?? new Map() };
  }

  /** Goes back to an earlier state, as a restored backup or a lost tail does. */
  rewind(state: StoreState): void {
    this.#world.note(`the store goes back after ${this.commits} commits`);
    this.rewinds.push({ at: this.#world.now, before: this.state, after: state });
    this.leases.forget();
    const { keepsIncarnation } = this.#options;
    this.advance(keepsIncarnation ? state : withIncarnation(state, randomIncarnation()));
  }
}
