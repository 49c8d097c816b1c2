import type { OptionTable } from './parse-options.ts';

/** A program that only reads when it is used with these options. */
export interface ReadOnlyProgram extends OptionTable {
  /**
   * The meaning of the program's operands. With `text`, the program only prints them. With `pattern`, the
   * first operand is a pattern and not a path, unless one of `patternOptions` was given. With `files`, the
   * program would read all entries of a folder and follow their links, so each operand must be a file.
   */
  readonly operands: 'paths' | 'files' | 'text' | 'none' | 'pattern';
  readonly patternOptions?: readonly string[] | undefined;
  /**
   * The options with which the program reads everything below a path. `always` means that no option is
   * needed.
   */
  readonly recursiveOptions?: readonly string[] | 'always' | undefined;
  /** The path that the program reads if the command has no path. */
  readonly defaultPath?: '.' | undefined;
  /**
   * The output of the program: content, or only names. A list contains the options with which the program
   * shows only names. Default: `content`.
   */
  readonly shows?: 'content' | 'names' | readonly string[] | undefined;
  /**
   * The options with which the program shows hidden files. Without them, it shows only hidden files that an
   * ignore file includes.
   */
  readonly unhidingOptions?: readonly string[] | undefined;
  /** True if the program shows all paths of commits, even if its operands select only some. */
  readonly showsHistory?: boolean | undefined;
}

const grep: ReadOnlyProgram = {
  ...{
    operands: 'pattern',
    patternOptions: ['e', 'regexp'],
    recursiveOptions: ['r', 'recursive'],
    defaultPath: '.',
  },
  // The list omits -f, which reads patterns from a file, and -R, which follows links.
  ...{ letters: 'ivwxnHhlLcoEFGPqsaIrzZbT', valued: 'eABCm' },
  long: `ignore-case invert-match word-regexp line-regexp line-number with-filename no-filename
    files-with-matches files-without-match count only-matching extended-regexp fixed-strings
    basic-regexp perl-regexp quiet no-messages text recursive color colour context`.split(/\s+/),
  // For some versions, the value of `--context` is never the next word.
  longValued: `regexp include exclude exclude-dir after-context before-context max-count`.split(
    ' ',
  ),
};

const ripgrep: ReadOnlyProgram = {
  ...{
    operands: 'pattern',
    patternOptions: ['e', 'regexp', 'files'],
    recursiveOptions: 'always',
    defaultPath: '.',
  },
  ...{
    shows: ['files'],
    unhidingOptions: 'hidden no-ignore g glob iglob t T type type-not'.split(' '),
  },
  // The list omits --pre, --hostname-bin and -z, which run programs. It also omits -f, and -L, which
  // follows links.
  ...{ letters: 'nilcwFSsvoNHIqxUPp', valued: 'egtTABCmM' },
  long: `line-number no-line-number ignore-case smart-case case-sensitive files hidden no-heading heading
    count files-with-matches files-without-match fixed-strings word-regexp line-regexp invert-match
    only-matching column multiline no-ignore stats trim quiet json`.split(/\s+/),
  longValued:
    `regexp glob iglob type type-not max-count after-context before-context context max-depth
    max-columns sort color`.split(/\s+/),
};

const headOrTail: ReadOnlyProgram = {
  // The list omits -f, because the program would never end with this option.
  ...{ operands: 'paths', letters: 'qvz', valued: 'nc', counts: true },
  ...{ long: ['quiet', 'verbose'], longValued: ['lines', 'bytes'] },
};

