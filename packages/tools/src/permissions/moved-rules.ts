import { AgentError } from '@millrace/agent';
import { compileGlob } from '../workspace/globs/compile-glob.ts';
import { foldName } from '../workspace/globs/folded-names.ts';
import { lexicalPath } from '../workspace/match-path.ts';
import { escapeGlob, linkedGlobs, splitGlob } from '../workspace/real-globs.ts';
import type { PermissionRule } from './permission-rule.ts';

/**
 * Returns rules that decide in a copy of a folder as the given rules decide in the folder. Relative paths apply
 * in each folder. For an absolute path that is in the folder, or a glob that can match such paths, the result
 * also has a rule with the same path in the copy. A rule that asks or denies can name the folder through a link.
 * Both folders must be real paths. Throws for a glob whose folders cannot be compared.
 *
 * With `coversFolder`, a relative rule that asks or denies also covers the folder itself. Without a sandbox, a command
 * in the copy can name a path of the folder.
 */
export function movedRules(
  rules: readonly PermissionRule[],
  from: string,
  to: string,
  { coversFolder = false }: { readonly coversFolder?: boolean } = {},
): readonly PermissionRule[] {
  return rules.flatMap((rule) => [
    rule,
    ...movedGlobs(rule, from, to).map((path) => ({ ...rule, path })),
    ...(coversFolder ? absoluteRule(rule, from) : []),
  ]);
}

/** Returns a relative rule that asks or denies with the absolute path of its folder, and none for other rules. */
function absoluteRule(rule: PermissionRule, folder: string): readonly PermissionRule[] {
  const { path, exact = false, decision } = rule;
  if (path === undefined || path.startsWith('/') || decision === 'allow') return [];
  const start = exact ? folder : escapeGlob(folder);
  // A glob without a slash matches names in any folder.
  const between = exact || path.includes('/') ? '' : '**/';
  return [{ ...rule, path: `${start}/${between}${path}` }];
}

function movedGlobs(rule: PermissionRule, from: string, to: string): readonly string[] {
  const { path, exact = false, decision } = rule;
  if (path === undefined) return [];
  const moved = movedGlob(rule, from, to);
  if (decision === 'allow') return moved;
  const behindLinks = linkedGlobs(from, path, exact).globs.flatMap((glob) =>
    movedGlob({ ...rule, path: glob, exact: false }, from, to),
  );
  // An exact path can contain wildcards, so it can be equal only to the path itself.
  return [...moved, ...(exact ? behindLinks.map(unescaped) : behindLinks)];
}

function unescaped(glob: string): string {
  return glob.replace(/\\(.)/g, '$1');
}

function movedGlob(rule: PermissionRule, from: string, to: string): readonly string[] {
  const { path = '', exact = false, decision } = rule;
  if (!path.startsWith('/')) return [];
  const nocase = decision !== 'allow';
  if (exact) {
    const [given, folder] = nocase ? [foldName(path), foldName(from)] : [path, from];
    if (!lexicalPath(folder, given).isInside) return [];
    return [inFolder(to, restOf(path, from))];
  }
  // The folders of the path before its first wildcard.
  const { base, rest } = splitGlob(path);
  const [plain, folder] = nocase ? [foldName(base), foldName(from)] : [base, from];
  if (lexicalPath(folder, plain).isInside)
    return [[escapeGlob(inFolder(to, restOf(base, from))), rest].filter(isNamed).join('/')];
  if (!lexicalPath(plain, folder).isInside) return [];
  // A group can contain slashes, so its names cannot be compared one by one.
  if (/\{|[@?*+!]\(/.test(path)) throw cannotMoveError(path);
  const folders = namesOf(from);
  const names = namesOf(path);
  // A rule that asks or denies also covers everything below a match. A folder above the copy then covers the copy.
  const rests = restsBelow(names, folders, nocase);
  return rests.map((rest) => [escapeGlob(to), ...(rest.length === 0 ? ['**'] : rest)].join('/'));
}

/**
 * Returns what is left of a glob after its first names have matched the folders. `**` matches any number of
 * folders, so there can be several rests. An empty rest stands for everything in the last folder.
 */
export function restsBelow(
  glob: readonly string[],
  folders: readonly string[],
  nocase: boolean,
  compile: (name: string) => (folder: string) => boolean = (name) => compileGlob(name, { nocase }),
): readonly (readonly string[])[] {
  let starts = new Set([0]);
  const isWide = nocase;
  let isCovered = false;
  for (const folder of folders) {
    const next = new Set<number>();
    for (const start of skipGlobstars(glob, starts)) {
      const name = glob[start];
      if (name === undefined) isCovered ||= isWide;
      else if (name === '**') next.add(start);
      else if (compile(name)(folder)) next.add(start + 1);
    }
    starts = next;
  }
  const ends = [...skipGlobstars(glob, starts)].map((start) => glob.slice(start));
  const rests = isWide ? ends : ends.filter((rest) => rest.length > 0);
  return isCovered ? [[]] : rests;
}

/** Adds the positions after `**`, which can also match no folder. */
function skipGlobstars(glob: readonly string[], starts: ReadonlySet<number>): ReadonlySet<number> {
  const all = new Set(starts);
  for (const start of all) if (glob[start] === '**') all.add(start + 1);
  return all;
}

/** Returns the names of a path after those of a folder. The folder can have another spelling, and another length. */
function restOf(path: string, folder: string): readonly string[] {
  return namesOf(path).slice(namesOf(folder).length);
}

function inFolder(folder: string, names: readonly string[]): string {
  return [folder, ...names].join('/');
}

function namesOf(path: string): readonly string[] {
  return path.split('/').filter(isNamed);
}

const isNamed = (part: string) => part !== '';

function cannotMoveError(path: string): AgentError {
  const way = 'Write it without braces and groups, or relative to the folder';
  return new AgentError(
    'bad_option',
    `Cannot use a rule with the path ${path} in a copy of the folder. ${way}`,
  );
}
