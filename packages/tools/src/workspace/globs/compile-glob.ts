import picomatch from 'picomatch';
import { foldName, isAscii } from './folded-names.ts';
import { translateGlob } from './translate-glob.ts';

interface GlobOptions {
  /** True if the glob also matches other spellings of a name, such as other letter case. See `foldName`. */
  readonly nocase?: boolean;
}

/** Maximum numbers of wildcards. The time for a match grows with the power of these numbers. */
const maxStarsInName = 4;
const maxGroupsInName = 3;
const maxGlobstars = 8;

/**
 * Returns the reason why a glob of a rule is not used: a match could take hours. A glob that a model writes
 * is not checked in this way, because the search tools stop a search that takes too long.
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
  const { pattern, problem } = translateGlob(escapePlainParentheses(glob), false);
  if (problem !== undefined) return problem;
  return hasLostGroup(pattern) ? 'a group in it is repeated in too many ways' : undefined;
}

/**
 * True if a glob has `|` outside of a group. It is a plain character there, but the user probably means alternatives.
 * With a backslash before it, it is meant as a character.
 */
export function hasPlainBar(glob: string): boolean {
  return translateGlob(escapePlainParentheses(glob), false).hasPlainBar ?? false;
}

/**
 * Returns a function that tests whether a path matches a glob. An empty glob matches every path. A set of
 * characters, a range and an escape mean the same as in a shell.
 */
export function compileGlob(
  glob: string,
  { nocase = false }: GlobOptions = {},
): (path: string) => boolean {
  return nocase ? orFolded(compileAnySpelling(glob)) : compileSpelling(glob, false);
}

/**
 * Returns a function that tests whether a path matches a glob, as `compileGlob` with `nocase` does. The caller must also
 * test the folded form of a path: see `orFolded`. If a path is compared with many globs, it is folded only once.
 */
export function compileAnySpelling(glob: string): (path: string) => boolean {
  const fits = compileSpelling(glob, true);
  if (isAscii(glob)) return fits;
  const fitsFolded = compileSpelling(foldName(glob), true);
  return (path) => fits(path) || fitsFolded(foldName(path));
}

/** Returns a function that also tests the form of a path that `foldName` returns, if the path is not ASCII. */
export function orFolded(fits: (path: string) => boolean): (path: string) => boolean {
  return (path) => fits(path) || (!isAscii(path) && fits(foldName(path)));
}

function compileSpelling(glob: string, nocase: boolean): (path: string) => boolean {
  const translated = translateGlob(escapePlainParentheses(glob), nocase).pattern;
  // Rules that ask or deny ignore the letter case. They also match if the quotes belong to a shell.
  const pattern = nocase ? translated.replaceAll('\\"', '?(\\")') : translated;
  const fits = compilePattern(pattern, nocase);
  if (!excludes(pattern) || !nocase) return glob === pattern ? fits : orSame(glob, fits);
  // `[!A]` excludes only `A` if the file system distinguishes the letter case.
  const fitsCase = compilePattern(pattern, false);
  return orSame(glob, (path) => fits(path) || fitsCase(path));
}

function compilePattern(pattern: string, nocase: boolean): (path: string) => boolean {
  const [whole, before = '', inner = '', after = ''] = exclusion.exec(pattern) ?? [];
  // With the flag `s`, a wildcard also matches a line end at the start of a name.
  const given = { ...options, nocase, flags: nocase ? 'is' : 's' };
  if (whole === undefined) return picomatch(pattern || '**', given);
  // Picomatch would also exclude names that only begin with the group.
  const includes = picomatch(`${before}*${after}`, given);
  const excluded = picomatch(`${before}@(${inner})${after}`, given);
  return (name) => includes(name) && !excluded(name);
}

/** A name with one group that excludes, and plain text around it. */
const exclusion =
  /^((?:[^/\\*?[\]{}()!+@|]|\\[^/])*)!\(([^/()]*)\)((?:[^/\\*?[\]{}()!+@|]|\\[^/])*)$/;

/** True if `compileGlob` knows exactly what a name with `!(a)` excludes. */
export function isExactExclusion(name: string): boolean {
  const { pattern } = translateGlob(escapePlainParentheses(name), true);
  return !pattern.includes('!(') || exclusion.test(pattern);
}

/**
 * A `!` at the start of a name belongs to the name. The fast paths of picomatch treat some characters in other ways.
 */
const options: picomatch.PicomatchOptions = { dot: true, nonegate: true, fastpaths: false };

/** A name such as `[id]` can be a set of characters, or the name of a folder. */
function orSame(glob: string, fits: (path: string) => boolean): (path: string) => boolean {
  return glob === '' ? fits : (path) => path === glob || fits(path);
}

/** True if a set of characters or a group excludes something. */
function excludes(pattern: string): boolean {
  return pattern.includes('[^') || pattern.includes('!(');
}

