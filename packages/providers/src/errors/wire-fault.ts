import type { ProviderErrorKind } from '../contract/provider-error.ts';

/** An error as the provider reported it, independent of its format. */
export interface ErrorReport {
  /** The complete message. It is shortened only after keys were removed from it. */
  readonly message: string;
  /** The HTTP status that the error itself contains. */
  readonly status?: number | undefined;
  /** The provider's code, type and status names. The first one is shown to the user. */
  readonly codes: readonly string[];
  readonly requestId?: string | undefined;
  /** The text in which the provider may ask the client to wait. */
  readonly delayText?: string | undefined;
}

/**
 * Thrown while a request is built or a stream is read: the provider reported an error, or the data
 * breaks the protocol.
 */
export class WireFault extends Error {
  readonly report: ErrorReport;
  /** Set if the kind is already known. Otherwise it is derived from the report. */
  readonly kind: ProviderErrorKind | undefined;

  constructor(report: ErrorReport, kind?: ProviderErrorKind, options?: ErrorOptions) {
    super(report.message, options);
    this.report = report;
    this.kind = kind;
  }
}

/** Creates a fault that this package detected, not the provider. */
export function fault(kind: ProviderErrorKind, message: string, code?: string): WireFault {
  return new WireFault({ message, codes: code === undefined ? [] : [code] }, kind);
}

/** Creates a fault for an error that somebody else threw. */
export function faultBy(cause: unknown, kind: ProviderErrorKind, message: string): WireFault {
  return new WireFault({ message, codes: [] }, kind, { cause });
}

/**
 * True for errors, also from another realm or another copy of a class. Any object with a name and a
 * message counts.
 */
export function isError(value: unknown): value is Error {
  if (value instanceof Error) return true;
  if (typeof value !== 'object' || value === null) return false;
  return (
    'name' in value &&
    typeof value.name === 'string' &&
    'message' in value &&
    typeof value.message === 'string'
  );
}
