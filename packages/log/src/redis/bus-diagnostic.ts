/** What somebody who runs it may want to know. Nothing is lost by any of it but time. */
export interface BusDiagnostic {
  readonly code: /** Redis does not answer; readers look at the store meanwhile. Told once, until it does again. */
    | 'unreachable'
    | 'reachable'
    /** Copies went without their records, or not at all: Redis is too slow, or full. */
    | 'dropped'
    /** Something in Redis is not ours, or not whole. */
    | 'unreadable'
    /** Redis lost what it had. */
    | 'flushed';
  readonly message: string;
}

export type OnBusDiagnostic = (diagnostic: BusDiagnostic) => void;

/** What may be said of an error of Redis: ioredis puts the command into it, and with it the password. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  // Replies of Redis begin with a word for programs: WRONGPASS, NOAUTH, OOM, LOADING …
  const [word] = /^[A-Z]{2,}\b/.exec(error.message) ?? [];
  return word ?? (error instanceof NoAnswer ? error.message : 'the connection was cut');
}

/** Redis said nothing for too long. */
export class NoAnswer extends Error {
  constructor(timeoutMs: number) {
    super(`no answer in ${timeoutMs} ms`);
  }
}
