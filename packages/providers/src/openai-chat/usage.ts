import { type JsonObject, noUsage, type ResponseTimings, type Usage } from '@millrace/core';
import { billedIn, knownNumbers, millisOf, reportedCosts } from '../answer/reported-details.ts';
import { countIn, objectIn } from '../json/fields.ts';

/** Reads usage. Servers report the same counts under different names. */
export function readUsage(usage: JsonObject): Usage {
  const prompt = countIn(usage, 'prompt_tokens') ?? countIn(usage, 'input_tokens') ?? 0;
  const completion = countIn(usage, 'completion_tokens') ?? countIn(usage, 'output_tokens') ?? 0;
  const total = countIn(usage, 'total_tokens');
  const reasoning = reasoningOf(usage);
  const cacheRead = cacheReadOf(usage);
  const billed = billedOf(usage);
  // Some servers do not count reasoning as output, and some do not count cached tokens as input. The total
  // shows this. A reasoning count that is larger than the output shows it too.
  const isBeside =
    reasoning > completion || (reasoning > 0 && total === prompt + completion + reasoning);
  return {
    ...noUsage,
    input: cacheRead > prompt ? prompt + cacheRead : prompt,
    output: isBeside ? completion + reasoning : completion,
    cacheRead,
    cacheWrite: cacheWriteOf(usage),
    reasoning,
    costs: reportedCosts(usage),
    ...(billed === undefined ? {} : { billed }),
  };
}

function reasoningOf(usage: JsonObject): number {
  const details =
    objectIn(usage, 'completion_tokens_details') ?? objectIn(usage, 'output_tokens_details');
  return countIn(details, 'reasoning_tokens') ?? countIn(usage, 'reasoning_tokens') ?? 0;
}

function cacheReadOf(usage: JsonObject): number {
  const details =
    objectIn(usage, 'prompt_tokens_details') ?? objectIn(usage, 'prompt_token_details');
  return (
    countIn(details, 'cached_tokens') ??
    countIn(usage, 'prompt_cache_hit_tokens') ??
    countIn(usage, 'num_cached_tokens') ??
    countIn(usage, 'cached_tokens') ??
    0
  );
}

function cacheWriteOf(usage: JsonObject): number {
  return countIn(objectIn(usage, 'prompt_tokens_details'), 'cache_write_tokens') ?? 0;
}

/**
 * Returns the searches and other services that servers bill besides tokens. The keys are the names that the
 * servers use.
 */
function billedOf(usage: JsonObject): Readonly<Record<string, number>> | undefined {
  const named = ['num_sources_used', 'num_search_queries'].flatMap((name) => {
    const count = countIn(usage, name);
    return count === undefined ? [] : [[name, count] as const];
  });
  return billedIn(
    Object.fromEntries(named),
    objectIn(usage, 'server_tool_use'),
    objectIn(usage, 'server_side_tool_usage_details'),
  );
}

/** Returns the times in a usage report, which some servers send in seconds. */
export function timingsOf(usage: JsonObject | undefined): ResponseTimings | undefined {
  return knownNumbers({
    queueMs: millisOf(usage?.['queue_time']),
    inputMs: millisOf(usage?.['prompt_time']),
    outputMs: millisOf(usage?.['completion_time']),
    totalMs: millisOf(usage?.['total_time']),
  });
}
