import { isMillraceError } from '@millrace/core';
import { ApplicationFailure, Context } from '@temporalio/activity';

/**
 * The signals that stop an activity. `signal` aborts the work and keeps its partial result. `leave` stops the
 * work immediately, because another worker will repeat it.
 */
export interface HeartbeatSignals {
  readonly signal: AbortSignal;
  readonly leave: AbortSignal;
}

/**
 * Runs long work in an activity with heartbeats. A Temporal cancellation aborts `signal`. Any other stop,
 * for example a worker shutdown, aborts `leave`. The activity then fails with a retryable error.
 */
export async function withHeartbeat<T>(
  work: (signals: HeartbeatSignals) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const { cancellationSignal, info } = context;
  const abortController = new AbortController();
  const leaveController = new AbortController();
  const onCancel = () => {
    const { reason } = cancellationSignal;
    const isCancelled = reason instanceof Error && reason.message === 'CANCELLED';
    (isCancelled ? abortController : leaveController).abort(reason);
  };
  if (cancellationSignal.aborted) onCancel();
  cancellationSignal.addEventListener('abort', onCancel);
  const { heartbeatTimeoutMs } = info;
  const beat = () => context.heartbeat();
  const timer = heartbeatTimeoutMs && setInterval(beat, Math.max(50, heartbeatTimeoutMs / 3));
  try {
    return await withFailureTypes(() =>
      work({ signal: abortController.signal, leave: leaveController.signal }),
    );
  } catch (error) {
    // The activity was not cancelled, so Temporal retries it on another worker.
    throw leaveController.signal.aborted
      ? ApplicationFailure.retryable(leftMessage, 'millrace.left')
      : error;
  } finally {
    clearInterval(timer);
    cancellationSignal.removeEventListener('abort', onCancel);
  }
}

const leftMessage =
  'This worker stopped or missed its deadline; another worker retries the activity';

/**
 * Runs work, and converts Millrace errors to application failures. The type of a failure contains the
 * error code, which retry policies use.
 */
export async function withFailureTypes<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const { message, code } = error;
    throw ApplicationFailure.create({ message, type: `millrace.${code}`, cause: error });
  }
}
