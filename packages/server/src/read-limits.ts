import { assertOptionNames, type OptionNames } from '@millrace/core';
import { ServerError } from './contract/server-error.ts';

/**
 * Returns the limits with defaults for missing values. Throws `invalid` for an unknown name, and for a value
 * that is not a number of at least 0. A limit of undefined or NaN, for example from a missing environment
 * variable, would never be exceeded.
 */
export function readLimits<Limits extends object>(
  option: string,
  given: Partial<Limits> = {},
  defaults: Limits,
): Limits {
  const names = Object.fromEntries(Object.keys(defaults).map((name) => [name, true]));
  const of = `createServer: ${option}`;
  assertOptionNames(of, given, names as OptionNames<Partial<Limits>>, (message, name) => {
    return new ServerError('invalid', message, { of, option: name });
  });
  const values = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of values)
    if (!(typeof value === 'number' && value >= 0)) throw badLimit(`${option}.${name}`);
  return { ...defaults, ...Object.fromEntries(values) };
}

function badLimit(option: string): ServerError {
  const message = `Cannot use ${option}: it must be a number from 0. Omit it to use its default`;
  return new ServerError('invalid', message, { option });
}
