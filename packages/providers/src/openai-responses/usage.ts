import { type JsonObject, noUsage, type Usage } from '@millrace/core';
import { countIn, objectIn } from '../json/fields.ts';

/** Reads usage. It is marked `estimated` if input or output is missing. */
export function usageOf(usage: JsonObject): Usage {
  const input = countIn(usage, 'input_tokens');
  const output = countIn(usage, 'output_tokens');
  const inputDetails = objectIn(usage, 'input_tokens_details');
  const cacheRead = countIn(inputDetails, 'cached_tokens') ?? 0;
  const cacheWrite = countIn(inputDetails, 'cache_write_tokens') ?? 0;
  const reasoning = countIn(objectIn(usage, 'output_tokens_details'), 'reasoning_tokens') ?? 0;
  // Some servers count reasoning separately. The total reveals it.
  const apart = (input ?? 0) + (output ?? 0) + reasoning;
  const isApart = reasoning > 0 && countIn(usage, 'total_tokens') === apart;
  return {
    ...noUsage,
    input: Math.max(input ?? 0, cacheRead + cacheWrite),
    output: (output ?? 0) + (isApart ? reasoning : 0),
    cacheRead,
    cacheWrite,
    reasoning,
    estimated: input === undefined || output === undefined,
  };
}
