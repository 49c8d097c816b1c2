import { type JsonObject, noUsage, type Usage } from '@millrace/core';
import { billedIn, reportedCosts } from '../answer/reported-details.ts';
import { countIn, objectIn } from '../json/fields.ts';

/** Reads the usage. `estimated` is true if input or output is missing. */
export function usageOf(usage: JsonObject): Usage {
  const input = countIn(usage, 'input_tokens');
  const output = countIn(usage, 'output_tokens');
  const inputDetails = objectIn(usage, 'input_tokens_details');
  const cacheRead = countIn(inputDetails, 'cached_tokens') ?? 0;
  const cacheWrite = countIn(inputDetails, 'cache_write_tokens') ?? 0;
  const reasoning = countIn(objectIn(usage, 'output_tokens_details'), 'reasoning_tokens') ?? 0;
  // Some servers do not count reasoning as output. Their total then also includes the reasoning tokens.
  const apart = (input ?? 0) + (output ?? 0) + reasoning;
  const isApart = reasoning > 0 && countIn(usage, 'total_tokens') === apart;
  const billed = billedOf(usage);
  return {
    ...noUsage,
    input: Math.max(input ?? 0, cacheRead + cacheWrite),
    output: (output ?? 0) + (isApart ? reasoning : 0),
    cacheRead,
    cacheWrite,
    reasoning,
    estimated: input === undefined || output === undefined,
    costs: reportedCosts(usage),
    ...(billed === undefined ? {} : { billed }),
  };
}

/** Returns the number of searches and other hosted tool calls, which xAI reports. */
function billedOf(usage: JsonObject): Readonly<Record<string, number>> | undefined {
  const details = objectIn(usage, 'server_side_tool_usage_details');
  const calls = countIn(usage, 'num_server_side_tools_used');
  const sources = countIn(usage, 'num_sources_used');
  return billedIn(
    calls === undefined || details !== undefined
      ? undefined
      : { num_server_side_tools_used: calls },
    sources === undefined ? undefined : { num_sources_used: sources },
    details,
  );
}
