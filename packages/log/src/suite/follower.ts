import assert from 'node:assert/strict';
import { type Batch, Folder, type FoldState, type SessionId } from '@millrace/core';
import type { FollowOptions, Log } from '../contract/log.ts';
import { addTo } from './fold-log.ts';

/** Follows a session step by step, folds what comes, and holds each batch against the one before. */
export class Follower {
  readonly folder: Folder;
  readonly batches: Batch[] = [];
  readonly #iterator: AsyncIterator<Batch>;
  /** Asked for and not come yet. */
  #next: Promise<IteratorResult<Batch>> | undefined;

  /** From the start, or on from what it has. */
  constructor(log: Log, from: SessionId | FoldState, options: FollowOptions = {}) {
    this.folder = new Folder(from);
    const { session, through } = this.folder.state;
    this.#iterator = log.follow(session, { ...options, from: through })[Symbol.asyncIterator]();
  }

  get through(): number {
    return this.folder.state.through;
  }

  /** Asks for the next batch, without waiting for it. */
  ask(): Promise<IteratorResult<Batch>> {
    this.#next ??= this.#iterator.next();
    return this.#next;
  }

  /** One batch; undefined where it ended. */
  async step(): Promise<Batch | undefined> {
    const next = await this.ask();
    this.#next = undefined;
    if (next.done) return undefined;
    addTo(this.folder, next.value);
    this.batches.push(next.value);
    return next.value;
  }

  async reach(through: number): Promise<this> {
    while (this.through < through) {
      const batch = await this.step();
      assert.ok(batch !== undefined, `it ended at ${this.through}, before ${through}`);
    }
    return this;
  }

  /** All that comes until it ends. */
  async end(): Promise<this> {
    while ((await this.step()) !== undefined);
    return this;
  }

  async leave(): Promise<void> {
    await this.#iterator.return?.();
  }
}
