import type { Complaint } from './complaint.ts';
import type { ProviderErrorKind } from './provider-error.ts';

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
