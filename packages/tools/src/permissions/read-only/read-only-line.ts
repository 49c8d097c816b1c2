import { splitCommand, type Word } from '../split-command.ts';
import { isReadingUse } from './writing-programs.ts';

/**
 * True if every program of a command line is known to only read. Pipes, `&&`, `||`, `;`, globs, `2>&1` and
 * redirections to `/dev/null` are accepted. Substitutions, variables and other redirections are not.
 *
 * Programs that can write are accepted only with options from a fixed list. A line that passes still needs a
 * sandbox, because the files that it reads are not checked. Use the result only to choose a sandbox that
 * allows no changes and no network.
 *
 * @example
 * isReadOnlyLine("git log --oneline | head -5"); // true
 * isReadOnlyLine('find . -delete'); // false
 */
export function isReadOnlyLine(line: string): boolean {
  const { parts, unsupportedSyntax } = splitCommand(line);
  return unsupportedSyntax === undefined && parts.length > 0 && parts.every(isReader);
}

function isReader([program, ...rest]: readonly Word[]): boolean {
  if (program?.isPlain !== true) return false;
  const words = rest.map(({ text }) => text);
  if (versionPrograms.has(program.text)) return words.length === 1 && isVersion(words[0] ?? '');
  if (program.text === 'git') return isReadingGit(words);
  if (program.text === 'sed') return isReadingSed(words);
  if (evaluators.has(program.text))
    return rest.every(
      ({ text, isPlain }) => isPlain && !/^-[vR]/.test(text) && !setsName.test(text),
    );
  return isReadingUse(program.text, words) ?? readers.has(program.text);
}

/** The programs that only read, with any arguments. */
const readers: ReadonlySet<string> = new Set(
  `[ b2sum basename cat cd cksum cmp column comm cut df diff dirname du echo egrep expand expr false
  fgrep fmt fold grep head hexdump id join jq ls md5sum nl nproc numfmt od paste pr printf pwd
  readlink realpath rev seq sha1sum sha224sum sha256sum sha384sum sha512sum stat strings sum tac tail
  test tr true tsort type uname unexpand wc which whoami`.split(/\s+/),
);

/**
 * The bash commands whose options -v and -R accept the name of a variable. Bash executes commands inside such
 * a name, as in `test -v 'a[$(id)]'`. `printf -v PATH` changes the search path for the rest of the line.
 */
const evaluators: ReadonlySet<string> = new Set(['[', 'test', 'printf']);

/**
 * Matches the format `%n`. `printf %n PATH` stores a number in the variable PATH. Bash then searches for
 * programs in a folder with this number as its name.
 */
