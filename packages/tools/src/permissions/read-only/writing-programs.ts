import { type OptionTable, parseOptions } from './parse-options.ts';

interface WritingProgram extends OptionTable {
  /** Maximum number of operands. The program treats an additional operand as a file to write. */
  readonly maxOperands?: number | undefined;
  /** The pattern that each operand must match. Default: any operand. */
  readonly operand?: RegExp | undefined;
}

function words(text: string): readonly string[] {
  return text.split(/\s+/);
}

/**
 * Programs that usually read, but with some options write files or start programs. Only the options in these
 * lists are accepted, with their full names. Abbreviations are refused, because many programs accept `--o=x`
 * for `--output=x`.
 */
const programs: ReadonlyMap<string, WritingProgram> = new Map<string, WritingProgram>([
  ['base32', { letters: 'di', valued: 'w', long: words('decode ignore-garbage wrap') }],
  ['base64', { letters: 'dDi', valued: 'w', long: words('decode ignore-garbage wrap') }],
  [
    'date',
    {
      ...{ letters: 'uR', valued: 'd', operand: /^\+/ },
      ...{ long: words('utc universal iso-8601 rfc-email rfc-3339'), longValued: ['date'] },
    },
  ],
  [
    'fd',
    {
      ...{ letters: 'HIusigFapLl01q', valued: 'dtEeScj' },
      long: words(`hidden no-ignore no-ignore-vcs case-sensitive ignore-case glob fixed-strings
        absolute-path full-path follow list-details print0 quiet`),
      longValued: words(`max-depth min-depth exact-depth type exclude extension size changed-within
        changed-before color max-results threads`),
    },
  ],
  [
    'file',
    {
      ...{ letters: 'bikLhNnprs0', valued: 'eF' },
      long: words(`brief mime mime-type mime-encoding keep-going dereference no-dereference
        no-pad raw extension apple version`),
      longValued: words('exclude separator'),
    },
  ],
  ['hostname', { letters: 'fsidI', long: words('fqdn short ip-address domain'), maxOperands: 0 }],
  [
    'rg',
    {
      ...{ letters: 'aciFHhIlLnNoPpqsSuUvwx0.', valued: 'eABCmgtTjMrdE' },
      long: words(`files hidden no-ignore ignore-case smart-case case-sensitive fixed-strings
        line-number no-line-number with-filename no-filename files-with-matches files-without-match
        count count-matches only-matching word-regexp line-regexp invert-match multiline
        multiline-dotall pcre2 heading no-heading json vimgrep column no-config follow text
        no-messages null stats trim type-list passthru quiet`),
      longValued:
        words(`regexp glob iglob type type-not max-count max-depth max-filesize max-columns
        after-context before-context context color colors sort sortr threads replace encoding`),
    },
  ],
  [
    'shuf',
    {
      ...{ letters: 'erz', valued: 'in' },
      ...{
        long: words('echo repeat zero-terminated'),
        longValued: words('input-range head-count'),
      },
    },
  ],
  [
    'sort',
    {
      ...{ letters: 'bcCdfgiMhnRrVmsuz', valued: 'ktS' },
      long: words(`ignore-leading-blanks dictionary-order ignore-case general-numeric-sort
        ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse
        version-sort check merge stable unique zero-terminated debug`),
      longValued: words('key field-separator buffer-size sort parallel'),
    },
  ],
  [
    'tree',
    {
      // After a letter with a value, `tree` reads the rest of the word as further letters.
      ...{ letters: 'adlfxinNQqpughDFsCSAXJtcUrv', numbered: 'L' },
      valuedWords: words('-L -P -I -aL -dL -adL -daL -fL'),
      long: words(`noreport dirsfirst filesfirst prune du si inodes device gitignore ignore-case
        matchdirs fromfile`),
      longValued: words('filelimit charset timefmt sort'),
    },
  ],
  [
    'uniq',
    {
      ...{ letters: 'cdDuiz', valued: 'fsw', maxOperands: 1 },
      long: words('count repeated all-repeated group ignore-case unique zero-terminated'),
      longValued: words('skip-fields skip-chars check-chars'),
    },
  ],
]);

/** Matches options of xxd, which are words after one dash. For example, `-ps` is one option. */
const xxdOptions = /^-(?:a|b|e|E|i|p|ps|plain|u|C|bits|autoskip|include|uppercase|capitalize)$/;
const xxdValued = /^-(?:c|cols|g|groupsize|l|len|s|seek|o|n|name)$/;

/** The parts of a find expression that only read. All other parts are refused. */
const findWords: ReadonlySet<string> = new Set(
  words(`-H -L -P -D -O0 -O1 -O2 -O3 -a -and -o -or -not -amin -anewer -atime -cmin -cnewer -ctime
    -daystart -depth -d -empty -executable -false -follow -fstype -gid -group -ignore_readdir_race
    -ilname -iname -inum -ipath -iregex -iwholename -links -lname -ls -maxdepth -mindepth -mmin
    -mount -mtime -name -newer -nogroup -noignore_readdir_race -noleaf -nouser -path -perm -print
    -print0 -printf -prune -quit -readable -regex -regextype -samefile -size -true -type -uid -used
    -user -warn -nowarn -wholename -writable -xdev -xtype`),
);

/**
 * Returns whether a program of these lists is used in a way that only reads. Returns undefined for all other
 * programs.
 */
export function isReadingUse(program: string, given: readonly string[]): boolean | undefined {
  if (program === 'find') return given.every(isFindWord);
  if (program === 'xxd') return isReadingXxd(given);
  const known = programs.get(program);
  if (known === undefined) return undefined;
  const { maxOperands = Number.POSITIVE_INFINITY, operand } = known;
  const operands = parseOptions(given, known)?.operands;
  if (operands === undefined || operands.length > maxOperands) return false;
  return operand === undefined || operands.every((word) => operand.test(word));
}

/**
 * True if the word only makes find read. Option values such as `-5k` in `-size -5k` also start with a dash,
 * but a digit follows the dash.
 */
function isFindWord(word: string): boolean {
  return !word.startsWith('-') || findWords.has(word) || /^-(?:newer[aBcmt]{2}|\d.*|)$/.test(word);
}

function isReadingXxd(given: readonly string[]): boolean {
  let operands = 0;
  for (let at = 0; at < given.length; at++) {
    const word = given[at] ?? '';
    if (xxdValued.test(word)) at++;
    else if (!/^-./.test(word)) operands++;
    else if (!xxdOptions.test(word) && !/^-[cgls]\d+$/.test(word)) return false;
  }
  return operands <= 1;
}
