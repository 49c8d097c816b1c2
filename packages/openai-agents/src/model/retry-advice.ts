import { ProviderError } from '@millrace/providers';
import type { ModelRetryAdvice } from '@openai/agents';
import { saidBefore } from './model-failure.ts';

/** What a retry policy of the SDK should know of a failure: the taxonomy of Millrace's providers. */
export function retryAdvice(error: unknown): ModelRetryAdvice | undefined {
  if (!(error instanceof ProviderError)) return undefined;
  const { kind, retryable, retryAfterMs, status, providerCode } = error;
  const wasRefused = kind === 'rate_limit' || kind === 'overloaded';
  const responseStarted = saidBefore(error).length > 0;
  return {
    suggested: retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    reason: kind,
    ...(wasRefused && !responseStarted && { replaySafety: 'safe' as const }),
    responseStarted,
    normalized: {
      ...(status !== undefined && { statusCode: status }),
      errorCode: providerCode ?? kind,
      isNetworkError: kind === 'network' || kind === 'timeout' || kind === 'truncated_stream',
    },
  };
}
