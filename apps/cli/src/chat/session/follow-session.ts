import {
  type AgentEvent,
  agentEvents,
  type Batch,
  emptyState,
  Folder,
  type SessionId,
} from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';

interface FollowOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly signal: AbortSignal;
  /**
   * Called with the events of each batch, in order, and with the last offset of the batch. The next
   * batch is read when the returned promise resolves.
   */
  readonly onEvents: (events: readonly AgentEvent[], through: number) => Promise<void> | undefined;
}

/**
 * Emits all events of a session from its start, and then new events as they arrive. The events may
 * come from any process.
 *
 * Between runs, no content is open, so the folded content is dropped to save memory. The log and
 * the scrollback still contain it.
 */
export async function followSession({
  log,
  session,
  signal,
  onEvents,
}: FollowOptions): Promise<void> {
  let folder = new Folder(session);
  for await (const batch of log.follow(session, { signal })) {
    if (signal.aborted) return;
    const events = foldBatch(folder, batch);
    if (events === undefined) {
      // The batch refers to content that was dropped, so the state is read again from the log.
      folder = new Folder(await snapshot(log, session, { through: batch.after }));
    }
    const handled = onEvents(events ?? foldBatch(folder, batch) ?? [], batch.through);
    if (handled !== undefined) await handled;
    if (isBetweenRuns(folder)) folder = withoutContent(folder);
  }
}

/**
 * Folds a batch and returns its events. Returns undefined if records are missing between the state
 * and the batch.
 */
function foldBatch(folder: Folder, batch: Batch): readonly AgentEvent[] | undefined {
  const events: AgentEvent[] = [];
  const { outcome } = folder.addBatch(batch, (...step) => events.push(...agentEvents(...step)));
  return outcome === 'gap' ? undefined : events;
}

function isBetweenRuns({ state }: Folder): boolean {
  return state.run === undefined && state.open.length === 0;
}

function withoutContent({ state }: Folder): Folder {
  const { session, through, notUnderstood } = state;
  return new Folder({ ...emptyState(session), through, notUnderstood });
}
