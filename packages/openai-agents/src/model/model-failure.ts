import { ProviderError, type ResponseEnd } from '@millrace/providers';
import { ModelBehaviorError, type ModelRetryAdvice } from '@openai/agents';
import type { IdentifiedPart } from '../response/to-response.ts';

const partsBeforeFailure = new WeakMap<object, readonly IdentifiedPart[]>();

/**
 * Returns the parts that the model had produced before it failed. The error contains these parts, because the
 * SDK drops unread events when a run fails.
 */
export function partsBefore(error: unknown): readonly IdentifiedPart[] {
  return (typeof error === 'object' && error !== null && partsBeforeFailure.get(error)) || [];
}

/**
 * Returns the error for the SDK if the SDK cannot use a response. Returns undefined if the response is
 * usable. The SDK recognizes an abort by the error's name.
 */
export function toSdkError(
  { error, stop }: ResponseEnd,
  parts: readonly IdentifiedPart[],
): Error | undefined {
  const failure =
    error?.kind === 'aborted' || stop.reason === 'aborted'
      ? abortError(error)
      : (error ?? cutCallsError(stop.reason, parts));
  if (failure !== undefined) partsBeforeFailure.set(failure, parts);
  return failure;
}

function abortError(cause: Error | undefined): Error {
  const error = new Error('The model was stopped before its answer was complete', { cause });
  error.name = 'AbortError';
  return error;
}

/**
 * Returns the error for an incomplete answer with tool calls. Such calls are not run, because the rest of
 * the answer is unknown.
 */
function cutCallsError(
  reason: string,
  parts: readonly IdentifiedPart[],
): ModelBehaviorError | undefined {
  const isCut = reason === 'length' || reason === 'content_filter';
  const calls = parts.filter(({ part }) => part.kind === 'tool_call').length;
  if (!isCut || calls === 0) return undefined;
  return new ModelBehaviorError(
    `The answer was cut off (${reason}) with ${calls} tool calls in it, which are not run. Raise maxTokens, or request less output`,
  );
}

/** Returns the error kind and delay of a Millrace provider error, for the SDK's retry policies. */
export function retryAdvice(error: unknown): ModelRetryAdvice | undefined {
  if (!(error instanceof ProviderError)) return undefined;
  const { kind, retryable, retryAfterMs, status, providerCode } = error;
  const wasRefused = kind === 'rate_limit' || kind === 'overloaded';
  const responseStarted = partsBefore(error).length > 0;
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
