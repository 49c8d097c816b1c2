import { foldName } from '../workspace/globs/folded-names.ts';
import { anyTest, type LexicalPath, lexicalPath } from '../workspace/match-path.ts';
import { splitGlob } from '../workspace/real-globs.ts';
import type { CommandPart } from './match-command.ts';
import type { CompiledRule } from './permission-rule.ts';
import { type AskedPath, askedPathsOf } from './read-only/asked-paths.ts';
import { parseReadOnlyCommand, type ReadPath } from './read-only/read-only-command.ts';
import { baseName, isLauncher, type Word } from './split-command.ts';
import type { PathCall } from './tool-kinds.ts';

/** True if a rule denies paths. */
export function isDeniedPath({ rule, about }: CompiledRule): boolean {
  return about === 'path' && rule.decision === 'deny';
}

const words = (text: string): readonly string[] => text.split(/\s+/);

/**
 * The git commands that print no content of files, with the options that do not change this. For example, the
 * commands `git status -v`, `git add -p` and `git config --blob` print content.
 */
const silentGitCommands: ReadonlyMap<string, readonly string[]> = new Map([
  ['add', words('-A -u -n -N -f --all --update --dry-run --intent-to-add --force')],
  [
    'branch',
    words(`-a -r -v -vv -d -D -m -M -c -f -u -t --all --remotes --list --show-current --delete --move
      --merged --no-merged --contains --set-upstream-to --force --track`),
  ],
  ['check-ignore', words('-q -v -n --quiet --verbose --non-matching --no-index')],
  [
    'commit',
    words(`-m -a -q -s -am -qm -sm -aqm -qam -asm --message --all --quiet --signoff --amend --no-edit
      --allow-empty --no-verify --author --date`),
  ],
  [
    'config',
    words(`-l --get --get-all --list --add --unset --unset-all --local --global --name-only
      --show-origin --show-scope --bool --int --type --default`),
  ],
  ['fetch', words('-a -p -t -q -n --all --prune --tags --no-tags --quiet --depth --unshallow')],
  ['init', words('-q -b --quiet --bare --initial-branch')],
  [
    'ls-files',
    words(`-c -d -m -o -s -z --cached --deleted --modified --others --stage --exclude-standard
      --error-unmatch`),
  ],
  [
    'push',
    words('-u -q -n -f -d --set-upstream --quiet --dry-run --force --force-with-lease --tags'),
  ],
  ['remote', words('-v --verbose')],
  [
    'rev-parse',
    words(`--abbrev-ref --short --show-toplevel --verify --is-inside-work-tree --git-dir --quiet`),
  ],
  [
    'status',
    words(`-s -b -sb -bs -z -u -uno -unormal -uall --short --branch --porcelain --long --show-stash
      --untracked-files --ignored`),
  ],
  ['tag', words('-a -m -am -d -l -f -s --annotate --message --delete --list --force --sign')],
]);

/**
 * True if a command may print older versions of files from a git repository. In a line with unsupported syntax, and
 * after a program that starts other programs, each mention of git counts.
 */
export function mayShowHistory({ line, words: given, unsupportedSyntax }: CommandPart): boolean {
  const isHidden = unsupportedSyntax !== undefined || isLauncher(given.map(({ text }) => text));
  if (isHidden && /(?:^|[^\w.-])git(?![\w.])/i.test(line)) return true;
  const isGit = ({ text }: Word) => /^git(?:-|$)/i.test(baseName(text));
  const [program, ...rest] = given;
  if (program !== undefined && isGit(program)) return !isSilentGit(given);
  return rest.some(isGit) && parseReadOnlyCommand(given) === undefined;
}

function isSilentGit([program, subcommand, ...rest]: readonly Word[]): boolean {
  const isGit = baseName(program?.text ?? '').toLowerCase() === 'git';
  if (!isGit || !subcommand?.isPlain) return false;
  const options = silentGitCommands.get(subcommand.text);
  return (
    options !== undefined &&
    rest.every(({ text, isPlain }) => {
      // The shell could replace a wildcard at the start of a word by an option.
      if (!isPlain && !/^\w[\w./@+,*?-]*$/.test(text)) return false;
      return !text.startsWith('-') || text === '--' || options.includes(text.replace(/=.*/s, ''));
    })
  );
}

