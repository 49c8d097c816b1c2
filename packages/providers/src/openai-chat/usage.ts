import { type Cost, type JsonObject, noUsage, type Usage } from '@millrace/core';
import { countIn, objectIn } from '../json/fields.ts';

/** Reads usage. Servers report the same counts under different names. */
export function readUsage(usage: JsonObject): Usage {
  const prompt = countIn(usage, 'prompt_tokens') ?? countIn(usage, 'input_tokens') ?? 0;
  const completion = countIn(usage, 'completion_tokens') ?? countIn(usage, 'output_tokens') ?? 0;
  const total = countIn(usage, 'total_tokens');
  const reasoning = reasoningOf(usage);
  const cacheRead = cacheReadOf(usage);
  // Some servers count reasoning, and sometimes cached tokens, separately. The total reveals it, or
  // that there is more reasoning than output.
  const isBeside =
    reasoning > completion || (reasoning > 0 && total === prompt + completion + reasoning);
  return {
    ...noUsage,
    input: cacheRead > prompt ? prompt + cacheRead : prompt,
    output: isBeside ? completion + reasoning : completion,
    cacheRead,
    cacheWrite: cacheWriteOf(usage),
    reasoning,
    costs: costsOf(usage),
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

/** OpenRouter reports what it charged, in US dollars. */
function costsOf(usage: JsonObject): readonly Cost[] {
  const { cost } = usage;
  const isCost = typeof cost === 'number' && cost > 0 && cost < 1e9;
  return isCost ? [{ amount: cost.toFixed(12).replace(/\.?0+$/, ''), currency: 'USD' }] : [];
}
