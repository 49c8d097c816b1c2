import type { JsonObject, Usage as MillraceUsage } from '@millrace/core';
import type { ResponseEnd } from '@millrace/providers';
import type { StreamEventResponseCompleted } from '@openai/agents';
import { type NamedPart, toOutputItems } from './to-output-items.ts';

export type SdkResponse = StreamEventResponseCompleted['response'];

/** A whole answer, as the SDK has it. */
export function toResponse(
  parts: readonly NamedPart[],
  { stop, usage, responseId, model }: ResponseEnd,
  fallbackId: string,
): SdkResponse {
  return {
    id: responseId ?? fallbackId,
    output: toOutputItems(parts, stop) as SdkResponse['output'],
    usage: toUsage(usage),
    rawUsage: { ...usage },
    providerData: { stop: { ...stop } as JsonObject, ...(model !== undefined && { model }) },
  };
}

function toUsage({ input, output, cacheRead, cacheWrite, reasoning }: MillraceUsage) {
  return {
    requests: 1,
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    inputTokensDetails: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
    outputTokensDetails: { reasoning_tokens: reasoning },
  };
}
