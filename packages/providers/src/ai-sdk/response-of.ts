import type { Thrown } from './thrown.ts';

/** The answer that an error tells of: what its status and headers say is read as of any other. */
export function responseOf({ status, headers, isRetryable }: Thrown): Response | undefined {
  if (status === undefined || status < 200 || status > 599) return undefined;
  const known = headersOf(headers);
  const isUsuallyRetried = status === 408 || status === 409 || status === 429 || status >= 500;
  // The package's default follows the status. Where it says otherwise, the provider did.
  if (status >= 400 && isRetryable !== isUsuallyRetried && !known.has('x-should-retry')) {
    known.set('x-should-retry', String(isRetryable));
  }
  return new Response(null, { status, headers: known });
}

/** Headers as packages have them: a plain object. What is no header is left out. */
export function headersOf(given: unknown): Headers {
  const headers = new Headers();
  const entries = typeof given === 'object' && given !== null ? Object.entries(given) : [];
  for (const [name, value] of entries) {
    try {
      if (typeof value === 'string') headers.set(name, value);
    } catch {
      // Node's fetch refuses names and values that other transports let through.
    }
  }
  return headers;
}
