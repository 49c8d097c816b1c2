import picomatch from 'picomatch';

interface GlobOptions {
  readonly nocase?: boolean;
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
