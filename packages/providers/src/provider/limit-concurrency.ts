import { noUsage } from '@millrace/core';
import type { Provider, StreamStep } from '../contract/provider.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { messageFor } from '../errors/error-message.ts';
import { isCount } from '../transport/check-number.ts';
import { Semaphore } from '../transport/semaphore.ts';
import { type ProviderWrapper, wrapProvider } from './wrap-provider.ts';

/** Options of `limitConcurrency`. */
export interface ConcurrencyOptions {
  /** Maximum number of concurrent streams. `Infinity` means no limit. */
  readonly maxConcurrent: number;
}

/**
 * Limits the number of concurrent streams of a provider. Further streams wait in the order in which their
 * first steps were requested. All users of the returned provider share the limit, even if they are different
 * agents. A stream occupies a slot until it ends, is aborted, or its reader returns. A caller that stops
 * reading must abort or return.
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
  // The limit only delays requests and does not change their content, so `describe` stays the same.
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

function waitForPlace(provider: string, semaphore: Semaphore): ProviderWrapper {
  return async function* (request, context, next) {
    const { signal } = context;
    const release = await acquire(semaphore, signal);
    if (release === undefined) return yield abortedStep(provider, signal);
    // On an abort, the slot is released, because the caller may stop reading.
    signal?.addEventListener('abort', release, { once: true });
    try {
      for await (const step of next(request, context)) {
        // The last step releases the slot, because the caller may stop reading after it.
        if (step.end !== undefined) release();
        yield step;
      }
    } finally {
      signal?.removeEventListener('abort', release);
      release();
    }
  };
}

/**
 * Waits for a free slot and returns a function that releases it. Returns undefined if the request was aborted
 * while it waited.
 */
async function acquire(
  semaphore: Semaphore,
  signal: AbortSignal | undefined,
): Promise<(() => void) | undefined> {
  const release = await semaphore.acquire(signal).catch(() => undefined);
  // The signal may abort at the same moment at which the slot becomes free.
  if (!signal?.aborted) return release;
  release?.();
  return undefined;
}

/** Returns the last step of a request that was never sent and therefore used no tokens. */
function abortedStep(provider: string, signal: AbortSignal | undefined): StreamStep {
  const message = messageFor('aborted', provider, 'the request was still waiting in the queue');
  const error = new ProviderError('aborted', message, { provider, cause: signal?.reason });
  const stop = { reason: 'aborted', cause: error.kind } as const;
  return { deltas: [], end: { stop, usage: noUsage, error } };
}
