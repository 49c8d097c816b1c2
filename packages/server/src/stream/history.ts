import { type Batch, emptyState, Folder, type FoldState, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Step } from './frames/frame-chunk.ts';
import { historyGap, RunFolder } from './run-folder.ts';

/**
 * The number of records between two checkpoints. A client that resumes at an old offset starts at the nearest
 * checkpoint. If there are too many checkpoints, the interval doubles.
 */
const firstInterval = 1024;
const maxCheckpoints = 64;

/**
 * The published part of a session: its current state, and checkpoints of earlier states. The checkpoints
 * start when the feed is opened. The states contain the items of the current run, and possibly some older
 * items.
 */
export class History {
  readonly #folder: RunFolder;
  #checkpoints: FoldState[];
  #interval = firstInterval;
  /** True after an item was redacted. Cached content may then contain redacted text. */
  isStale = false;

  /** Starts with the state of the session when the feed is opened. */
  constructor(state: FoldState) {
    this.#folder = new RunFolder(state);
    this.#checkpoints = [state];
  }

  get state(): FoldState {
    return this.#folder.state;
  }

  /** Adds a batch and returns its steps. Clients must be able to resume at every offset of the batch. */
  add({ through, records }: Batch): readonly Step[] {
    const steps: Step[] = [];
    for (const record of records) {
      if (record.offset <= this.state.through) continue;
      this.#folder.add(record, (before, added, after) => {
        steps.push({ before, record: added, after });
      });
      if (record.fact?.type === 'item_redacted') this.isStale = true;
    }
    this.#folder.advanceTo(through);
    this.#checkpoint();
    return steps;
  }

  /**
   * Returns the latest checkpoint that is not after the offset. Returns undefined if there is no such
   * checkpoint.
   */
  stateBefore(offset: number): FoldState | undefined {
    return this.#checkpoints.findLast(({ through }) => through <= offset);
  }

  /** Removes the checkpoints, because they may contain redacted content. */
  forget(): void {
    this.#checkpoints = [this.state];
    this.isStale = false;
  }

  #checkpoint(): void {
    const last = this.#checkpoints.at(-1)?.through ?? 0;
    if (this.state.through - last < this.#interval) return;
    this.#checkpoints.push(this.state);
    if (this.#checkpoints.length <= maxCheckpoints) return;
    this.#checkpoints = this.#checkpoints.filter((_, index) => index % 2 === 0);
    this.#interval *= 2;
  }
}

/**
 * Computes the state at an offset from the first record on. The state has all items. This is slow for a long
 * session, so it is used only if a record changes an old item.
 */
export async function foldWhole(
  log: Log,
  session: SessionId,
  { through, incarnation }: { readonly through: number; readonly incarnation: string },
): Promise<FoldState> {
  const folder = new Folder(emptyState(session));
  while (folder.state.through < through) {
    const after = folder.state.through;
    const page = await log.read(session, { from: after, incarnation });
    const records = page.records.filter(({ offset }) => offset <= through);
    const end = page.through <= after ? through : Math.min(through, page.through);
    if (folder.addBatch({ after, through: end, records }).outcome === 'gap')
      throw historyGap(session, after);
  }
  return folder.state;
}
