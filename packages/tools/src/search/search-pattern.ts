/** What is looked for in a line. */
export interface SearchPattern {
  readonly source: string;
  readonly flags: string;
}

export interface PatternOptions {
  readonly isLiteral: boolean;
  readonly ignoresCase: boolean;
}

/** Throws, in words for a model, where it is not a regular expression. */
export function searchPattern(
  pattern: string,
  { isLiteral, ignoresCase }: PatternOptions,
): SearchPattern {
  const flags = ignoresCase ? 'i' : '';
  if (isLiteral) return { source: pattern.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), flags };
  // `(?i)` in front, as other engines have it.
  const [head = '', named = ''] = /^\(\?([ims]+)\)/.exec(pattern) ?? [];
  const all = [...new Set(flags + named)].join('');
  const source = pattern.slice(head.length);
  // Unicode where it can be: without, `.` is half an emoji. Many patterns have escapes that only the old way takes.
  const kinds = [`${all}u`, all];
  const taken = kinds.find((kind) => problemOf(source, kind) === undefined);
  if (taken === undefined) throw notPattern(pattern, problemOf(source, all));
  return { source, flags: taken };
}

function problemOf(source: string, flags: string): string | undefined {
  try {
    new RegExp(source, flags);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function notPattern(pattern: string, problem = ''): Error {
  // The engine's message repeats the pattern, which may be long.
  const why = problem.slice(problem.lastIndexOf(': ') + 2);
  const state = `it is not a regular expression of JavaScript: ${why}`;
  const wayOut = 'Escape what is meant as it stands with a backslash, or set literal to true';
  return new Error(
    `Cannot search for ${JSON.stringify(pattern.slice(0, 200))}: ${state}. ${wayOut}`,
  );
}
