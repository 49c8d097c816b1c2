import { isDecimal } from '@millrace/core';
import type { SharedArgs } from './args.ts';
import type { FlagName } from './flags.ts';
import type { Words } from './read-words.ts';
import { UsageError } from './usage-error.ts';

/** The value of a flag; of one that was given twice the last, so that an alias can be overruled. */
export function textOf({ flags }: Words, name: FlagName): string | undefined {
  return flags.findLast((flag) => flag.name === name)?.value;
}

export function isGiven({ flags }: Words, name: FlagName): boolean {
  return flags.some((flag) => flag.name === name);
}

export function sharedArgs(given: Words): SharedArgs {
  return {
    cwd: textOf(given, 'cwd'),
    config: textOf(given, 'config'),
    store: textOf(given, 'store'),
    color: !isGiven(given, 'no-color'),
  };
}

/** A count of at least one. */
export function countOf(given: Words, name: FlagName): number | undefined {
  const value = textOf(given, name);
  if (value === undefined) return undefined;
  const count = /^\d{1,15}$/.test(value) ? Number(value) : 0;
  if (count > 0) return count;
  throw new UsageError(`--${name} takes a whole number from 1 on, such as --${name} 20`);
}

/** Money, as the exact decimal that it was written as. */
export function amountOf(given: Words, name: FlagName): string | undefined {
  const value = textOf(given, name);
  if (value === undefined) return undefined;
  const amount = value.replace(/^\$/, '');
  if (isDecimal(amount) && Number(amount) > 0) return amount;
  throw new UsageError(`--${name} takes an amount in dollars above 0, such as --${name} 0.50`);
}
