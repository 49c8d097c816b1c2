import picomatch from 'picomatch';

interface GlobOptions {
  readonly nocase?: boolean;
}

/** Maximum numbers of wildcards. The time for a match grows with the power of these numbers. */
const maxStarsInName = 4;
const maxGroupsInName = 3;
const maxGlobstars = 8;

/**
 * Returns the reason why a glob of a rule is not used: a match could take hours. The tools that search stop a
 * glob of a model instead.
 */
export function globProblem(glob: string): string | undefined {
  const names = glob.split('/');
  if (names.filter((name) => name.includes('**')).length > maxGlobstars)
    return `it has more than ${maxGlobstars} parts with **`;
  for (const name of names) {
    if ((name.match(/\*+|[?+@!](?=\()/g) ?? []).length > maxStarsInName)
      return `a name in it has more than ${maxStarsInName} wildcards`;
    if ((name.match(/[{(]/g) ?? []).length > maxGroupsInName)
      return `a name in it has more than ${maxGroupsInName} groups`;
  }
  return undefined;
}

/** Returns a function that tests whether a path matches a glob. An empty glob matches every path. */
export function compileGlob(
  glob: string,
  { nocase = false }: GlobOptions = {},
): (path: string) => boolean {
  return picomatch(escapePlainParentheses(glob) || '**', { dot: true, nocase });
}

/**
 * Escapes the parentheses of folder names such as `(group)`, because picomatch would treat them as an
 * expression. Parentheses after `@`, `?`, `*`, `+` and `!` stay glob syntax.
 */
function escapePlainParentheses(glob: string): string {
  return glob.replace(/(?<![@?*+!\\])\(([^()]*)\)/g, '\\($1\\)');
}
