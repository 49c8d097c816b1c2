import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { explain } from './explain.ts';
import { lostStream } from './http-transport.ts';
import { UnsentError } from './unsent-error.ts';

/** What became of a call that gave no result. */
export type CallFailure =
  /** The server did nothing about it. Where it is worth another try, that is over a new connection. */
  | { readonly kind: 'undone'; readonly why: string; readonly isRetryable: boolean }
  /** The connection broke, and nobody knows how far the call came. */
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'timed_out' }
  /** It wants something in return that we do not have. */
  | { readonly kind: 'asked_back' }
  /** The server is there, and said no or something that cannot be read. */
  | { readonly kind: 'refused'; readonly why: string };

export function callFailure(error: unknown): CallFailure {
  const why = explain(error);
  if (isUnsent(error)) return { kind: 'undone', why, isRetryable: true };
  if (ProtocolError.isInstance(error)) {
    if (error.data === lostStream) return { kind: 'lost', why: '' };
    return { kind: 'refused', why: `MCP error ${error.code}: ${error.message}` };
  }
  if (SdkHttpError.isInstance(error)) return httpFailure(error.status, why);
  return SdkError.isInstance(error) ? sdkFailure(error.code, why) : { kind: 'lost', why };
}

const unsentCodes: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'];

function isUnsent(error: unknown): boolean {
  if (error instanceof UnsentError) return true;
  if (!(error instanceof Error)) return false;
  // What fetch met is the cause of what it throws; the second is how the client says that it is closed.
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return unsentCodes.includes(code) || error.message === 'Not connected';
}

/** With 404 a server says that it forgot the session, and wants to be greeted again. */
function httpFailure(status: number, why: string): CallFailure {
  if (status >= 500) return { kind: 'lost', why };
  return { kind: 'undone', why, isRetryable: status === 404 };
}

function sdkFailure(code: SdkErrorCode, why: string): CallFailure {
  switch (code) {
    case SdkErrorCode.RequestTimeout:
      return { kind: 'timed_out' };
    case SdkErrorCode.ConnectionClosed:
      return { kind: 'lost', why: '' };
    case SdkErrorCode.UnsupportedResultType:
      return { kind: 'asked_back' };
    case SdkErrorCode.InvalidResult:
      return { kind: 'refused', why: `its result cannot be read: ${why}` };
    default:
      return { kind: 'lost', why };
  }
}
