import { isMillraceError } from '@millrace/core';
import { AgentsError } from '@openai/agents';
import { ApplicationFailure, Context } from '@temporalio/activity';

/** How it is stopped: as by an abort, keeping what there is; or at once, because somebody else does it again. */
export interface Signals {
  readonly signal: AbortSignal;
  readonly leave: AbortSignal;
}

/**
 * Work that may be long: it tells Temporal that it lives, and hears when it is to stop. Cancelled means
 * aborted; anything else means that this process is not to do it any more.
 */
export async function alive<T>(work: (signals: Signals) => Promise<T>): Promise<T> {
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
  const beatMs = Math.max(50, (info.heartbeatTimeoutMs ?? 30_000) / 3);
  const timer = setInterval(() => context.heartbeat(), beatMs);
  try {
    return await work({ signal: aborts.signal, leave: leaves.signal });
  } catch (error) {
    throw failureFor(error);
  } finally {
    clearInterval(timer);
    cancellationSignal.removeEventListener('abort', onCancel);
  }
}

/** Errors that have a code are told by it: retry policies go by that. What the SDK refuses, it refuses again. */
function failureFor(error: unknown): unknown {
  if (error instanceof AgentsError)
    return ApplicationFailure.nonRetryable(error.message, error.constructor.name);
  if (!isMillraceError(error)) return error;
  const { message, code } = error;
  return ApplicationFailure.create({ message, type: `millrace.${code}`, cause: error });
}
