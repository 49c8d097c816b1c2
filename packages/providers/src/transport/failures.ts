import { isMillraceError } from '@millrace/core';
import { isError } from '../errors/redact.ts';
import { WireFault } from '../errors/wire-fault.ts';
import type { DeadlineName } from './deadlines.ts';

/** Who ended it, if not the server: the caller's signal, or a deadline. */
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

/** The connection could not be made, or broke. */
export class NetworkFailure extends Error {}

/** What a fetch or a body threw: the network, unless it is a mistake that no second try would mend. */
export function toTransportFailure(error: unknown): Error {
  if (error instanceof WireFault) return error;
  if (isMillraceError(error)) {
    const report = { message: error.message, codes: [error.code] };
    return new WireFault(report, 'invalid_request', { cause: error });
  }
  return new NetworkFailure(reasonOf(error), { cause: error });
}

const noReason = 'it gave no reason';

function reasonOf(error: unknown): string {
  try {
    return typeof error === 'string' ? error : messageOf(error);
  } catch {
    return noReason;
  }
}

/** Node's fetch says "fetch failed" or "terminated", and what happened in the cause. */
function messageOf(error: unknown): string {
  if (!isError(error)) return noReason;
  const { cause } = error;
  if (!isError(cause)) return error.message;
  // Where several addresses were tried, there is only the code.
  const { code } = cause as { code?: unknown };
  return cause.message || (typeof code === 'string' ? code : error.message);
}
