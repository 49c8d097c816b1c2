import type { OtherRequest } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, StreamContext, StreamStep } from '../contract/provider.ts';
import type { ProviderErrorKind } from '../contract/provider-error.ts';
import { wrapProvider } from '../provider/wrap-provider.ts';
import { type Clock, systemClock, within } from '../transport/clock.ts';
import { Attempt, commonInfo, withOthers } from './attempt.ts';
import { checkCounts, checkNames, firstOf } from './check-options.ts';

/** Options of `withFallback`. */
export interface FallbackOptions {
  /**
   * The kinds of errors after which the request goes to the next provider. Default: all kinds that are
   * specific to a provider. An invalid request, refused content and an abort end the request.
   */
  readonly on?: readonly ProviderErrorKind[] | undefined;
  /**
   * The time that a provider may take until its first delta, in milliseconds. After that time, its request is
   * aborted, and the request goes to the next provider. The limit does not apply to the last provider.
   * Default: no limit.
   */
  readonly firstDeltaMs?: number | undefined;
  /** The clock for `firstDeltaMs`. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

const usualErrors: readonly ProviderErrorKind[] = [
  'context_overflow',
  'auth',
  'permission',
  'quota',
  'rate_limit',
  'overloaded',
  'server',
  'network',
  'timeout',
  'truncated_stream',
  'protocol_error',
];

/**
 * Sends the request to the first provider. If that provider fails or is too slow, the request goes to the
 * next one. After a provider has started to answer, it is never replaced. If it then fails, the caller gets
 * the error and decides what to do. The usage of all requests is part of the answer's usage.
 * `details.otherRequests` lists them, and `details.answeredBy` names the provider that answered.
 *
 * @example
 * const provider = withFallback([anthropic({ model: 'claude-sonnet-4-5' }), openaiResponses({ model: 'gpt-5' })], {
 *   on: ['overloaded', 'rate_limit', 'timeout'],
 *   firstDeltaMs: 15_000,
 * });
 */
export function withFallback(
  providers: readonly Provider[],
  options: FallbackOptions = {},
): Provider {
  checkNames('withFallback', options, ['on', 'firstDeltaMs', 'clock']);
  checkCounts('withFallback', { firstDeltaMs: options.firstDeltaMs });
  const first = firstOf('withFallback', providers);
  const wrapped = wrapProvider(first, (request, context) =>
    streamWithFallback([...providers], options, request, context),
  );
  const info = commonInfo(providers);
  return { ...wrapped, ...(info && { info }), ...(first.describe && { describe: first.describe }) };
}

async function* streamWithFallback(
  providers: readonly Provider[],
  { on = usualErrors, firstDeltaMs, clock = systemClock }: FallbackOptions,
  request: ModelRequest,
  context: StreamContext,
): AsyncGenerator<StreamStep> {
  const others: Promise<OtherRequest>[] = [];
  for (const [index, provider] of providers.entries()) {
    const isLast = index === providers.length - 1;
    const attempt = new Attempt(provider, request, context, clock);
    try {
      let step = await within(attempt.opening(), isLast ? undefined : firstDeltaMs, clock);
      if (step === undefined) {
        others.push(attempt.abandon('slow'));
        continue;
      }
      const kind = step.deltas.length === 0 ? step.end?.error?.kind : undefined;
      if (kind !== undefined && !isLast && on.includes(kind) && !context.signal?.aborted) {
        others.push(Promise.resolve(attempt.account(kind)));
        continue;
      }
      for (; step.end === undefined; step = await attempt.next()) yield step;
      const sent = await Promise.all(others);
      yield { ...step, end: withOthers(step.end, sent, index === 0 ? undefined : provider) };
      return;
    } finally {
      attempt.leave();
    }
  }
}
