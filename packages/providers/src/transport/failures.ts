import { isMillraceError } from '@millrace/core';
import { isError, WireFault } from '../errors/wire-fault.ts';
import type { DeadlineName } from './deadlines.ts';

/** The reason why a request was interrupted: the caller's abort signal, or a timeout. */
export type Interruption =
  | { readonly by: 'signal'; readonly reason: unknown }
  | { readonly by: 'deadline'; readonly deadline: DeadlineName; readonly afterMs: number };

export class Interrupted extends Error {
  readonly interruption: Interruption;

  constructor(interruption: Interruption) {
    super(`interrupted by ${interruption.by}`);
    this.interruption = interruption;
  }
}

/** Thrown if the connection could not be opened, or was lost. */
export class NetworkFailure extends Error {}

/**
 * Converts an error of fetch or of a response body to a network failure. Programming errors are not
 * converted, because a retry cannot fix them.
 */
export function toTransportFailure(error: unknown): Error {
  if (error instanceof WireFault) return error;
  if (isMillraceError(error)) {
    const report = { message: error.message, codes: [error.code] };
    return new WireFault(report, 'invalid_request', { cause: error });
  }
  return new NetworkFailure(reasonOf(error), { cause: error });
}

const noReason = 'there is no reason';

function reasonOf(error: unknown): string {
  try {
    return typeof error === 'string' ? error : messageOf(error);
  } catch {
    return noReason;
  }
}

/**
 * Returns the message of an error. Node's fetch throws "fetch failed" or "terminated", and its `cause`
 * contains the real reason.
 */
function messageOf(error: unknown): string {
  if (!isError(error)) return noReason;
  const { cause } = error;
  if (!isError(cause)) return error.message;
  // If several addresses were tried, the cause has a code but no message.
  const { code } = cause as { code?: unknown };
  return cause.message || (typeof code === 'string' ? code : error.message);
}
