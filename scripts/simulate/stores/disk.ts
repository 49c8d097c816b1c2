import { LogError } from '@millrace/log';
import { randomIncarnation } from '@millrace/log/store';
import type { Machine, World } from '../world.ts';
import { LeaseWatch } from './lease-watch.ts';
import { emptyState, type RowsState, type StoreState, withIncarnation } from './store-state.ts';

/**
 * The moment of a crash: before the commit is stored, or after it is stored but before the program
 * gets the answer.
 */
export type CommitCrash = 'before' | 'after';

/** A rewind of the store. Data in `before` that is not in `after` is lost. */
export interface Rewind {
  readonly at: number;
  readonly before: StoreState;
  readonly after: StoreState;
}

interface DiskOptions {
  /** If true, the incarnation stays the same after a rewind. This is planted fault B. */
  readonly keepsIncarnation: boolean;
  /** Returns the current rows. */
  readonly rows: () => RowsState;
}

/** Thrown if a crashed program uses a store. The call has no effect. */
export class CrashedError extends Error {}

/**
 * The disk of the store. It keeps all earlier states. So it can lose its last commits, or restore a
 * backup.
 */
export class Disk {
  readonly #world: World;
  readonly #states: StoreState[];
  /** The rows at each commit. They are part of a backup. */
  readonly #rows: RowsState[] = [];
  readonly #listeners = new Map<Machine, Set<(writer: Machine) => void>>();
  readonly leases: LeaseWatch;
  readonly rewinds: Rewind[] = [];
  /** Until this time, writes fail with `storage_full`. */
  fullUntil = 0;
  /** Until this time, writes fail with `storage`. */
  brokenUntil = 0;
  /** The machines that will crash at their next commit. */
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

  /** The number of commits. */
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

  /**
   * Stores a state. If a crash is planned for the machine, the machine crashes before or after the
   * commit. `begunAt` is the start of the transaction. Default: now.
   */
  commit(machine: Machine, state: StoreState, begunAt: number = this.#world.now): void {
    const crash = this.crashAt.get(machine);
    this.crashAt.delete(machine);
    if (crash !== 'before') {
      this.leases.compare(machine, this.state, state, begunAt);
      this.advance(state);
      this.#world.note(`${machine.name} commits ${this.commits}`);
      for (const listeners of this.#listeners.values())
        for (const listener of listeners) listener(machine);
    }
    if (crash === undefined) return;
    this.#world.crash(machine);
    throw new CrashedError(`${machine.name} crashed ${crash} a commit`);
  }

  /** Stores a state without a commit. It is for counters that a rollback does not reset. */
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

  /** Returns the state and the rows after a number of commits. */
  at(commits: number): { readonly state: StoreState; readonly rows: RowsState } {
    const index = Math.max(0, Math.min(commits, this.commits) - 1);
    return { state: this.#states[index] ?? this.state, rows: this.#rows[index] ?? new Map() };
  }

  /** Returns to an earlier state, as after restoring a backup or losing the last commits. */
  rewind(state: StoreState): void {
    this.#world.note(`the store goes back after ${this.commits} commits`);
    this.rewinds.push({ at: this.#world.now, before: this.state, after: state });
    this.leases.forget();
    const { keepsIncarnation } = this.#options;
    this.advance(keepsIncarnation ? state : withIncarnation(state, randomIncarnation()));
  }
}