export const readOnlyPrograms: ReadonlyMap<string, ReadOnlyProgram> = new Map([
  ['pwd', { operands: 'none', letters: 'LP' }],
  ['true', { operands: 'none' }],
  ['false', { operands: 'none' }],
  ['whoami', { operands: 'none' }],
  ['echo', { operands: 'text', letters: 'neE' }],
  ['basename', { operands: 'text', letters: 'az', valued: 's' }],
  ['dirname', { operands: 'text', letters: 'z' }],
  ['which', { operands: 'text', letters: 'a' }],
  ['tr', { operands: 'text', letters: 'cCdst' }],
  [
    'ls',
    {
      ...{ operands: 'paths', letters: 'aAlhrtRS1dFisgGnopkcuUXvmCx', defaultPath: '.' },
      shows: 'names',
      long: 'all almost-all human-readable recursive reverse directory inode size color'.split(' '),
      recursiveOptions: ['R', 'recursive'],
    },
  ],
  ['cat', { operands: 'paths', letters: 'nbsAeEtTvu', long: ['number'] }],
  ['head', headOrTail],
  ['tail', headOrTail],
  ['wc', { operands: 'paths', letters: 'lwcmL', long: ['lines', 'words', 'bytes', 'chars'] }],
  ['stat', { operands: 'paths', valued: 'c', shows: 'names' }],
  [
    'du',
    {
      operands: 'paths',
      letters: 'shacbkm',
      valued: 'd',
      recursiveOptions: 'always',
      defaultPath: '.',
      shows: 'names',
    },
  ],
  ['cut', { operands: 'paths', letters: 's', valued: 'dfcb' }],
  // The list omits -o, which writes a file, and --compress-program, which runs a program.
  ['sort', { operands: 'paths', letters: 'nrufbVhgMdisz', valued: 'kt' }],
  // uniq writes to its second operand, so operands are not accepted.
  ['uniq', { operands: 'none', letters: 'cduiz', valued: 'fsw' }],
  // The list omits -r and -N, which read folders.
  ['diff', { operands: 'files', letters: 'uqbwiBy', valued: 'U' }],
  ['grep', grep],
  ['egrep', grep],
  ['fgrep', grep],
  ['rg', ripgrep],
]);

/**
 * The options that all subcommands for showing changes share. The list omits --output, --ext-diff, --textconv
 * and --no-index.
 */
const diffOptions =
  `stat numstat shortstat name-only name-status cached staged patch no-patch color no-color
  no-ext-diff no-textconv word-diff check summary diff-filter quiet exit-code unified ignore-all-space
  ignore-space-change ignore-blank-lines find-renames minimal`.split(/\s+/);

const logOptions =
  `oneline graph all decorate no-decorate follow reverse first-parent merges no-merges
  abbrev-commit since until after before author committer grep format pretty date max-count skip
  branches tags`.split(/\s+/);

/**
 * The short options of git are complete words, because git reads the letters of one word in several parsers. For
 * example, `git log` reads `-pn` as `-p` and an unknown option, and `git blame` reads `-CL` as `-C` with a value.
 * Both then read the next word as an option.
 */
const diffWords = '-p -u -s -w -b -R -M -z'.split(' ');

const wholeTree: ReadOnlyProgram = {
  operands: 'paths',
  recursiveOptions: 'always',
  defaultPath: '.',
  showsHistory: true,
};

/**
 * The git subcommands that only read when they are used with these options. Operands may also be commits,
 * which are always inside the repository.
 */
export const readOnlyGitCommands: ReadonlyMap<string, ReadOnlyProgram> = new Map([
  [
    'status',
    {
      ...{ operands: 'paths', defaultPath: '.', shows: 'names' },
      words: '-s -b -z -sb -bs -u -uno -unormal -uall'.split(' '),
      long: 'short branch porcelain long show-stash untracked-files ignored renames'.split(' '),
    },
  ],
  ['diff', { ...wholeTree, words: diffWords, numbered: 'UM', long: diffOptions }],
  [
    'log',
    {
      ...{ ...wholeTree, words: [...diffWords, '-i'], numbered: 'UMn' },
      ...{ valuedWords: ['-n'], valued: 'SGL', counts: true },
      long: [...diffOptions, ...logOptions],
    },
  ],
  [
    'show',
    {
      ...{ ...wholeTree, words: diffWords, numbered: 'UM' },
      long: [...diffOptions, ...logOptions],
    },
  ],
  ['blame', { ...wholeTree, words: '-w -M -C -e -l -n -s'.split(' '), valued: 'L' }],
  [
    'ls-files',
    {
      ...wholeTree,
      shows: 'names',
      words: '-c -d -m -o -s -z'.split(' '),
      long: ['others', 'cached', 'modified', 'exclude-standard'],
    },
  ],
  [
    'rev-parse',
    {
      operands: 'text',
      long: 'abbrev-ref short show-toplevel verify is-inside-work-tree git-dir'.split(' '),
    },
  ],
  // `git branch` with a name creates a branch, so operands are not accepted.
  [
    'branch',
    {
      operands: 'none',
      words: '-a -v -vv -r -av -avv -va -vva -rv -rvv -vr -vvr'.split(' '),
      long: ['all', 'remotes', 'show-current', 'list'],
    },
  ],
]);
