/** The options with which a program only reads. All other options count as unknown. */
export interface OptionTable {
  /** Single letters without a value, as in `-la`. */
  readonly letters?: string | undefined;
  /** Single letters with a value, as in `-n 5` or `-n5`. */
  readonly valued?: string | undefined;
  /** Long options by their full name, with or without a value after `=`. */
  readonly long?: readonly string[] | undefined;
  /** Long options with a value, as in `--lines 5` or `--lines=5`. */
  readonly longValued?: readonly string[] | undefined;
  /** True if a number such as `-5` is accepted as a count. */
  readonly counts?: boolean | undefined;
}

export interface ParsedOptions {
  /** The options in the command: single letters, and the names of long options. */
  readonly options: ReadonlySet<string>;
  readonly operands: readonly string[];
  /** The values of options, with the names of the options. */
  readonly values: readonly OptionValue[];
}

interface OptionValue {
  readonly name: string;
  readonly value: string;
  /** The location of the value: in the next word, after the letter in the same word, or after `=`. */
  readonly place: 'next' | 'letter' | 'equals';
}

/** Parses the arguments of a program. Returns undefined if an option is unknown. */
export function parseOptions(
  words: readonly string[],
  table: OptionTable,
): ParsedOptions | undefined {
  const options = new Set<string>();
  const operands: string[] = [];
  const values: OptionValue[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '--') return { options, values, operands: [...operands, ...words.slice(at + 1)] };
    if (word === '-' || !word.startsWith('-')) {
      operands.push(word);
      continue;
    }
    if (table.counts && /^-\d+$/.test(word)) continue;
    const read = word.startsWith('--') ? parseLong(word, table) : parseLetters(word, table);
    if (read === undefined) return undefined;
    for (const name of read.names) options.add(name);
    if (read.takesNext && ++at >= words.length) return undefined;
    const value = read.takesNext ? words[at] : read.value;
    const place = read.takesNext ? 'next' : word.startsWith('--') ? 'equals' : 'letter';
    if (value !== undefined) values.push({ name: read.names.at(-1) ?? '', value, place });
  }
  return { options, values, operands };
}

interface ParsedOption {
  readonly names: readonly string[];
  /** True if the next word is the value. */
  readonly takesNext: boolean;
  /** The value. Undefined if it is not in the same word. */
  readonly value?: string | undefined;
}

function parseLong(
  word: string,
  { long = [], longValued = [] }: OptionTable,
): ParsedOption | undefined {
  const end = word.indexOf('=');
  const name = word.slice(2, end === -1 ? undefined : end);
  const value = end === -1 ? undefined : word.slice(end + 1);
  if (longValued.includes(name)) return { names: [name], takesNext: end === -1, value };
  return long.includes(name) ? { names: [name], takesNext: false, value } : undefined;
}

function parseLetters(
  word: string,
  { letters = '', valued = '' }: OptionTable,
): ParsedOption | undefined {
  const names: string[] = [];
  for (let at = 1; at < word.length; at++) {
    const letter = word.charAt(at);
    names.push(letter);
    // The value is the rest of the word. If the word has no rest, the next word is the value.
    if (valued.includes(letter)) {
      const value = word.slice(at + 1);
      return { names, takesNext: value === '', value: value === '' ? undefined : value };
    }
    if (!letters.includes(letter)) return undefined;
  }
  return { names, takesNext: false };
}
