import { parseArgs as splitWords } from 'node:util';
import { type FlagName, flagNames, flagOf } from './flags.ts';
import { nearestName } from './nearest-name.ts';
import { UsageError } from './usage-error.ts';

/** A flag as it was given: `''` where it has a value that was left out. */
interface GivenFlag {
  readonly name: FlagName;
  readonly value: string;
}

/** The command line, taken apart. */
export interface Words {
  readonly flags: readonly GivenFlag[];
  /** What is neither a flag nor the value of one. */
  readonly words: readonly string[];
  /** The first word stands before `--`, and so may be a command. */
  readonly hasFirstWord: boolean;
}

const options = Object.fromEntries(
  flagNames.map((name) => {
    const { short, value } = flagOf(name);
    // A value that may be left out is a word of its own to parseArgs, and is put together below.
    const type = value?.startsWith('<') ? ('string' as const) : ('boolean' as const);
    return [name, { type, ...(short === undefined ? {} : { short }) }];
  }),
);

/** Node splits the words; what is wrong with them is said here, where the way out is known. */
export function readWords(argv: readonly string[]): Words {
  const args = argv.map(marked);
  const split = { args, options, strict: false, allowPositionals: true, tokens: true };
  const { tokens } = splitWords(split as typeof split & { tokens: true });
  const end = tokens.find(({ kind }) => kind === 'option-terminator')?.index ?? argv.length;
  const given: GivenFlag[] = [];
  const words: string[] = [];
  const taken = new Set<number>();
  for (const token of tokens) {
    if (token.kind === 'positional' && !taken.has(token.index)) words.push(unmarked(token.value));
    if (token.kind !== 'option') continue;
    const name = knownFlag(token.name, token.rawName);
    const next = tokens.find(
      ({ kind, index }) => kind === 'positional' && index === token.index + 1,
    );
    // After -p all words are the prompt in any case; the id of --resume is only the next one.
    const id =
      name === 'resume' && token.value === undefined && token.index + 1 < end ? next : undefined;
    if (id?.kind === 'positional') taken.add(id.index);
    const value = id?.kind === 'positional' ? id.value : token.value;
    given.push({
      name,
      value: unmarked(checkedValue(name, value, token.inlineValue === true || id !== undefined)),
    });
  }
  const first = tokens.find(({ kind, index }) => kind === 'positional' && !taken.has(index));
  return { flags: given, words, hasFirstWord: first !== undefined && first.index < end };
}

/** What begins as a list does, with a dash and a space, is text. No word can have a NUL by itself. */
const mark = '\0';

function marked(word: string): string {
  return /^-+\s/.test(word) ? `${mark}${word}` : word;
}

function unmarked(word: string): string {
  return word.startsWith(mark) ? word.slice(mark.length) : word;
}

function knownFlag(name: string, rawName: string): FlagName {
  const known = flagNames.find((each) => each === name);
  if (known !== undefined) return known;
  const near = rawName.startsWith('--') ? nearestName(name, flagNames) : undefined;
  const hint = near === undefined ? '' : `Did you mean --${near}? `;
  const way = 'See millrace --help, and put -- before text that begins with a dash';
  throw new UsageError(`There is no flag ${clip(rawName)}. ${hint}${way}`, { flag: clip(rawName) });
}

function checkedValue(name: FlagName, value: string | undefined, isSure: boolean): string {
  const shown = flagOf(name).value;
  if (shown === undefined && value !== undefined) {
    throw new UsageError(`--${name} takes no value. Leave out what is after the =`, { flag: name });
  }
  if (!shown?.startsWith('<')) return value ?? '';
  const isFlag = !isSure && value !== undefined && /^-./.test(value);
  if (value !== undefined && value !== '' && !isFlag) return value;
  const found = isFlag ? `, and ${clip(value)} looks like a flag: write --${name}=${shown}` : '';
  throw new UsageError(`--${name} needs a value: --${name} ${shown}${found}`, { flag: name });
}

/** What somebody typed may be long, and is not to fill the screen. */
function clip(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
