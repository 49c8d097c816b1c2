import { isJsonObject, type JsonObject, noUsage, type Usage } from '@millrace/core';
import { countIn, objectIn } from '../json/fields.ts';
import type { PartOf } from './model.ts';
import { toJsonValue } from './part-state.ts';

/**
 * The usage that the model reported. `input` and `output` are undefined if the report does not contain them.
 */
export interface ReportedUsage {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
}

export function usageOf({ usage }: PartOf<'finish'>): ReportedUsage {
  const reported = toJsonValue(usage) ?? null;
  if (!isJsonObject(reported)) return flatUsage({});
  return isJsonObject(reported['inputTokens']) || isJsonObject(reported['outputTokens'])
    ? nestedUsage(objectIn(reported, 'inputTokens'), objectIn(reported, 'outputTokens'))
    : flatUsage(reported);
}

function nestedUsage(input: JsonObject | undefined, output: JsonObject | undefined): ReportedUsage {
  return {
    input: countIn(input, 'total') ?? sumIn(input, ['noCache', 'cacheRead', 'cacheWrite']),
    output: countIn(output, 'total') ?? sumIn(output, ['text', 'reasoning']),
    cacheRead: countIn(input, 'cacheRead') ?? 0,
    cacheWrite: countIn(input, 'cacheWrite') ?? 0,
    reasoning: countIn(output, 'reasoning') ?? 0,
  };
}

/** Reads a usage report in the flat format of version 2. */
function flatUsage(reported: JsonObject): ReportedUsage {
  return {
    input: countIn(reported, 'inputTokens'),
    output: countIn(reported, 'outputTokens'),
    cacheRead: countIn(reported, 'cachedInputTokens') ?? 0,
    cacheWrite: 0,
    reasoning: countIn(reported, 'reasoningTokens') ?? 0,
  };
}

function sumIn(counts: JsonObject | undefined, keys: readonly string[]): number | undefined {
  const known = keys.flatMap((key) => countIn(counts, key) ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}

/**
 * Replaces missing numbers of the reported usage with estimates. A total is never smaller than the sum of its
 * parts.
 */
export function completedUsage(reported: ReportedUsage | undefined, estimate: () => Usage): Usage {
  const estimated = reported?.input === undefined || reported.output === undefined;
  const likely = estimated ? estimate() : noUsage;
  const { cacheRead = 0, cacheWrite = 0, reasoning = 0 } = reported ?? {};
  return {
    input: Math.max(reported?.input ?? likely.input, cacheRead + cacheWrite),
    output: Math.max(reported?.output ?? likely.output, reasoning),
    cacheRead,
    cacheWrite,
    reasoning,
    estimated,
    costs: [],
  };
}
