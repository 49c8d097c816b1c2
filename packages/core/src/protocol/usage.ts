/** Tokens and money of one attempt, or the sum of several. */
export interface Usage {
  /** All that was sent, cached or not. */
  readonly input: number;
  /** All that was generated, reasoning included. */
  readonly output: number;
  /** The part of `input` that came from the provider's cache. */
  readonly cacheRead: number;
  /** The part of `input` that was written to it. */
  readonly cacheWrite: number;
  /** The part of `output` that was reasoning. */
  readonly reasoning: number;
  /** The provider never said, or not all: some of it was reckoned. */
  readonly estimated: boolean;
  /** One entry a currency. */
  readonly costs: readonly Cost[];
}

export interface Cost {
  /** An exact decimal such as `0.000125`: money is never a float. */
  readonly amount: string;
  /** ISO 4217, for instance `USD`. */
  readonly currency: string;
}

export const noUsage: Usage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  estimated: false,
  costs: [],
};

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    reasoning: a.reasoning + b.reasoning,
    estimated: a.estimated || b.estimated,
    costs: [...a.costs, ...b.costs].reduce(addCost, []),
  };
}

function addCost(costs: readonly Cost[], { amount, currency }: Cost): readonly Cost[] {
  const known = costs.find((cost) => cost.currency === currency);
  if (known === undefined) return [...costs, { amount, currency }];
  const sum = { amount: addDecimals(known.amount, amount), currency };
  return costs.map((cost) => (cost === known ? sum : cost));
}

const form = /^-?\d{1,30}(?:\.\d{1,30})?$/;

/** Is it an exact decimal as we write them: digits, perhaps a point and digits, no exponent? */
export function isDecimal(text: string): boolean {
  return form.test(text);
}

/** The exact sum, with as many decimals as the longer of the two has. */
export function addDecimals(a: string, b: string): string {
  const decimals = Math.max(decimalsOf(a), decimalsOf(b));
  return written(scaled(a, decimals) + scaled(b, decimals), decimals);
}

/** Below, at or above 0 as `a` is below, at or above `b`. */
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
