import { type JsonObject, noUsage, type Usage } from '@millrace/core';
import { countIn, objectIn } from '../json/fields.ts';

/** What was used; `estimated` where the server left out one of the two sums. */
export function usageOf(usage: JsonObject): Usage {
  const input = countIn(usage, 'input_tokens');
  const output = countIn(usage, 'output_tokens');
  const inputDetails = objectIn(usage, 'input_tokens_details');
  const cacheRead = countIn(inputDetails, 'cached_tokens') ?? 0;
  const cacheWrite = countIn(inputDetails, 'cache_write_tokens') ?? 0;
  const reasoning = countIn(objectIn(usage, 'output_tokens_details'), 'reasoning_tokens') ?? 0;
  // Servers that count reasoning apart are told by their total.
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
