/** Maximum depth of command lines in command lines, such as `bash -c "$(sh -c '…')"`. */
export const maxDepth = 8;

/** A word of a command line. */
export interface Word {
  /** The text without quotes. Each unknown part is one `*`. */
  readonly text: string;
  /** The name of the variable, if the word is only one variable. */
  readonly variable?: string | undefined;
  /** The command lines of substitutions in the word. */
  readonly inner: readonly string[];
}

/** A word, or an operator such as `;` and `|`. */
export type Token = Word | string;

/**
 * Returns the words of a command line, and the words of the command lines in it. Each unknown part of a word is a `*`.
 * Returns no words after a quote without an end.
 *
 * @example shellWords("sh $'\\x63heck.sh' a$X"); // ['sh', 'check.sh', 'a*']
 */
export function shellWords(line: string, depth = 0): readonly string[] {
  if (depth > maxDepth) return [];
  const words = (tokensOf(line) ?? []).filter((token) => typeof token !== 'string');
  const lines = words.flatMap(({ text, inner }) => [
    ...inner,
    ...(/[\s;|&]/.test(text) ? [text] : []),
  ]);
  return [...words.map(({ text }) => text), ...lines.flatMap((one) => shellWords(one, depth + 1))];
}

/** Maximum length of a command line, in characters. */
const maxLine = 100_000;

/**
 * Splits a command line into words and operators. Returns undefined if a quote or a parenthesis has no end, or if the line
 * is too long.
 */
export function tokensOf(line: string): readonly Token[] | undefined {
  if (line.length > maxLine) return undefined;
  const tokens: Token[] = [];
  let at = 0;
  while (at < line.length) {
    const [space = ''] = /^(?:[ \t]|\\\n)+/.exec(line.slice(at, at + 256)) ?? [];
    at += space.length;
    const [operator = ''] = /^(?:[;&|()\n]|[0-9]*[<>]+[&|]?)/.exec(line.slice(at, at + 16)) ?? [];
    at += operator.length;
    if (operator !== '') tokens.push(operator.trim() === '' ? ';' : operator);
    if (space !== '' || operator !== '') continue;
    if (line[at] === '#') {
      const end = line.indexOf('\n', at);
      at = end === -1 ? line.length : end;
      continue;
    }
    const found = wordAt(line, at);
    if (found === undefined) return undefined;
    if (found.word !== undefined) tokens.push(found.word);
    at = found.end;
  }
  return tokens;
}

/** Matches the escapes in a text such as `$'\x63heck'`. */
const escapes = /\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)/gs;
const letters: Readonly<Record<string, string>> = {
  ...{ a: '\x07', b: '\b', e: '\x1b', E: '\x1b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
};

function decoded(code: string): string {
  const kind = code.charAt(0);
  const number = /^[0-7]/.test(kind)
    ? Number.parseInt(code, 8) % 256
    : Number.parseInt(code.slice(1), 16);
  if (/^[0-7]/.test(kind) || (/^[xuU]/.test(kind) && code.length > 1))
    return number <= 0x10ffff ? String.fromCodePoint(number) : '';
  return letters[code] ?? code;
}

function wordAt(
  line: string,
  start: number,
): { readonly word?: Word; readonly end: number } | undefined {
  const inner: string[] = [];
  let [text, at, isQuoted] = ['', start, false];
  for (; at < line.length; ) {
    const char = line[at] ?? '';
    // Only these characters separate words. A carriage return, for example, is a part of a word.
    if (!isQuoted && /[ \t\n;&|()<>]/.test(char)) break;
    if (char === '"') {
      isQuoted = !isQuoted;
      at++;
    } else if (char === "'" && !isQuoted) {
      const end = line.indexOf("'", at + 1);
      if (end === -1) return undefined;
      text += line.slice(at + 1, end).replace(/\*/g, '?');
      at = end + 1;
    } else if (!isQuoted && line.startsWith("$'", at)) {
      const [quoted] = /^\$'(?:\\.|[^'\\])*'/s.exec(line.slice(at)) ?? [];
      if (quoted === undefined) return undefined;
      const plain = quoted.slice(2, -1).replace(escapes, (_, code: string) => decoded(code));
      text += plain.replace(/\*/g, '?');
      at += quoted.length;
    } else if (!isQuoted && line.startsWith('$"', at)) at++;
    else if (char === '\\') {
      text += line[at + 1] ?? '';
      at += 2;
    } else if (char === '`' || line.startsWith('$(', at) || line.startsWith('${', at)) {
      const end = endOfPart(line, at);
      if (end === undefined) return undefined;
      const from = char === '`' ? at + 1 : at + 2;
      const isParameter = char === '$' && line[at + 1] === '{';
      const code = line.slice(from, end);
      inner.push(...(isParameter ? substitutionsIn(code) : [code]));
      text += '*';
      at = end + 1;
    } else {
      const [variable = ''] = /^\$(?:\w+|[@*#?$!-])/.exec(line.slice(at, at + 256)) ?? [];
      const [braces = ''] = /^\{[^{}\s]*\}/.exec(line.slice(at, at + 256)) ?? [];
      const isUnknown = variable !== '' || (!isQuoted && (braces !== '' || /[*?[]/.test(char)));
      text += isUnknown ? '*' : char;
      at += Math.max(variable.length, isQuoted ? 0 : braces.length, 1);
    }
  }
  if (isQuoted) return undefined;
  const whole = line.slice(start, at);
  const [, one, other] = /^"?\$(?:(\w+)|\{(\w+)\})"?$/.exec(whole) ?? [];
  return { word: { text, variable: one ?? other, inner }, end: at };
}

/** Returns the index of the sign that ends a substitution or a parameter. */
function endOfPart(line: string, start: number): number | undefined {
  if (line[start] === '`') {
    const end = line.indexOf('`', start + 1);
    return end === -1 ? undefined : end;
  }
  const close = line[start + 1] === '(' ? ')' : '}';
  const open = close === ')' ? '(' : '{';
  let depth = 0;
  for (let at = start + 1; at < line.length; at++) {
    const char = line[at];
    if (char === '\\') at++;
    else if (char === "'") {
      const end = line.indexOf("'", at + 1);
      // In a parameter inside of double quotes, a single quote is a plain character.
      if (end !== -1) at = end;
    } else if (char === open) depth++;
    else if (char === close && --depth === 0) return at;
  }
  return undefined;
}

/** Returns the part of a parameter such as `${X:-$(cmd)}` that can contain a substitution. */
function substitutionsIn(parameter: string): readonly string[] {
  const at = parameter.search(/\$\(|`/);
  return at === -1 ? [] : [`echo ${parameter.slice(at)}`];
}
