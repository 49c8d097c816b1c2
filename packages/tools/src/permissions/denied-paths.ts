import { foldName } from '../workspace/globs/folded-names.ts';
import { anyTest, type LexicalPath, lexicalPath } from '../workspace/match-path.ts';
import { splitGlob } from '../workspace/real-globs.ts';
import type { CompiledRule } from './permission-rule.ts';
import { type AskedPath, askedPathsOf } from './read-only/asked-paths.ts';
import type { ReadPath } from './read-only/read-only-command.ts';
import { baseName, type Word } from './split-command.ts';
import type { PathCall } from './tool-kinds.ts';

/** True if a rule denies paths. */
export function isDeniedPath({ rule, about }: CompiledRule): boolean {
  return about === 'path' && rule.decision === 'deny';
}

/** The git commands that print no content of files. */
const silentGitCommands: ReadonlySet<string> = new Set(
  `add branch check-ignore commit config fetch init ls-files push remote rev-parse status tag`.split(
    ' ',
  ),
);

/** True if a command may print older versions of files from a git repository. */
export function mayShowHistory([program, subcommand]: readonly Word[]): boolean {
  if (baseName(program?.text ?? '').toLowerCase() !== 'git') return false;
  return !subcommand?.isPlain || !silentGitCommands.has(subcommand.text);
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
