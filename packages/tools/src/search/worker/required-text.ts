/**
 * Returns a text that every match of a regular expression contains. A search for this text is faster than the
 * expression. Returns undefined if the function finds none. The text has only ASCII characters.
 */
export function requiredText({
  source,
  flags,
}: Pick<RegExp, 'source' | 'flags'>): string | undefined {
  // A match can have other letters than the expression.
  if (flags.includes('i')) return undefined;
  let [longest, run] = ['', ''];
  const endRun = () => {
    if (run.length > longest.length) longest = run;
    run = '';
  };
  for (let at = 0; at < source.length; ) {
    const { text, length } = tokenAt(source, at);
    // This token can change the meaning of the rest of the expression, so no text is certain.
    if (length === 0) return undefined;
    at += length;
    const quantifier = quantifierAt(source, at);
    at += quantifier.length;
    const isRequired = text !== undefined && !/^(?:[*?]|\{0)/.test(quantifier);
    if (isRequired) run += text;
    if (!isRequired || quantifier !== '') endRun();
  }
  endRun();
  return longest === '' ? undefined : longest;
}

interface Token {
  /** The character that the token matches. Undefined if it matches different texts. */
  readonly text?: string | undefined;
  /** The length of the token in the source. 0 if the token is unknown. */
  readonly length: number;
}

const unknown: Token = { length: 0 };

function tokenAt(source: string, at: number): Token {
  const char = source.charAt(at);
  switch (char) {
    case '\\':
      return escapeAt(source, at);
    case '[':
      return { length: classLength(source, at) };
    case '(':
      return { length: groupLength(source, at) };
    case '^':
    case '$':
    case '.':
      return { length: 1 };
    // With alternatives, no part of the expression is required.
    case '|':
    case ')':
    case ']':
    case '{':
    case '}':
      return unknown;
    default:
      return { length: 1, ...(/[ -~]/.test(char) && { text: char }) };
  }
}

function escapeAt(source: string, at: number): Token {
  const char = source.charAt(at + 1);
  if (/[bBdDwWsS]/.test(char)) return { length: 2 };
  // Other letters and digits begin escapes of different lengths, such as `\x41`.
  return /[!-/:-@[-`{-~]/.test(char) ? { text: char, length: 2 } : unknown;
}

/** Returns the length of a class such as `[a-z\]]`. Returns 0 if the class contains a nested class or has no end. */
function classLength(source: string, at: number): number {
  for (let end = at + 1; end < source.length; end++) {
    const char = source.charAt(end);
    if (char === '\\') end++;
    else if (char === '[') return 0;
    else if (char === ']') return end + 1 - at;
  }
  return 0;
}

/** Returns the length of a group of the regular expression, including its brackets and nested groups. */
function groupLength(source: string, at: number): number {
  let depth = 0;
  for (let end = at; end < source.length; ) {
    const char = source.charAt(end);
    if (char === '[') {
      const length = classLength(source, end);
      if (length === 0) return 0;
      end += length;
      continue;
    }
    if (char === '(') depth++;
    if (char === ')') depth--;
    end += char === '\\' ? 2 : 1;
    if (depth === 0) return end - at;
  }
  return 0;
}

function quantifierAt(source: string, at: number): string {
  const [quantifier = ''] = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(source.slice(at, at + 24)) ?? [];
  return quantifier;
}
