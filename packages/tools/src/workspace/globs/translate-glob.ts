/** A glob for picomatch. */
interface TranslatedGlob {
  readonly pattern: string;
  /** The reason why a rule with this glob cannot have the intended effect. */
  readonly problem?: string | undefined;
  /** True if the glob contains `|` as a plain character. Default: false. */
  readonly hasPlainBar?: boolean | undefined;
}

/** Maximum number of values of a range such as `{1..10}`. */
const maxRange = 1000;

/**
 * Translates a glob for picomatch. A shell and picomatch treat some parts differently: `[!a]`, `[!a/]`, `{1..10}`,
 * `\d`, quotes, `?` and `+` beside a group, `$$`, and brackets without an end. The result means what the glob means in
 * a shell. Each character that is no part of the syntax is escaped.
 *
 * A class such as `[:alpha:]` contains characters outside of ASCII, which depend on the language of the system. With
 * `isWide`, the result matches all of them. Otherwise it matches none of them.
 */
export function translateGlob(glob: string, isWide: boolean): TranslatedGlob {
  if (/^[\w. /*-]*$/.test(glob)) return { pattern: glob };
  const { syntax, hasOverlap } = syntaxIn(glob);
  let problem = hasOverlap ? 'groups in it overlap' : undefined;
  let pattern = '';
  let hasPlainBar = false;
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at] ?? '';
    const startsGroup = glob[at + 1] === '(' && syntax.has(at + 1);
    if (char === '\\') pattern += escaped(glob[++at] ?? '\\');
    else if (char === '[') {
      const set = setAt(glob, at, isWide);
      if (set?.ranges.length === 0) problem ??= 'a set in it contains no characters';
      pattern += set?.pattern ?? escaped(char);
      at = set?.end ?? at;
    } else if (char === '?') {
      // Picomatch reads `(?` and `)?` as parts of a regular expression.
      pattern += startsGroup ? '@(|' : '[^/]';
      if (startsGroup) at++;
    } else if (char === '*' && !startsGroup) {
      let end = at;
      while (glob[end] === '*') end++;
      // The last star can belong to a group.
      if (glob[end] === '(' && syntax.has(end)) end--;
      // Beside other characters of a name, `**` means the same as `*`.
      const isFirst = isBorder(glob[at - 1]) || (syntax.has(at - 1) && !isClosing(glob[at - 1]));
      const isLast = isBorder(glob[end]) || (syntax.has(end) && glob[end] !== '{');
      pattern += end - at > 1 && isFirst && isLast ? '**' : '*';
      at = end - 1;
    } else if (syntax.has(at) || char === '/' || (/[@*+!]/.test(char) && startsGroup))
      pattern += char;
    else {
      hasPlainBar ||= char === '|';
      const range = char === '{' ? rangeAt(glob, at) : undefined;
      if (range === undefined)
        pattern += pattern.endsWith('.') && char === '.' ? '[.]' : escaped(char);
      else if (range.values === undefined)
        problem ??= `a range in it has more than ${maxRange} values`;
      else pattern += range.values.length === 1 ? range.values[0] : `{${range.values.join(',')}}`;
      at = range?.end ?? at;
    }
  }
  return { pattern, problem, hasPlainBar };
}

/** True if a name can start or end beside the character. */
function isBorder(char: string | undefined): boolean {
  return char === undefined || char === '/';
}

function isClosing(char: string | undefined): boolean {
  return char === '}' || char === ')';
}

interface OpenGroup {
  readonly char: '{' | '(';
  readonly at: number;
  /** True if the brackets belong to the syntax. Braces need a comma, and parentheses a character before them. */
  isSyntax: boolean;
  readonly separators: number[];
}

/** True if a group of the glob contains a slash. The glob then has parts that match several names. */
export function hasGroupWithSlash(glob: string): boolean {
  const { syntax, hasOverlap } = syntaxIn(glob);
  let depth = 0;
  for (let at = 0; at < glob.length; at++) {
    if (!syntax.has(at)) {
      if (glob[at] === '/' && depth > 0) return true;
    } else if (/[{(]/.test(glob[at] ?? '')) depth++;
    else if (/[})]/.test(glob[at] ?? '')) depth--;
  }
  return hasOverlap;
}

/**
 * Returns the positions of the brackets and separators of complete groups, such as `{a,b}` and `@(a|b)`. All other
 * brackets and separators are plain characters. Overlapping groups, such as `{a,@(b}|c)`, have no clear meaning.
 */
function syntaxIn(glob: string): {
  readonly syntax: ReadonlySet<number>;
  readonly hasOverlap: boolean;
} {
  const syntax = new Set<number>();
  const open: OpenGroup[] = [];
  let hasOverlap = false;
  const close = (at: number) => {
    const group = open.pop();
    if (group?.isSyntax) for (const one of [group.at, ...group.separators, at]) syntax.add(one);
  };
  const hasOpen = (char: string) => open.some((group) => group.char === char && group.isSyntax);
  for (let at = 0; at < glob.length; at++) {
    const last = open.at(-1);
    switch (glob[at]) {
      case '\\':
        at++;
        break;
      case '[':
        at = setAt(glob, at)?.end ?? at;
        break;
      case '{': {
        const range = rangeAt(glob, at);
        if (range === undefined) open.push({ char: '{', at, isSyntax: false, separators: [] });
        at = range?.end ?? at;
        break;
      }
      case '(': {
        const isSyntax = /(?:^|[^\\])(?:\\\\)*[@?*+!]$/.test(glob.slice(0, at));
        open.push({ char: '(', at, isSyntax, separators: [] });
        break;
      }
      case ',':
        if (last?.char === '{') {
          last.isSyntax = true;
          last.separators.push(at);
        } else if (open.some(({ char }) => char === '{')) hasOverlap ||= hasOpen('(');
        break;
      case '|':
        if (last?.char === '(') last.separators.push(at);
        else hasOverlap ||= last !== undefined && hasOpen('(');
        break;
      case '}':
      case ')': {
        const char = glob[at] === '}' ? '{' : '(';
        const start = open.findLastIndex((group) => group.char === char);
        if (start === -1) break;
        // Groups that end later than the group around them.
        hasOverlap ||= open.splice(start + 1).some(({ isSyntax }) => isSyntax);
        close(at);
        break;
      }
    }
  }
  return { syntax, hasOverlap };
}

/** Returns a character as plain text. A letter after a backslash would be an expression, such as `\d`. */
function escaped(char: string): string {
  // Picomatch merges several backslashes.
  if (char === '\\') return '[\\x5c]';
  return /[\w. /-]/.test(char) || char > '\x7f' ? char : `\\${char}`;
}

interface CharacterSet {
  readonly end: number;
  readonly pattern: string;
  readonly ranges: readonly CharacterRange[];
}

/** The codes of the first and the last character. */
type CharacterRange = readonly [number, number];

const slash = 0x2f;

const classes: Readonly<Record<string, string>> = {
  ...{ alnum: 'AZaz09', alpha: 'AZaz', lower: 'az', upper: 'AZ', digit: '09', xdigit: 'AFaf09' },
  ...{ blank: '\t\t  ', cntrl: '\0\x1f\x7f\x7f', graph: '!~', print: ' ~', space: '\t\r  ' },
  ...{ punct: '!/:@[`{~', ascii: '\0\x7f', word: 'AZaz09__' },
};

/** Returns the set of characters that starts at a bracket. Undefined if it has no end, or contains a slash. */
function setAt(glob: string, start: number, isWide = false): CharacterSet | undefined {
  const isNegative = /[!^]/.test(glob[start + 1] ?? '');
  const first = isNegative ? start + 2 : start + 1;
  const ranges: CharacterRange[] = [];
  for (let at = first; at < glob.length; ) {
    if (glob[at] === ']' && at > first)
      return { end: at, ranges, pattern: setPattern(ranges, isNegative) };
    const [whole = '', name = ''] = /^\[:(\w+):\]/.exec(glob.slice(at, at + 12)) ?? [];
    const known = Object.hasOwn(classes, name) ? classes[name] : undefined;
    if (known !== undefined) {
      for (let part = 0; part < known.length; part += 2)
        ranges.push([known.charCodeAt(part), known.charCodeAt(part + 1)]);
      if (!/digit|ascii/.test(name) && isWide !== isNegative) ranges.push([0x80, 0xffff]);
      at += whole.length;
      continue;
    }
    const from = memberAt(glob, at);
    const isRange = glob[from.end] === '-' && (glob[from.end + 1] ?? ']') !== ']';
    const to = isRange ? memberAt(glob, from.end + 1) : from;
    if ([from.code, to.code].includes(slash)) return undefined;
    if (from.code <= to.code) ranges.push([from.code, to.code]);
    at = to.end;
  }
  return undefined;
}

/** Returns the code of a character in a set, and the position after it. */
function memberAt(glob: string, at: number): { readonly code: number; readonly end: number } {
  const place = glob[at] === '\\' && at + 1 < glob.length ? at + 1 : at;
  return { code: glob.charCodeAt(place), end: place + 1 };
}

/** Returns a set for picomatch. No set contains a slash. */
function setPattern(ranges: readonly CharacterRange[], isNegative: boolean): string {
  const members = ranges.flatMap(([from, to]): readonly CharacterRange[] => {
    if (isNegative || from > slash || to < slash) return [[from, to]];
    return [[from, slash - 1] as const, [slash + 1, to] as const].filter(([a, b]) => a <= b);
  });
  // Nothing matches the negation of all characters.
  if (members.length === 0 && !isNegative) return '[^\\x00-\\uffff]';
  const text = members.map(([from, to]) =>
    from === to ? member(from) : `${member(from)}-${member(to)}`,
  );
  return `[${isNegative ? '^' : ''}${text.join('')}${isNegative ? member(slash) : ''}]`;
}

function member(code: number): string {
  const char = String.fromCharCode(code);
  const isPlain = code > 0x7f || /\w/.test(char);
  return isPlain ? char : `\\x${code.toString(16).padStart(2, '0')}`;
}

/** Returns the values of the range that starts at a brace. The values are undefined if there are too many. */
function rangeAt(
  glob: string,
  start: number,
): { readonly end: number; readonly values: readonly string[] | undefined } | undefined {
  const part = glob.slice(start, start + 80);
  const [whole, from = '', to = '', step = '1'] =
    /^\{(-?\d{1,15})\.\.(-?\d{1,15})(?:\.\.(-?\d{1,15}))?\}/.exec(part) ??
    /^\{([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,15}))?\}/.exec(part) ??
    [];
  if (whole === undefined) return undefined;
  const isNumber = /\d/.test(from);
  const [first, last] = [from, to].map((text) => (isNumber ? Number(text) : text.charCodeAt(0)));
  const distance = Math.abs((last ?? 0) - (first ?? 0));
  const by = Math.abs(Number(step)) || 1;
  const count = Math.floor(distance / by) + 1;
  const end = start + whole.length - 1;
  if (count > maxRange) return { end, values: undefined };
  const width = /^-?0\d/m.test(`${from}\n${to}`) ? Math.max(from.length, to.length) : 0;
  const direction = (last ?? 0) < (first ?? 0) ? -by : by;
  const values = Array.from({ length: count }, (_, at) => {
    const value = (first ?? 0) + at * direction;
    return isNumber ? padded(value, width) : escaped(String.fromCharCode(value));
  });
  return { end, values };
}

function padded(value: number, width: number): string {
  const sign = value < 0 ? '-' : '';
  return `${sign}${String(Math.abs(value)).padStart(width - sign.length, '0')}`;
}
