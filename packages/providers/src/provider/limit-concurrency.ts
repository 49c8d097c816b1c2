import { noUsage } from '@millrace/core';
import type { Provider, StreamStep } from '../contract/provider.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { messageFor } from '../errors/error-message.ts';
import { isCount } from '../transport/check-number.ts';
import { Gate } from '../transport/semaphore.ts';
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
 * const polite = limitConcurrency(provider, { maxConcurrent: 4 });
 * const answers = await Promise.all(requests.map((request) => polite.complete(request)));
 */
export function limitConcurrency(provider: Provider, options: ConcurrencyOptions): Provider {
  const { describe } = provider;
  const polite = wrapProvider(provider, admitted(provider.id, gateOf(provider.id, options)));
  // Only when it is sent changes, not what.
  return { ...polite, ...(describe && { describe }) };
}

function gateOf(provider: string, { maxConcurrent }: ConcurrencyOptions): Gate {
  if (isCount(maxConcurrent)) return new Gate(maxConcurrent);
  const given = typeof maxConcurrent === 'number' ? maxConcurrent : `a ${typeof maxConcurrent}`;
  const message = `Cannot limit ${provider} to ${given} as maxConcurrent`;
  throw new ProviderError('invalid_request', `${message}: use a whole number of 1 or more`, {
    provider,
  });
}

function admitted(provider: string, gate: Gate): Wrapper {
  return async function* (request, context, next) {
    const { signal } = context;
    const leave = await turn(gate, signal);
    if (leave === undefined) return yield stopped(provider, signal);
    // Perhaps nobody reads on what was aborted.
    signal?.addEventListener('abort', leave, { once: true });
    try {
      for await (const step of next(request, context)) {
        // Nobody need read on after an end.
        if (step.end !== undefined) leave();
        yield step;
      }
    } finally {
      signal?.removeEventListener('abort', leave);
      leave();
    }
  };
}

/** What gives the place back; undefined where it was aborted while it waited. */
async function turn(
  gate: Gate,
  signal: AbortSignal | undefined,
): Promise<(() => void) | undefined> {
  const leave = await gate.enter(signal).catch(() => undefined);
  // It may have been stopped in the moment in which its turn came.
  if (!signal?.aborted) return leave;
  leave?.();
  return undefined;
}

/** The end of what was never asked, and so used nothing. */
function stopped(provider: string, signal: AbortSignal | undefined): StreamStep {
  const message = messageFor('aborted', provider, 'the request was still waiting for its turn');
  const error = new ProviderError('aborted', message, { provider, cause: signal?.reason });
  const stop = { reason: 'aborted', cause: error.kind } as const;
  return { deltas: [], end: { stop, usage: noUsage, error } };
}
