import picomatch from 'picomatch';

interface GlobOptions {
  readonly nocase?: boolean;
}

/** Returns a function that is true for paths that match a glob. An empty glob matches every path. */
export function compileGlob(
  glob: string,
  { nocase = false }: GlobOptions = {},
): (path: string) => boolean {
  return picomatch(escapePlainParentheses(glob) || '**', { dot: true, nocase });
}

/**
 * Escapes the parentheses of folder names such as `(group)`, which picomatch would treat as an
 * expression. After `@`, `?`, `*`, `+` and `!` they keep their meaning as glob syntax.
 */
function escapePlainParentheses(glob: string): string {
  return glob.replace(/(?<![@?*+!\\])\(([^()]*)\)/g, '\\($1\\)');
}
