import { type Clock, systemClock } from '@millrace/providers';
import { hasPassword } from '../config/file-models.ts';

/** What came of asking a server. */
export type Answer =
  | { readonly outcome: 'answered' }
  /** It is there, and does not take the key. */
  | { readonly outcome: 'refused'; readonly status: number }
  | { readonly outcome: 'other'; readonly status: number }
  | { readonly outcome: 'unreachable'; readonly why: string; readonly advice?: string };

export interface AskOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly timeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly fetch?: typeof fetch | undefined;
}

const usualTimeoutMs = 5000;

const withPassword: Answer = {
  outcome: 'unreachable',
  why: 'its address has a password in it',
  advice: 'Put it into the headers of a model in the configuration: { "authorization": "Basic …" }',
};

/** One GET. Redirects are not followed: they would carry the key elsewhere. */
export async function askEndpoint(url: string, options: AskOptions = {}): Promise<Answer> {
  const { headers = {}, timeoutMs = usualTimeoutMs, clock = systemClock } = options;
  const { fetch = globalThis.fetch } = options;
  if (hasPassword(url)) return withPassword;
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort());
  try {
    const { status, body } = await fetch(url, { headers, redirect: 'manual', signal: late.signal });
    await body?.cancel();
    if (status === 200) return { outcome: 'answered' };
    // Some tell of a wrong key by 400.
    const isRefused = [400, 401, 403].includes(status);
    return { outcome: isRefused ? 'refused' : 'other', status };
  } catch (error) {
    const why = late.signal.aborted ? `no answer within ${timeoutMs} ms` : reasonOf(error);
    return { outcome: 'unreachable', why };
  } finally {
    cancel();
  }
}

/** The code alone: messages of the network name what was sent. */
function reasonOf(error: unknown): string {
  const { cause } = error as { readonly cause?: { readonly code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : 'the connection failed';
}