/** True if picomatch would compare a group such as `+(a|*)` as plain text, because its match could take long. */
function hasLostGroup(pattern: string): boolean {
  if (!/[+*]\(/.test(pattern)) return false;
  const { tokens } = picomatch.parse(pattern, options);
  return tokens.some(({ type, output }) => type === 'text' && /^\\[+*]\\\(/.test(output ?? ''));
}

/** Maximum number of globs that replace a glob with groups. */
const maxAlternatives = 100;

/**
 * Returns globs that together match what a glob matches. No group in them contains a slash or `**`, so each name can be
 * compared with its own part. Each of them begins with a slash, or matches only relative paths. Returns undefined if there are too many of them, or if no such globs exist.
 *
 * @example alternativesOf('{a/b,c}/*.key'); // ['a/b/*.key', 'c/*.key']
 */
export function alternativesOf(glob: string): readonly string[] | undefined {
  const done: string[] = [];
  const pending = [escapePlainParentheses(glob)];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const group = groupToReplace(next);
    if (group === undefined) done.push(next);
    else if (group.parts === undefined) return undefined;
    else pending.push(...group.parts.toReversed().map((part) => group.before + part + group.after));
    if (done.length + pending.length > maxAlternatives) return undefined;
  }
  return done;
}

interface Group {
  readonly before: string;
  readonly after: string;
  /** The texts that can replace the group. Undefined if they cannot be listed. */
  readonly parts: readonly string[] | undefined;
}

/**
 * Returns the first group of a glob that contains a slash or `**`, or can be empty at the start of the glob. Groups in
 * other groups do not count.
 */
function groupToReplace(glob: string): Group | undefined {
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at] ?? '';
    if (char === '\\') at++;
    else if (char === '[') {
      const end = closingBracket(glob, at);
      if (end === undefined) continue;
      if (glob.slice(at, end).includes('/')) return { before: '', after: '', parts: undefined };
      at = end;
    } else if (char === '{' || (char === '(' && /[@?*+!]/.test(glob[at - 1] ?? ''))) {
      const group = groupAt(glob, at);
      if (group === undefined) continue;
      const { end, parts } = group;
      const isGroup = char === '(' || parts.length > 1;
      // A group without alternatives, such as `{a/b}`, is a name.
      const kind = char === '{' ? '@' : glob[at - 1];
      const before = glob.slice(0, char === '{' ? at : at - 1);
      const after = glob.slice(end + 1);
      const text = glob.slice(before.length, end + 1);
      const isSimple = kind === '@' || kind === '?';
      // `{,a}/b` is also `/b`.
      const isEmptyAtStart = before === '' && isSimple && /[{(,|][,|)}]|\?\(/.test(text);
      const needsParts = text.includes('/') || (isSimple && text.includes('**'));
      // In a shell, `{/a}` is a name. The user of such a rule means `/a`.
      if (!isGroup && before === '' && text.startsWith('{/'))
        return { before, after, parts: [...parts, `\\${text.slice(0, -1)}\\}`] };
      if (!isGroup || !(needsParts || isEmptyAtStart)) continue;
      if (!isSimple) return { before, after, parts: undefined };
      return { before, after, parts: kind === '?' ? ['', ...parts] : parts };
    }
  }
  return undefined;
}

/** Returns the end of a set of characters, such as `[a-z]`. Undefined if it has no end. */
function closingBracket(glob: string, start: number): number | undefined {
  const first = /[!^]/.test(glob[start + 1] ?? '') ? start + 2 : start + 1;
  const end = glob.indexOf(']', glob[first] === ']' ? first + 1 : first);
  return end === -1 ? undefined : end;
}

/** Returns the alternatives of a group. Undefined if the group has no end. */
function groupAt(
  glob: string,
  start: number,
): { readonly end: number; readonly parts: readonly string[] } | undefined {
  const separator = glob[start] === '{' ? ',' : '|';
  const parts: string[] = [];
  let [depth, from] = [0, start + 1];
  for (let at = start; at < glob.length; at++) {
    const char = glob[at] ?? '';
    if (char === '\\') at++;
    else if (char === '{' || char === '(') depth++;
    else if (char === '}' || char === ')') depth--;
    if (depth > 0 && !(depth === 1 && char === separator)) continue;
    if (char === '\\') continue;
    parts.push(glob.slice(from, at));
    from = at + 1;
    if (depth === 0) return { end: at, parts };
  }
  return undefined;
}

/**
 * Escapes the parentheses of folder names such as `(group)`, because picomatch would treat them as an
 * expression. Parentheses after `@`, `?`, `*`, `+` and `!` stay glob syntax.
 */
function escapePlainParentheses(glob: string): string {
  return glob.replace(/(?<![@?*+!\\])\(([^()]*)\)/g, '\\($1\\)');
}
