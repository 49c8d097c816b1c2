import { isJsonObject, type JsonValue } from '@millrace/core';
import type { ProviderErrorKind } from '../contract/provider-error.ts';

/** An error that a provider reported, in a form that is the same for all providers. */
export interface ErrorReport {
  /** The complete message. It is shortened only after keys were removed. */
  readonly message: string;
  /** The HTTP status that the error report itself contains. */
  readonly status?: number | undefined;
  /** The provider's codes, types and status names. Messages for the user contain the first one. */
  readonly codes: readonly string[];
  readonly requestId?: string | undefined;
  /** A text in which the provider may request a delay. */
  readonly delayText?: string | undefined;
}

/**
 * Thrown while a request is built or a stream is read, if the provider reported an error or the data violates
 * the protocol.
 */
export class WireFault extends Error {
  readonly report: ErrorReport;
  /** The kind, if it is already known. Otherwise it is derived from the report. */
  readonly kind: ProviderErrorKind | undefined;

  constructor(report: ErrorReport, kind?: ProviderErrorKind, options?: ErrorOptions) {
    super(report.message, options);
    this.report = report;
    this.kind = kind;
  }
}

/**
 * Thrown if the body of a response, or one of its messages, reports an error. The report is read later, by
 * code that loads on demand.
 */
export class ReportedFault extends Error {
  readonly body: JsonValue | undefined;
  /**
   * The text of the message, if the name of its event is `error`. Otherwise undefined, because the body
   * describes the error.
   */
  readonly text: string | undefined;

  constructor(body: JsonValue | undefined, text?: string) {
    super('the provider reported an error');
    this.body = body;
    this.text = text;
  }
}

/** Returns whether a JSON body or message reports an error. */
export function reportsError(body: JsonValue | undefined): boolean {
  if (Array.isArray(body)) return reportsError(body[0]);
  if (!isJsonObject(body)) return false;
  const { error, object, type } = body;
  if (isJsonObject(error) && Object.keys(error).length > 0) return true;
  return (typeof error === 'string' && error !== '') || object === 'error' || type === 'error';
}

/** Creates a fault that this package detected itself. */
export function fault(kind: ProviderErrorKind, message: string, code?: string): WireFault {
  return new WireFault({ message, codes: code === undefined ? [] : [code] }, kind);
}

/** Creates a fault for an error that code outside this package threw. */
export function faultBy(cause: unknown, kind: ProviderErrorKind, message: string): WireFault {
  return new WireFault({ message, codes: [] }, kind, { cause });
}

/**
 * Returns whether a value is an error. The error may come from a different JavaScript realm or a different
 * copy of a class. Any object with a name and a message is accepted.
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
