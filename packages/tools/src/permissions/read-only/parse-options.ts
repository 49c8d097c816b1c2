/**
 * The options with which a program only reads. All other options count as unknown.
 *
 * `letters` is only for programs that read joined letters in the same way as this parser, such as the programs
 * of GNU. Git reads them in several parsers, so its tables contain complete words.
 */
export interface OptionTable {
  /** Complete words without a value, as in `-p` or `-vv`. */
  readonly words?: readonly string[] | undefined;
  /** Complete words whose value is the next word, as in `-am text`. */
  readonly valuedWords?: readonly string[] | undefined;
  /** Single letters with a number in the same word, as in `-U3`. The letter must follow the dash. */
  readonly numbered?: string | undefined;
  /** Single letters without a value, as in `-la`. */
  readonly letters?: string | undefined;
  /**
   * Single letters with a value, as in `-n 5` or `-n5`. A value in the next word cannot start with a dash,
   * because another version of the program could read it as an option.
   */
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
  /** The options after the first operand, with their values. Some systems read all these words as operands. */
  readonly late: readonly string[];
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
  const late: string[] = [];
  const values: OptionValue[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const isLate = operands.length > 0;
    if (isLate && word.startsWith('-')) late.push(word);
    if (word === '--') {
      operands.push(...words.slice(at + 1));
      break;
    }
    if (!isOption(word)) {
      operands.push(word);
      continue;
    }
    if (table.counts && isCount(word)) continue;
    const read = parseOption(word, table);
    if (read === undefined) return undefined;
    for (const name of read.names) options.add(name);
    const value = read.takesNext ? words[++at] : read.value;
    if (read.takesNext) {
      if (value === undefined || (isOption(value) && !(table.counts && isCount(value))))
        return undefined;
      if (isLate) late.push(value);
    }
    const place = read.takesNext ? 'next' : word.startsWith('--') ? 'equals' : 'letter';
    if (value !== undefined) values.push({ name: read.names.at(-1) ?? '', value, place });
  }
  return { options, values, operands, late };
}

/** True if a program may read the word as an option. A single dash is the standard input. */
function isOption(word: string): boolean {
  return word.startsWith('-') && word !== '-';
}

function isCount(word: string): boolean {
  return /^-\d+$/.test(word);
}

interface ParsedOption {
  readonly names: readonly string[];
  /** True if the next word is the value. */
  readonly takesNext: boolean;
  /** The value. Undefined if it is not in the same word. */
  readonly value?: string | undefined;
}

function parseOption(word: string, table: OptionTable): ParsedOption | undefined {
  const { words = [], valuedWords = [], numbered = '' } = table;
  const name = word.replace(/^-+/, '');
  if (words.includes(word)) return { names: [name], takesNext: false };
  // The last letter is the one with the value.
  if (valuedWords.includes(word)) return { names: [...name], takesNext: true };
  if (/^-[a-zA-Z]\d+$/.test(word) && numbered.includes(name.charAt(0)))
    return { names: [name.charAt(0)], takesNext: false };
  return word.startsWith('--') ? parseLong(word, table) : parseLetters(word, table);
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
