import {
  type AgentEvent,
  agentEvents,
  type Batch,
  Folder,
  type FoldState,
  type RunId,
  type SessionId,
  stateAfterRun,
} from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';

/** A place in a session at which no content is open. A fold can start there without the earlier records. */
export interface QuietPlace {
  /** The offset of the last record before the place. */
  readonly through: number;
  /** The run that is in progress. Undefined between two runs. */
  readonly run: RunId | undefined;
}

/** The start of a session. */
export const sessionStart: QuietPlace = { through: 0, run: undefined };

/** The events of a batch, and the place after it. */
export interface EventBatch extends Pick<QuietPlace, 'through'> {
  readonly events: readonly AgentEvent[];
  /** True if no content is open after the batch. */
  readonly isQuiet: boolean;
}

interface FollowOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly signal: AbortSignal;
  /** The place after which to start. Default: the start of the session. */
  readonly from?: QuietPlace | undefined;
  /** The incarnation that `from` belongs to. Default: not checked. */
  readonly incarnation?: string | undefined;
  /**
   * Called with the events of each batch, in order. The next batch is read when the returned promise resolves.
   */
  readonly onEvents: (batch: EventBatch) => Promise<void> | undefined;
}

/**
 * Emits the events of a session after a place, and then new events as they arrive. The events may come from any
 * process.
 *
 * Between runs, no content is open, so the folded content is dropped to save memory. The log and
 * the scrollback still contain it.
 */
export async function followSession(options: FollowOptions): Promise<void> {
  const { log, session, signal, incarnation, from = sessionStart, onEvents } = options;
  const folder = new EventFolder(session, from);
  const start = { from: from.through, incarnation, signal };
  for await (const batch of log.follow(session, start)) {
    if (signal.aborted) return;
    let folded = folder.add(batch);
    if (folded === undefined) {
      // The batch refers to content that was dropped, so the state is read again from the log.
      folder.reset(await snapshot(log, session, { through: batch.after }));
      folded = folder.add(batch) ?? { events: [], through: batch.through, isQuiet: false };
    }
    const handled = onEvents(folded);
    if (handled !== undefined) await handled;
  }
}

/** Folds batches to events, from a place at which no content is open. It keeps only the content of the open run. */
export class EventFolder {
  #folder: Folder;

  constructor(session: SessionId, from: QuietPlace) {
    this.#folder = new Folder(stateAt(session, from));
  }

  /** Continues with a state that has the content of all records. */
  reset(state: FoldState): void {
    this.#folder = new Folder(state);
  }

  /**
   * Folds a batch and returns its events. Returns undefined if records are missing between the state
   * and the batch.
   */
  add(batch: Batch): EventBatch | undefined {
    const events: AgentEvent[] = [];
    const { outcome, state } = this.#folder.addBatch(batch, (...step) =>
      events.push(...agentEvents(...step)),
    );
    if (outcome === 'gap') return undefined;
    const isQuiet = hasNoOpenContent(state);
    if (isQuiet && state.run === undefined)
      this.#folder = new Folder({
        ...stateAt(state.session, { through: state.through, run: undefined }),
        notUnderstood: state.notUnderstood,
      });
    return { events, through: state.through, isQuiet };
  }
}

function hasNoOpenContent({ open, asked, awaited, superseded, gone }: FoldState): boolean {
  return [open, asked, awaited, superseded, gone].every(({ length }) => length === 0);
}

/** Returns the state at a place. Old items are missing in it, as the records after it do not change them. */
function stateAt(session: SessionId, { through, run }: QuietPlace): FoldState {
  if (through === 0) return new Folder(session).state;
  return { ...stateAfterRun(session, through), run };
}
