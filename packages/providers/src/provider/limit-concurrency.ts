import { noUsage } from '@millrace/core';
import type { Provider, StreamStep } from '../contract/provider.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { messageFor } from '../errors/error-message.ts';
import { isCount } from '../transport/check-number.ts';
import { Semaphore } from '../transport/semaphore.ts';
import { type Wrapper, wrapProvider } from './wrap-provider.ts';

export interface ConcurrencyOptions {
  /** How many streams may be under way at once; without a limit it is `Infinity`. */
  readonly maxConcurrent: number;
}

/**
 * The same provider with at most so many streams under way at once; the others wait in the order in
 * which their first steps were asked for. Whoever uses the provider that is returned shares the
 * limit, be they many agents. A stream keeps its place until its end, its abort, or until its reader
 * leaves: whoever stops reading should do one of these.
 *
 * @example
 * const limited = limitConcurrency(provider, { maxConcurrent: 4 });
 * const answers = await Promise.all(requests.map((request) => limited.complete(request)));
 */
export function limitConcurrency(provider: Provider, options: ConcurrencyOptions): Provider {
  const { describe } = provider;
  const limited = wrapProvider(
    provider,
    waitForPlace(provider.id, createSemaphore(provider.id, options)),
  );
  // Only when it is sent changes, not what.
  return { ...limited, ...(describe && { describe }) };
}

function createSemaphore(provider: string, { maxConcurrent }: ConcurrencyOptions): Semaphore {
  if (isCount(maxConcurrent)) return new Semaphore(maxConcurrent);
  const given = typeof maxConcurrent === 'number' ? maxConcurrent : `a ${typeof maxConcurrent}`;
  const message = `Cannot limit ${provider} to ${given} as maxConcurrent`;
  throw new ProviderError('invalid_request', `${message}: use a whole number of 1 or more`, {
    provider,
  });
}

function waitForPlace(provider: string, semaphore: Semaphore): Wrapper {
  return async function* (request, context, next) {
    const { signal } = context;
    const release = await acquire(semaphore, signal);
    if (release === undefined) return yield abortedStep(provider, signal);
    // Perhaps nobody reads on what was aborted.
    signal?.addEventListener('abort', release, { once: true });
    try {
      for await (const step of next(request, context)) {
        // Nobody need read on after an end.
        if (step.end !== undefined) release();
        yield step;
      }
    } finally {
      signal?.removeEventListener('abort', release);
      release();
    }
  };
}

/** What gives the place back; undefined where it was aborted while it waited. */
async function acquire(
  semaphore: Semaphore,
  signal: AbortSignal | undefined,
): Promise<(() => void) | undefined> {
  const release = await semaphore.acquire(signal).catch(() => undefined);
  // It may have been stopped in the moment in which its turn came.
  if (!signal?.aborted) return release;
  release?.();
  return undefined;
}

/** The end of what was never asked, and so used nothing. */
function abortedStep(provider: string, signal: AbortSignal | undefined): StreamStep {
  const message = messageFor('aborted', provider, 'the request was still waiting for its turn');
  const error = new ProviderError('aborted', message, { provider, cause: signal?.reason });
  const stop = { reason: 'aborted', cause: error.kind } as const;
  return { deltas: [], end: { stop, usage: noUsage, error } };
}