/**
 * Returns false if a rule denies this path. For a search, it also returns false if a rule may deny a path
 * below. The caller must resolve links before the call.
 */
export function mayReach(
  rules: readonly CompiledRule[],
  root: string,
  { path: given, kind }: ReadPath,
): boolean {
  const path = lexicalPath(root, given);
  return !rules.some(
    (one) =>
      isDeniedPath(one) &&
      (one.matchesPath(path) || (kind === 'search' && isDeniedBelow(one, path))),
  );
}

/** See `PermissionPolicy.deniedEntries`. */
export function deniedEntries(
  rules: readonly CompiledRule[],
  root: string,
): (folder: string) => (name: string) => boolean {
  const denying = rules.filter(isDeniedPath);
  return (folder) => {
    const path = lexicalPath(root, folder);
    const tests = denying.flatMap(({ testsIn }) => testsIn(path));
    return anyTest(path, tests, (entry) => denying.some((one) => one.matchesPath(entry)));
  };
}

/**
 * Returns the reason to ask about a path that the rules allow. A search of a folder would show a denied path, a call
 * may delete the link of a rule, or a rule has too many links to follow. Returns undefined if there is no reason.
 */
export function reasonToAsk(
  rules: readonly CompiledRule[],
  { kind, path, skipsDenied, skipsAsked, isNamesOnly, isHistory }: PathCall,
  deciding: CompiledRule | undefined,
): string | undefined {
  if (deciding?.isRemembered) return undefined;
  const isSearched = kind === 'search' && !skipsDenied;
  const denied = isSearched ? rules.find((one) => isDeniedBelow(one, path)) : undefined;
  if (denied !== undefined)
    return `A search of ${path.shown} would show ${denied.rule.path}, which is denied`;
  const showsContent = isHistory || (isNamesOnly !== true && !skipsAsked);
  const asked = kind === 'search' && showsContent ? askedBelow(rules, path) : undefined;
  if (asked !== undefined)
    return `A search of ${path.shown} would show ${asked}, which needs approval`;
  const isLinkOf = (one: CompiledRule) => isDeniedPath(one) && one.links().includes(path.absolute);
  const linked = kind === 'write' ? rules.find(isLinkOf) : undefined;
  if (linked !== undefined)
    return `${path.shown} is a link through which the rule for ${linked.rule.path} leads`;
  const unclear = rules.find(
    (one) => one.mayCoverMore() && (isDeniedPath(one) || askedPathsOf(rules).length > 0),
  );
  return (
    unclear &&
    `The rule for ${unclear.rule.path} has too many links to follow, so it may cover ${path.shown}`
  );
}

/** True if a rule may deny a path inside the folder. */
function isDeniedBelow(rule: CompiledRule, folder: LexicalPath): boolean {
  return isDeniedPath(rule) && rule.globs().some((glob) => mayMatchBelow(glob, folder));
}

/** Returns the path of a rule that may ask about a path inside the folder. */
function askedBelow(rules: readonly CompiledRule[], folder: LexicalPath): string | undefined {
  return askedPathsOf(rules).find((one) => one.decision === 'ask' && mayMatchBelow(one, folder))
    ?.glob;
}

function mayMatchBelow(
  { glob, exact }: Pick<AskedPath, 'glob' | 'exact'>,
  { shown, absolute }: LexicalPath,
): boolean {
  // A glob without a slash matches names in any folder.
  if (!exact && !glob.includes('/')) return true;
  const base = folderPrefix(exact ? glob : splitGlob(glob).base);
  const folder = folderPrefix(glob.startsWith('/') ? absolute : shown);
  return base.startsWith(folder) || folder.startsWith(base);
}

function folderPrefix(path: string): string {
  const plain = foldName(path.replace(/^\.\/?/, '').replace(/\/$/, ''));
  return path === '' || path === '.' ? '' : `${plain}/`;
}
