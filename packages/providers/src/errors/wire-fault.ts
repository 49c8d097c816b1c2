import type { ProviderErrorKind } from '../contract/provider-error.ts';

/** What a provider said about a failure, read from whichever shape it has. */
export interface Complaint {
  /** In full: it is cut only after keys were taken out of it. */
  readonly message: string;
  /** The HTTP status that the error itself names. */
  readonly status?: number | undefined;
  /** Its words for it: code, type, status. The first is the one to show. */
  readonly words: readonly string[];
  readonly requestId?: string | undefined;
  /** How long it asks to wait. */
  readonly retryAfterMs?: number | undefined;
}

/** Thrown by what reads a stream: the provider complained, or its stream is not what the wire allows. */
export class WireFault extends Error {
  readonly complaint: Complaint;
  /** Where the kind is known, and need not be read from the complaint. */
  readonly kind: ProviderErrorKind | undefined;

  constructor(complaint: Complaint, kind?: ProviderErrorKind, options?: ErrorOptions) {
    super(complaint.message, options);
    this.complaint = complaint;
    this.kind = kind;
  }
}

/** A fault that we noticed, rather than the provider. */
export function fault(kind: ProviderErrorKind, message: string, word?: string): WireFault {
  return new WireFault({ message, words: word === undefined ? [] : [word] }, kind);
}
