import { type JsonObject, noUsage, type Usage } from '@millrace/core';
import { countIn, isObject, objectIn } from '../json/fields.ts';
import type { PartOf } from './model.ts';
import { asJson } from './part-state.ts';

/** What the model said was used; undefined where it did not. */
export interface SaidUsage {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
}

export function usageOf({ usage }: PartOf<'finish'>): SaidUsage {
  const said = asJson(usage) ?? null;
  if (!isObject(said)) return flatUsage({});
  return isObject(said['inputTokens']) || isObject(said['outputTokens'])
    ? nestedUsage(objectIn(said, 'inputTokens'), objectIn(said, 'outputTokens'))
    : flatUsage(said);
}

function nestedUsage(input: JsonObject | undefined, output: JsonObject | undefined): SaidUsage {
  return {
    input: countIn(input, 'total') ?? sumIn(input, ['noCache', 'cacheRead', 'cacheWrite']),
    output: countIn(output, 'total') ?? sumIn(output, ['text', 'reasoning']),
    cacheRead: countIn(input, 'cacheRead') ?? 0,
    cacheWrite: countIn(input, 'cacheWrite') ?? 0,
    reasoning: countIn(output, 'reasoning') ?? 0,
  };
}

/** As version 2 of the interface has it. */
function flatUsage(said: JsonObject): SaidUsage {
  return {
    input: countIn(said, 'inputTokens'),
    output: countIn(said, 'outputTokens'),
    cacheRead: countIn(said, 'cachedInputTokens') ?? 0,
    cacheWrite: 0,
    reasoning: countIn(said, 'reasoningTokens') ?? 0,
  };
}

function sumIn(counts: JsonObject | undefined, keys: readonly string[]): number | undefined {
  const known = keys.flatMap((key) => countIn(counts, key) ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}

/** What was said, and what is likely where nothing was; a part is never more than its whole. */
export function completedUsage(said: SaidUsage | undefined, reckon: () => Usage): Usage {
  const estimated = said?.input === undefined || said.output === undefined;
  const likely = estimated ? reckon() : noUsage;
  const { cacheRead = 0, cacheWrite = 0, reasoning = 0 } = said ?? {};
  return {
    input: Math.max(said?.input ?? likely.input, cacheRead + cacheWrite),
    output: Math.max(said?.output ?? likely.output, reasoning),
    cacheRead,
    cacheWrite,
    reasoning,
    estimated,
    costs: [],
  };
}
