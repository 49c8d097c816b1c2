import type { ProviderErrorKind } from '../contract/provider-error.ts';

/** What a provider said about a failure, read from whichever shape it has. */
export interface ErrorReport {
  /** In full: it is cut only after keys were taken out of it. */
  readonly message: string;
  /** The HTTP status that the error itself names. */
  readonly status?: number | undefined;
  /** Its words for it: code, type, status. The first is the one to show. */
  readonly codes: readonly string[];
  readonly requestId?: string | undefined;
  /** How long it asks to wait. */
  readonly retryAfterMs?: number | undefined;
}

/** Thrown by what reads a stream: the provider complained, or its stream is not what the wire allows. */
export class WireFault extends Error {
  readonly report: ErrorReport;
  /** Where the kind is known, and need not be read from the report. */
  readonly kind: ProviderErrorKind | undefined;

  constructor(report: ErrorReport, kind?: ProviderErrorKind, options?: ErrorOptions) {
    super(report.message, options);
    this.report = report;
    this.kind = kind;
  }
}

/** A fault that we noticed, rather than the provider. */
export function fault(kind: ProviderErrorKind, message: string, code?: string): WireFault {
  return new WireFault({ message, codes: code === undefined ? [] : [code] }, kind);
}
