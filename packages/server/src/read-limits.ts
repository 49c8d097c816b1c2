import { assertOptionNames, type OptionNames } from '@millrace/core';
import { ServerError } from './contract/server-error.ts';

/**
 * Fills in the default limits. Throws `invalid` for an unknown name, and for a value that is no number
 * from 0. A limit that is undefined or NaN would never be exceeded: the environment variable that it
 * comes from may be missing.
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
