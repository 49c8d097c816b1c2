import { addDecimals } from './decimal.ts';

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
