import { emptyState, type FoldState, isMillraceError } from '@millrace/core';
import type { Log } from '../../contract/log.ts';
import * as assert from '../assert.ts';
import { Follower, summaryOf } from '../follower.ts';
import type { ReferenceSession } from '../reference/reference-store.ts';
import { nextMacrotask } from '../test-clock.ts';
import { stateOf } from './script.ts';

/** A reader that follows for a while, disconnects, and later resumes from its state. */
export class CutReader {
  readonly session: ReferenceSession;
  #state: FoldState;

  constructor(session: ReferenceSession) {
    this.session = session;
    this.#state = emptyState(session.session);
  }

  /** Resumes, reads at most this many batches, and disconnects. */
  async read(log: Log, batches: number): Promise<void> {
    const follower = new Follower(log, this.#state);
    for (let count = 0; count < batches && follower.through < this.session.through; count++)
      await follower.step();
    await follower.leave();
    this.#state = follower.folder.state;
  }

  /** Resumes for the last time, reads all records, and compares the state with the reference. */
  async check(log: Log): Promise<void> {
    await this.read(log, Number.POSITIVE_INFINITY);
    assert.deepEqual(summaryOf(this.#state), summaryOf(stateOf(this.session)));
  }
}

/** A reader that never disconnects. */
export class UncutReader {
  readonly session: ReferenceSession;
  readonly log: Log;
  readonly #follower: Follower;
  readonly #end: Promise<unknown>;

  constructor(log: Log, session: ReferenceSession) {
    this.session = session;
    this.log = log;
    this.#follower = new Follower(log, session.session);
    this.#end = this.#follower.end().catch((error: unknown) => error);
  }

  /**
   * Checks how the iteration ended. It must end with an error if the session was deleted, and normally if
   * the log was closed.
   */
  async checkEnd(isDeleted: boolean): Promise<void> {
    const end = await this.#end;
    if (!isDeleted) return assert.equal(end, this.#follower);
    assert.equal(isMillraceError(end) && end.code, 'no_session');
  }

  /** Waits until the reader has received the last record. Then it compares the state with the reference. */
  async check(): Promise<void> {
    const failed = this.#end.then((error) => assert.fail(`the reader ended early: ${error}`));
    const receivesAll = async () => {
      while (this.#follower.through < this.session.through) await nextMacrotask();
    };
    await Promise.race([receivesAll(), failed]);
    failed.catch(() => {});
    assert.deepEqual(summaryOf(this.#follower.folder.state), summaryOf(stateOf(this.session)));
  }
}
