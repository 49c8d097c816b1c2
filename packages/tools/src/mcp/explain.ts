import { SdkHttpError } from '@modelcontextprotocol/client';

/** An error in words, with those of its causes that say more. Not redacted, not clipped. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (SdkHttpError.isInstance(error)) return explainHttp(error);
  // `fetch failed` is all that fetch itself says.
  const cause = error.cause instanceof Error ? error.cause : undefined;
  const more = cause === undefined ? [] : [cause.message || codeOf(cause)];
  return [error.message, ...more].filter((text) => text !== '').join(': ') || error.name;
}

function explainHttp({ status, statusText, data, message }: SdkHttpError): string {
  const text = typeof data['text'] === 'string' ? data['text'].trim() : message;
  return [`HTTP ${status}${statusText ? ` ${statusText}` : ''}`, text]
    .filter((part) => part !== '')
    .join(': ');
}

/** Several addresses that were tried make one error without a message. */
function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.name;
}