const setsName = /%[-+ #'*.$\d]*[hlLjztq]*n/;

/** The programs that can run any code, but only print their version with these options. */
const versionPrograms: ReadonlySet<string> = new Set(
  `bun bundle cargo clang cmake composer deno docker dotnet g++ gcc go gradle java javac kotlin make
  mvn node npm npx perl php pip pip3 pnpm poetry python python3 ruby rustc rustup swift tsc uv
  yarn`.split(/\s+/),
);

function isVersion(word: string): boolean {
  return ['--version', '-version', '-V', '-v', 'version'].includes(word);
}

/**
 * True if git is a program of the line and probably changes a repository. Other programs of the line can start git
 * too. Use the result only to ask for a permission: a command without the permission cannot change a repository.
 */
export function changesGit(line: string): boolean {
  return splitCommand(line).parts.some(
    ([program, ...rest]) =>
      program?.text === 'git' && !isUsuallyReading(withoutPlaces(rest.map(({ text }) => text))),
  );
}

function isUsuallyReading(words: readonly string[]): boolean {
  const [name = '', first = ''] = words;
  return (
    usualReaders.has(name) || usualLists.get(name)?.test(first) === true || isReadingGit(words)
  );
}

/** The git subcommands that do not change a repository, but can do other things. */
const usualReaders: ReadonlySet<string> = new Set(
  `archive check-attr check-mailmap cherry diff-files diff-index fsck help ls-remote range-diff var
  verify-commit verify-tag`.split(/\s+/),
);

/** The git subcommands that usually only list data if the pattern matches their first argument. */
const usualLists: ReadonlyMap<string, RegExp> = new Map([
  ['branch', /^(?:--list|-l)$/],
  ['config', /^(?:--get.*|--list|-l|get|list)$/],
  ['notes', /^(?:show|list)$/],
  ['remote', /^(?:show|get-url)$/],
  ['stash', /^(?:show|list)$/],
  ['submodule', /^(?:status|summary)$/],
  ['tag', /^(?:-l|--list|-n\d*|--contains|--points-at|--merged)$/],
]);

/** Returns the words of a git command without the options that choose a folder or a setting. */
function withoutPlaces([option = '', ...rest]: readonly string[]): readonly string[] {
  if (option === '-C' || option === '-c') return withoutPlaces(rest.slice(1));
  return [option, ...rest];
}

const gitReaders: ReadonlySet<string> = new Set(
  `blame cat-file check-ignore count-objects describe diff diff-tree for-each-ref grep log ls-files
  ls-tree merge-base name-rev reflog rev-list rev-parse shortlog show show-ref status version
  whatchanged`.split(/\s+/),
);

/** The git subcommands that only list data if the pattern matches all their arguments. */
const gitLists: ReadonlyMap<string, RegExp> = new Map([
  ['branch', /^(?:-[avr]+|--(?:all|remotes|list|show-current|merged|no-merged|contains|sort=.*))$/],
  ['config', /^(?:--(?:get|get-all|list|show-origin|show-scope|name-only)|-l|\w[\w.-]*)$/],
  ['remote', /^(?:-v|--verbose|get-url|\w[\w.-]*)$/],
  ['stash', /^(?:list|show)$/],
  ['tag', /^(?:-[ln]\d*|--(?:list|sort=.*|contains|merged))$/],
  ['worktree', /^list$/],
]);

function isReadingGit(words: readonly string[]): boolean {
  const start = words[0] === '--no-pager' ? 1 : 0;
  const [name = '', ...rest] = words.slice(start);
  if (name === '--version') return rest.length === 0;
  if (name === 'remote' || name === 'config') return isReadingPair(name, rest);
  if (name === 'reflog' && !/^(?:show|-.*|)$/.test(rest[0] ?? '')) return false;
  const lists = gitLists.get(name);
  if (lists !== undefined)
    return (name !== 'stash' || rest.length > 0) && rest.every((word) => lists.test(word));
  return gitReaders.has(name) && !rest.some((word) => /^(?:--o[up]|-[a-zA-Z]*O)/.test(word));
}

/**
 * True if the command only reads settings. With a different number of words, `git remote` and `git config`
 * change settings.
 */
function isReadingPair(name: 'remote' | 'config', words: readonly string[]): boolean {
  const isKnown = words.every((word) => gitLists.get(name)?.test(word));
  if (name === 'remote')
    return isKnown && (words.length === 0 || /^(?:-v|--verbose|get-url)$/.test(words[0] ?? ''));
  return isKnown && /^(?:--get|--get-all|--list|-l)$/.test(words[0] ?? '');
}

/**
 * Matches one sed command that prints, deletes, replaces or ends, without the flags `w` and `e`. Adjacent
 * repetitions never match the same character, so the match takes linear time even if it fails.
 */
const sedCommand =
  /^(?:(?:\d+|\$|\/[^/\\]*\/)(?:,(?:\+?\d+|\$|\/[^/\\]*\/))?\s*(?:!\s*)?)?(?:[pdq=]|s([/|#,])(?:(?!\1)[^\\]|\\.)*\1(?:(?!\1)[^\\]|\\.)*\1[gpiI0-9]*)?$/;

function isReadingSed(words: readonly string[]): boolean {
  const options = words.filter((word) => /^-./.test(word));
  if (!options.every((word) => /^-(?:[nErsz]+|-quiet|-silent|-regexp-extended|e)$/.test(word)))
    return false;
  const scripts = words.includes('-e')
    ? words.filter((_, at) => words[at - 1] === '-e')
    : words.filter((word) => !options.includes(word)).slice(0, 1);
  return scripts.length > 0 && scripts.every((script) => script.split(';').every(isSedCommand));
}

function isSedCommand(text: string): boolean {
  return sedCommand.test(text.trim());
}
