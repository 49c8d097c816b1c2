import {
  type Cost,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ResponseDetails,
  type SafetyRating,
} from '@millrace/core';
import { objectIn, objectsIn, textIn } from '../json/fields.ts';

/** The fields of `ResponseDetails`. A field is undefined if the provider did not report it. */
export type Reported = {
  readonly [Name in keyof ResponseDetails]?: ResponseDetails[Name] | undefined;
};

/** Maximum length of a name or id. A longer text is an error of the server and is not stored on the log. */
const maxTextLength = 1024;

/** Returns the reported fields as details. Returns undefined if no field was reported. */
export function toDetails(reported: Reported): ResponseDetails | undefined {
  const known = Object.entries(reported).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return [[name, typeof value === 'string' ? value.slice(0, maxTextLength) : value] as const];
  });
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

/** Maximum number of ratings. No filter has this many categories. */
const maxRatings = 256;

/**
 * Collects the ratings of a response. Providers repeat ratings in several chunks. A later rating replaces an
 * earlier rating of the same category.
 */
export class SafetyRatings {
  readonly #ratings = new Map<string, SafetyRating>();

  add(ratings: readonly SafetyRating[]): void {
    for (const rating of ratings) {
      const key = `${rating.about} ${rating.category}`;
      if (this.#ratings.has(key) || this.#ratings.size < maxRatings) this.#ratings.set(key, rating);
    }
  }

  /** Returns the ratings, or undefined if there are none. */
  get list(): readonly SafetyRating[] | undefined {
    return this.#ratings.size === 0 ? undefined : [...this.#ratings.values()];
  }
}

type About = SafetyRating['about'];

/** Creates a rating without the fields that are undefined. */
export function ratingOf(
  about: About,
  category: string,
  { level, score, flagged, blocked }: Readonly<Record<string, JsonValue | undefined>>,
): SafetyRating {
  return {
    about,
    category: category.slice(0, maxTextLength),
    ...(typeof level === 'string' && { level: level.slice(0, maxTextLength) }),
    ...(typeof score === 'number' && { score }),
    ...(typeof flagged === 'boolean' && { flagged }),
    ...(typeof blocked === 'boolean' && { blocked }),
  };
}

/**
 * Converts the results of Azure's content filter: `{ hate: { filtered, severity }, jailbreak: {
 * filtered, detected } }`.
 */
export function filterRatings(
  results: JsonObject | undefined,
  about: About,
): readonly SafetyRating[] {
  return Object.entries(results ?? {}).flatMap(([category, result]) =>
    isJsonObject(result)
      ? ratingOf(about, category, {
          level: result['severity'],
          flagged: result['detected'],
          blocked: result['filtered'],
        })
      : [],
  );
}

/**
 * Converts the results of OpenAI's moderation, for the request and for the answer. Each has one
 * result or a list.
 */
export function moderationRatings(moderation: JsonObject | undefined): readonly SafetyRating[] {
  const sides = [
    ['input', objectIn(moderation, 'input')],
    ['output', objectIn(moderation, 'output')],
  ] as const;
  return sides.flatMap(([about, side]) => {
    if (side === undefined) return [];
    const results = Array.isArray(side['results']) ? objectsIn(side, 'results') : [side];
    return results.flatMap((result) => moderationResult(about, result));
  });
}

function moderationResult(about: About, result: JsonObject): readonly SafetyRating[] {
  const scores = objectIn(result, 'category_scores');
  const categories = Object.entries(objectIn(result, 'categories') ?? {});
  return categories.map(([category, flagged]) =>
    ratingOf(about, category, { flagged, score: scores?.[category] }),
  );
}

/**
 * Converts seconds to milliseconds, rounded to microseconds. Returns undefined if the value is not
 * a duration.
 */
export function millisOf(seconds: JsonValue | undefined): number | undefined {
  const isTime = typeof seconds === 'number' && seconds >= 0 && Number.isFinite(seconds);
  return isTime ? Math.round(seconds * 1e6) / 1e3 : undefined;
}

/** Returns an object with only the known numbers, or undefined if no number is known. */
export function knownNumbers<Name extends string>(
  numbers: Readonly<Record<Name, number | undefined>>,
): { readonly [N in Name]?: number } | undefined {
  const known = Object.entries(numbers).filter(([, number]) => number !== undefined);
  return known.length === 0
    ? undefined
    : (Object.fromEntries(known) as { readonly [N in Name]?: number });
}

/** Maximum number of billed kinds. No provider bills this many kinds. */
const maxBilled = 64;

/**
 * Returns the positive numbers in these objects, by name. Returns undefined if there are no positive numbers.
 */
export function billedIn(
  ...counts: readonly (JsonObject | undefined)[]
): Readonly<Record<string, number>> | undefined {
  const known = counts.flatMap((one) =>
    Object.entries(one ?? {}).filter(
      (entry): entry is [string, number] => Number.isSafeInteger(entry[1]) && Number(entry[1]) > 0,
    ),
  );
  const named = known.filter(([name]) => name.length <= maxTextLength).slice(0, maxBilled);
  return named.length === 0 ? undefined : Object.fromEntries(named);
}

/**
 * The number of decimals of a cost in ticks, the unit in which xAI reports costs. 10,000,000,000 ticks are
 * one US dollar.
 */
const tickDecimals = 10;

/** Returns the cost in a usage report. Providers report it in US dollars, and xAI reports it in ticks. */
export function reportedCosts(usage: JsonObject): readonly Cost[] {
  const { cost, cost_in_usd_ticks: ticks } = usage;
  if (typeof ticks === 'number' && Number.isSafeInteger(ticks) && ticks > 0) {
    const digits = String(ticks).padStart(tickDecimals + 1, '0');
    const amount = `${digits.slice(0, -tickDecimals)}.${digits.slice(-tickDecimals)}`;
    return [{ amount: withoutZeros(amount), currency: 'USD' }];
  }
  // Perplexity reports an object. Its field `total_cost` is the total.
  const dollars = isJsonObject(cost) ? cost['total_cost'] : cost;
  const isCost = typeof dollars === 'number' && dollars > 0 && dollars < 1e9;
  return isCost ? [{ amount: withoutZeros(dollars.toFixed(12)), currency: 'USD' }] : [];
}

function withoutZeros(decimal: string): string {
  return decimal.replace(/\.?0+$/, '');
}

/** Returns the container in which the provider ran code, or undefined if there is none. */
export function containerIn(
  container: JsonObject | undefined,
): ResponseDetails['container'] | undefined {
  const id = textIn(container, 'id');
  if (id === undefined) return undefined;
  const expiresAt = textIn(container, 'expires_at');
  return { id, ...(expiresAt === undefined ? {} : { expiresAt }) };
}
