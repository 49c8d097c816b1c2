import { nearestNames } from '@millrace/core';
import type { Provider } from '../contract/provider.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { isCount } from '../transport/check-number.ts';

/** Returns the error for an invalid option of a wrapper. The wrapper throws this error when it is created. */
export function badOption(wrapper: string, problem: string): ProviderError {
  const message = `Cannot create ${wrapper}: ${problem}`;
  return new ProviderError('invalid_request', message, { provider: wrapper });
}

/** Throws if an option is unknown. Without this check, a misspelled option would turn a rule off. */
export function checkNames(wrapper: string, options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const [nearest] = nearestNames(unknown, known);
  const way = nearest === undefined ? `Known options: ${known.join(', ')}` : `Use ${nearest}`;
  throw badOption(wrapper, `there is no option ${unknown}. ${way}`);
}

/**
 * Throws if the value of an option is not a whole number of 1 or more. Undefined and Infinity are allowed.
 */
export function checkCounts(
  wrapper: string,
  counts: Readonly<Record<string, number | undefined>>,
): void {
  for (const [name, count] of Object.entries(counts)) {
    if (count !== undefined && !isCount(count))
      throw badOption(wrapper, `${name} is ${String(count)}; use a whole number of 1 or more`);
  }
}

/** Returns the first provider of a list. The wrapper uses the id and the model of this provider. */
export function firstOf(wrapper: string, providers: readonly Provider[]): Provider {
  if (!Array.isArray(providers)) throw badOption(wrapper, 'pass the providers as a list');
  const [first] = providers;
  if (first !== undefined) return first;
  throw badOption(wrapper, 'the list of providers is empty; pass at least one');
}
