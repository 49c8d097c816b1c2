import picomatch from 'picomatch';

interface GlobOptions {
  readonly nocase?: boolean;
}

/** Whether a path fits a glob; nothing at all is as good as everything. */
export function compileGlob(
  glob: string,
  { nocase = false }: GlobOptions = {},
): (path: string) => boolean {
  return picomatch(escapePlainParentheses(glob) || '**', { dot: true, nocase });
}

/**
 * Folders are called `(group)`, and picomatch would take that as an expression. After `@`, `?`, `*`, `+`
 * and `!` parentheses are what they are in globs.
 */
function escapePlainParentheses(glob: string): string {
  return glob.replace(/(?<![@?*+!\\])\(([^()]*)\)/g, '\\($1\\)');
}
