import {
  type AgentEvent,
  agentEvents,
  type Batch,
  emptyState,
  Folder,
  type SessionId,
} from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';

interface Following {
  readonly log: Log;
  readonly session: SessionId;
  readonly signal: AbortSignal;
  /** Called with what each batch says, in order, and with the offset up to which that is all. */
  readonly onEvents: (events: readonly AgentEvent[], through: number) => void;
}

/**
 * Tells a session from its beginning, and goes on with what comes, whoever writes it. Between runs
 * nothing is open, and so nothing is kept: what a long session said is in the log and on the screen.
 */
export async function followSession({ log, session, signal, onEvents }: Following): Promise<void> {
  let folder = new Folder(session);
  for await (const batch of log.follow(session, { signal })) {
    if (signal.aborted) return;
    const told = tell(folder, batch);
    if (told === undefined) {
      // Something spoke of what is not kept here any more. It is in the log.
      folder = new Folder(await snapshot(log, session, { through: batch.after }));
    }
    onEvents(told ?? tell(folder, batch) ?? [], batch.through);
    if (isBetweenRuns(folder)) folder = forgetful(folder);
  }
}

/** Undefined where the batch does not fit what is known. */
function tell(folder: Folder, batch: Batch): readonly AgentEvent[] | undefined {
  const events: AgentEvent[] = [];
  const { outcome } = folder.addBatch(batch, (...step) => events.push(...agentEvents(...step)));
  return outcome === 'gap' ? undefined : events;
}

function isBetweenRuns({ state }: Folder): boolean {
  return state.run === undefined && state.open.length === 0;
}

function forgetful({ state }: Folder): Folder {
  const { session, through, notUnderstood } = state;
  return new Folder({ ...emptyState(session), through, notUnderstood });
}
