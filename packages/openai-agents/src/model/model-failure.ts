import { ProviderError, type ResponseEnd } from '@millrace/providers';
import { ModelBehaviorError, type ModelRetryAdvice } from '@openai/agents';
import type { NamedPart } from '../response/to-response.ts';

const partsBeforeFailure = new WeakMap<object, readonly NamedPart[]>();

/**
 * What the model had said when it failed. The SDK drops events that nobody has read yet when a run
 * fails, and so would lose the last words of it.
 */
export function saidBefore(error: unknown): readonly NamedPart[] {
  return (typeof error === 'object' && error !== null && partsBeforeFailure.get(error)) || [];
}

/** What the SDK is told of a response that it cannot use: it knows an abort by its name. */
export function failureOf(
  { error, stop }: ResponseEnd,
  parts: readonly NamedPart[],
): Error | undefined {
  const failure =
    error?.kind === 'aborted' || stop.reason === 'aborted'
      ? aborted(error)
      : (error ?? cutCalls(stop.reason, parts));
  if (failure !== undefined) partsBeforeFailure.set(failure, parts);
  return failure;
}

function aborted(cause: Error | undefined): Error {
  const error = new Error('The model was stopped before its answer was whole', { cause });
  error.name = 'AbortError';
  return error;
}

/** Calls of an answer that was cut off do not count: nobody knows what else it would have said. */
function cutCalls(reason: string, parts: readonly NamedPart[]): ModelBehaviorError | undefined {
  const isCut = reason === 'length' || reason === 'content_filter';
  const calls = parts.filter(({ part }) => part.kind === 'tool_call').length;
  if (!isCut || calls === 0) return undefined;
  return new ModelBehaviorError(
    `The answer was cut off (${reason}) with ${calls} tool calls in it, which are not run. Raise maxTokens, or ask for less`,
  );
}

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
