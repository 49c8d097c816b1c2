/** Tokens and costs of one attempt, or the sum of several. */
export interface Usage {
  /** The number of tokens sent, including cached tokens. */
  readonly input: number;
  /** The number of tokens generated, including reasoning. */
  readonly output: number;
  /** The number of `input` tokens that came from the provider's cache. */
  readonly cacheRead: number;
  /** The number of `input` tokens that were written to the provider's cache. */
  readonly cacheWrite: number;
  /**
   * The number of `cacheWrite` tokens with a longer lifetime, which can cost more. For Anthropic:
   * one hour instead of five minutes. Absent means 0.
   */
  readonly cacheWriteLong?: number;
  /** The number of `output` tokens that were reasoning. */
  readonly reasoning: number;
  /** True if some numbers are estimates, because the provider did not report them. */
  readonly estimated: boolean;
  /** One entry per currency. */
  readonly costs: readonly Cost[];
  /**
   * Counts of other services that the provider bills, with the provider's names: `{ web_search_requests: 2
   * }`. Absent if the provider bills only tokens.
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
 * Returns the share of the input tokens that came from the provider's cache, in percent, rounded.
 * Returns undefined if no tokens were sent.
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

/** Returns the sum of `cacheWriteLong`. The field is absent if both usages do not have it. */
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

/** Returns the exact sum, with as many decimals as the summand with more decimals. */
export function addDecimals(a: string, b: string): string {
  const decimals = Math.max(decimalsOf(a), decimalsOf(b));
  return written(scaled(a, decimals) + scaled(b, decimals), decimals);
}

/**
 * Compares two decimals: returns -1 if `a` is smaller, 1 if `a` is larger, and 0 if they are equal.
 */
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
