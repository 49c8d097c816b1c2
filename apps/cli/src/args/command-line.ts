import { parseArgs as splitWords } from 'node:util';
import { isDecimal } from '@millrace/core';
import type { SharedArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import { type FlagName, flagNames, getFlag } from './flags.ts';
import { nearestName } from './nearest-name.ts';

/**
 * A flag with its value. The value is `''` if the flag takes no value, or if its optional value is
 * missing.
 */
interface ParsedFlag {
  readonly name: FlagName;
  readonly value: string;
}

/** The command line, split into flags and operands. */
export interface CommandLine {
  readonly flags: readonly ParsedFlag[];
  /** The words that are neither a flag nor the value of a flag. */
  readonly operands: readonly string[];
  /** True if the first operand comes before `--`. Only then can it be the name of a command. */
  readonly startsWithOperand: boolean;
}

const parserOptions = Object.fromEntries(
  flagNames.map((name) => {
    const { short, value } = getFlag(name);
    // Node's `parseArgs` does not support optional values and reports them as operands. The code
    // below joins each of them with its flag.
    const type = value?.startsWith('<') ? ('string' as const) : ('boolean' as const);
    return [name, { type, ...(short === undefined ? {} : { short }) }];
  }),
);

/**
 * Splits the command line with Node's parser and checks the flags. Throws a `UsageError` with a
 * correction for the user.
 */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const args = argv.map(markDash);
  const config = {
    args,
    options: parserOptions,
    strict: false,
    allowPositionals: true,
    tokens: true,
  };
  const { tokens } = splitWords(config as typeof config & { tokens: true });
  const end = tokens.find(({ kind }) => kind === 'option-terminator')?.index ?? argv.length;
  const flags: ParsedFlag[] = [];
  const words: string[] = [];
  const usedIndexes = new Set<number>();
  for (const token of tokens) {
    if (token.kind === 'positional' && !usedIndexes.has(token.index))
      words.push(unmarkDash(token.value));
    if (token.kind !== 'option') continue;
    const name = findFlag(token.name, token.rawName);
    const next = tokens.find(
      ({ kind, index }) => kind === 'positional' && index === token.index + 1,
    );
    // The optional value of `--resume` is the word after it. All other operands after `-p` are part
    // of the prompt.
    const id =
      name === 'resume' && token.value === undefined && token.index + 1 < end ? next : undefined;
    if (id?.kind === 'positional') usedIndexes.add(id.index);
    const value = id?.kind === 'positional' ? id.value : token.value;
    flags.push({
      name,
      value: unmarkDash(checkValue(name, value, token.inlineValue === true || id !== undefined)),
    });
  }
  const first = tokens.find(({ kind, index }) => kind === 'positional' && !usedIndexes.has(index));
  return {
    flags: flags,
    operands: words,
    startsWithOperand: first !== undefined && first.index < end,
  };
}

/**
 * A mark for words that start with a dash and a space, such as a list item. They are text and not
 * flags. The mark is NUL, which no argument can contain.
 */
const dashMark = '\0';

function markDash(word: string): string {
  return /^-+\s/.test(word) ? `${dashMark}${word}` : word;
}

function unmarkDash(word: string): string {
  return word.startsWith(dashMark) ? word.slice(dashMark.length) : word;
}

function findFlag(name: string, rawName: string): FlagName {
  const known = flagNames.find((each) => each === name);
  if (known !== undefined) return known;
  const near = rawName.startsWith('--') ? nearestName(name, flagNames) : undefined;
  const hint = near === undefined ? '' : `Did you mean --${near}? `;
  const way = 'See millrace --help, and put -- before text that begins with a dash';
  throw new UsageError(`Unknown flag ${clip(rawName)}. ${hint}${way}`, { flag: clip(rawName) });
}

function checkValue(name: FlagName, value: string | undefined, isSure: boolean): string {
  const shown = getFlag(name).value;
  if (shown === undefined && value !== undefined) {
    throw new UsageError(`--${name} takes no value. Remove the part after =`, { flag: name });
  }
  if (!shown?.startsWith('<')) return value ?? '';
  const isFlag = !isSure && value !== undefined && /^-./.test(value);
  if (value !== undefined && value !== '' && !isFlag) return value;
  const found = isFlag ? `, and ${clip(value)} looks like a flag: write --${name}=${shown}` : '';
  throw new UsageError(`--${name} needs a value: --${name} ${shown}${found}`, { flag: name });
}

/** Shortens long input, so that an error message stays readable. */
function clip(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/**
 * Returns the value of a flag. If the flag occurs twice, the last value counts. So a user can
 * override a flag of a shell alias.
 */
export function flagText({ flags }: CommandLine, name: FlagName): string | undefined {
  return flags.findLast((flag) => flag.name === name)?.value;
}

export function hasFlag({ flags }: CommandLine, name: FlagName): boolean {
  return flags.some((flag) => flag.name === name);
}

/** Returns whether the chat prints lines. The configuration decides without the flag. */
export function plainArgs(given: CommandLine): { readonly plain?: true } {
  return hasFlag(given, 'plain') ? { plain: true } : {};
}

export function sharedArgs(given: CommandLine): SharedArgs {
  return {
    cwd: flagText(given, 'cwd'),
    config: flagText(given, 'config'),
    store: flagText(given, 'store'),
    color: !hasFlag(given, 'no-color'),
  };
}

/** Returns the value of a flag as a whole number of at least 1. */
export function flagCount(given: CommandLine, name: FlagName): number | undefined {
  const value = flagText(given, name);
  if (value === undefined) return undefined;
  const count = /^\d{1,15}$/.test(value) ? Number(value) : 0;
  if (count > 0) return count;
  throw new UsageError(`--${name} takes a whole number of at least 1, such as --${name} 20`);
}

/** Returns the value of a flag as an amount of money: an exact decimal number in a string. */
export function flagAmount(given: CommandLine, name: FlagName): string | undefined {
  const value = flagText(given, name);
  if (value === undefined) return undefined;
  const amount = value.replace(/^\$/, '');
  if (isDecimal(amount) && Number(amount) > 0) return amount;
  throw new UsageError(`--${name} takes an amount in dollars above 0, such as --${name} 0.50`);
}
