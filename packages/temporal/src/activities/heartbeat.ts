import { isMillraceError } from '@millrace/core';
import { ApplicationFailure, Context } from '@temporalio/activity';

/** How work is stopped: as by an abort, keeping what there is; or at once, because another worker does it again. */
export interface LivingSignals {
  readonly signal: AbortSignal;
  readonly leave: AbortSignal;
}

/**
 * Work that may be long: it tells Temporal that it lives, and hears when it is to stop. Cancelled means
 * aborted; anything else means that this process is not to do it any more.
 */
export async function living<T>(work: (signals: LivingSignals) => Promise<T>): Promise<T> {
  const context = Context.current();
  const { cancellationSignal, info } = context;
  const aborts = new AbortController();
  const leaves = new AbortController();
  const onCancel = () => {
    const { reason } = cancellationSignal;
    const isCancelled = reason instanceof Error && reason.message === 'CANCELLED';
    (isCancelled ? aborts : leaves).abort(reason);
  };
  if (cancellationSignal.aborted) onCancel();
  cancellationSignal.addEventListener('abort', onCancel);
  const { heartbeatTimeoutMs } = info;
  const beat = () => context.heartbeat();
  const timer = heartbeatTimeoutMs && setInterval(beat, Math.max(50, heartbeatTimeoutMs / 3));
  try {
    return await failing(() => work({ signal: aborts.signal, leave: leaves.signal }));
  } catch (error) {
    // Not cancelled, but to be done by another worker.
    throw leaves.signal.aborted ? ApplicationFailure.retryable(left, 'millrace.left') : error;
  } finally {
    clearInterval(timer);
    cancellationSignal.removeEventListener('abort', onCancel);
  }
}

const left = 'This worker stopped, or was too late: another one does it again';

/** Errors that have a code are told by it: retry policies go by that. */
export async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const { message, code } = error;
    throw ApplicationFailure.create({ message, type: `millrace.${code}`, cause: error });
  }
}
