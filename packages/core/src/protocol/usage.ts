/** Tokens and costs of one attempt, or the sum of several. */
export interface Usage {
  /** All tokens sent, cached or not. */
  readonly input: number;
  /** All tokens generated, including reasoning. */
  readonly output: number;
  /** The part of `input` that came from the provider's cache. */
  readonly cacheRead: number;
  /** The part of `input` that was written to the provider's cache. */
  readonly cacheWrite: number;
  /**
   * The part of `cacheWrite` with a longer lifetime, which can cost more. Absent means 0. Anthropic:
   * one hour instead of five minutes.
   */
  readonly cacheWriteLong?: number;
  /** The part of `output` that was reasoning. */
  readonly reasoning: number;
  /** Whether some numbers are estimates, because the provider did not report them. */
  readonly estimated: boolean;
  /** One entry per currency. */
  readonly costs: readonly Cost[];
  /**
   * What is billed beside tokens, in the provider's words: `{ web_search_requests: 2 }`. Absent
   * means nothing.
   */
  readonly billed?: Readonly<Record<string, number>>;
}

/** An amount of money. */
export interface Cost {
  /** An exact decimal such as `0.000125`. Money is never a floating-point number. */
  readonly amount: string;
  /** An ISO 4217 code, for example `USD`. */
  readonly currency: string;
}

/** A usage of zero. */
export const noUsage: Usage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  estimated: false,
  costs: [],
};

/**
 * The share of the input tokens that came from the provider's cache, as a whole number of percent.
 * Undefined if nothing was sent.
 */
export function cachedPercent({ input, cacheRead }: Usage): number | undefined {
  return input > 0 ? Math.round((cacheRead / input) * 100) : undefined;
}

/** Adds two usages. Costs are added exactly, by currency. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    ...addedLong(a, b),
    reasoning: a.reasoning + b.reasoning,
    estimated: a.estimated || b.estimated,
    costs: [...a.costs, ...b.costs].reduce(addCost, []),
    ...addedBills(a, b),
  };
}

/** Adds the fields that most usages do not have. */
function addedLong(a: Usage, b: Usage): Pick<Usage, 'cacheWriteLong'> {
  if (a.cacheWriteLong === undefined && b.cacheWriteLong === undefined) return {};
  return { cacheWriteLong: (a.cacheWriteLong ?? 0) + (b.cacheWriteLong ?? 0) };
}

function addedBills(a: Usage, b: Usage): Pick<Usage, 'billed'> {
  if (a.billed === undefined) return b.billed === undefined ? {} : { billed: b.billed };
  if (b.billed === undefined) return { billed: a.billed };
  const sums = new Map(Object.entries(a.billed));
  for (const [name, count] of Object.entries(b.billed))
    sums.set(name, (sums.get(name) ?? 0) + count);
  return { billed: Object.fromEntries(sums) };
}

function addCost(costs: readonly Cost[], { amount, currency }: Cost): readonly Cost[] {
  const known = costs.find((cost) => cost.currency === currency);
  if (known === undefined) return [...costs, { amount, currency }];
  const sum = { amount: addDecimals(known.amount, amount), currency };
  return costs.map((cost) => (cost === known ? sum : cost));
}

const form = /^-?\d{1,30}(?:\.\d{1,30})?$/;

/**
 * Returns whether a text is an exact decimal: digits, optionally a point and digits, no exponent.
 */
export function isDecimal(text: string): boolean {
  return form.test(text);
}

/** Returns the exact sum, with as many decimals as the longer summand. */
export function addDecimals(a: string, b: string): string {
  const decimals = Math.max(decimalsOf(a), decimalsOf(b));
  return written(scaled(a, decimals) + scaled(b, decimals), decimals);
}

/** Returns a number below, at or above 0 if `a` is below, at or above `b`. */
export function compareDecimals(a: string, b: string): number {
  const decimals = Math.max(decimalsOf(a), decimalsOf(b));
  const [one, other] = [scaled(a, decimals), scaled(b, decimals)];
  return one < other ? -1 : one > other ? 1 : 0;
}

function decimalsOf(text: string): number {
  const point = text.indexOf('.');
  return point < 0 ? 0 : text.length - point - 1;
}

function scaled(text: string, decimals: number): bigint {
  return BigInt(text.replace('.', '') + '0'.repeat(decimals - decimalsOf(text)));
}

function written(value: bigint, decimals: number): string {
  if (decimals === 0) return value.toString();
  const sign = value < 0n ? '-' : '';
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0');
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}
