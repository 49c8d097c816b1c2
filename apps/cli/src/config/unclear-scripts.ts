/** Maximum depth of command lines in command lines, such as `bash -c "$(sh -c '…')"`. */
const maxDepth = 8;

/**
 * True if a command line can start a script whose name it does not show, such as `sh "$X"` or `. $A/$B`. Each file of a
 * project can then be the script. A word with a known part, such as `scripts/check-$X`, is not unclear, because the files
 * that it can name are known. A variable is not unclear either if the line shows its value, as in a loop over known names.
 *
 * @example hasUnclearScript('sh "$(printf scripts/%s check.sh)"'); // true
 */
export function hasUnclearScript(line: string, depth = 0): boolean {
  if (depth > maxDepth) return true;
  const tokens = tokensOf(line);
  if (tokens === undefined) return true;
  const inner = tokens.flatMap((token) => (typeof token === 'string' ? [] : token.inner));
  const known = knownVariables(tokens);
  const commands = commandsOf(tokens);
  return (
    inner.some((text) => hasUnclearScript(text, depth + 1)) ||
    commands.some((one, at) => startsUnclear(one, pipedInto(commands, at), known, depth))
  );
}

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

interface Word {
  /** The text without quotes. Each unknown part is one `*`. */
  readonly text: string;
  /** The name of the variable, if the word is only one variable. */
  readonly variable?: string | undefined;
  /** The command lines of substitutions in the word. */
  readonly inner: readonly string[];
}

/** A word, or an operator such as `;` and `|`. */
type Token = Word | string;

/** Splits a command line into words and operators. Returns undefined if a quote or a parenthesis has no end. */
function tokensOf(line: string): readonly Token[] | undefined {
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

function wordAt(
  line: string,
  start: number,
): { readonly word?: Word; readonly end: number } | undefined {
  const inner: string[] = [];
  let [text, at, isQuoted] = ['', start, false];
  for (; at < line.length; ) {
    const char = line[at] ?? '';
    if (!isQuoted && /[\s;&|()<>]/.test(char)) break;
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

/**
 * Returns the variables whose values have a known part and are words of the line: the variable of a loop, and a variable
 * that a command of its own sets. Something else must not set them.
 */
function knownVariables(tokens: readonly Token[]): ReadonlySet<string> {
  const found = new Set<string>();
  const counts = new Map<string, number>();
  const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  const isBranched = tokens.some((token) => branches.test(wordText(token) ?? ''));
  for (const [index, token] of tokens.entries()) {
    if (typeof token === 'string') continue;
    const [last, next] = [tokens[index - 1], tokens[index + 1]];
    const [, name, value = ''] = /^(\w+)\+?=(.*)$/s.exec(token.text) ?? [];
    if (name !== undefined) {
      count(name);
      const isOwn = [last, next].every((one) => one === undefined || one === ';');
      if (isOwn && !isBranched && /\w/.test(value)) found.add(name);
    }
    if (setsNext.test(wordText(last) ?? '')) count(token.text);
    if (token.text !== 'for' || typeof next !== 'object') continue;
    const rest = tokens.slice(index + 3);
    const end = rest.findIndex((one) => typeof one === 'string');
    const list = rest.slice(0, end === -1 ? undefined : end) as readonly Word[];
    const isKnown = list.length > 0 && list.every(({ text }) => !isWhollyUnknown(text));
    if (wordText(tokens[index + 2]) === 'in' && isKnown) found.add(next.text);
  }
  return new Set([...found].filter((name) => counts.get(name) === 1));
}

const branches = /^(?:if|case|while|until|select)$/;
const setsNext = /^(?:read|for|select|local|mapfile|unset)$/;

const wordText = (token: Token | undefined): string | undefined =>
  typeof token === 'object' ? token.text : undefined;

/** True if a word has an unknown part and no letter or digit, such as `$X`, `*` and `"$A/$B"`. */
function isWhollyUnknown(text: string): boolean {
  return text.includes('*') && !/\w/.test(text);
}

interface Command {
  readonly words: readonly Word[];
  /** The word after `<`. */
  readonly input?: Word | undefined;
  /** True if the command reads the output of the command before it. */
  readonly isPiped: boolean;
}

function commandsOf(tokens: readonly Token[]): readonly Command[] {
  const commands: Command[] = [];
  let [words, isPiped]: [Word[], boolean] = [[], false];
  let input: Word | undefined;
  let redirection: string | undefined;
  for (const token of [...tokens, ';']) {
    if (typeof token === 'object') {
      if (redirection === undefined) words.push(token);
      else if (redirection.includes('<')) input = token;
      redirection = undefined;
    } else if (/[<>]/.test(token)) redirection = token;
    else {
      if (words.length > 0) commands.push({ words, input, isPiped });
      if (words.length > 0 || token !== '|') isPiped = token === '|';
      [words, input, redirection] = [[], undefined, undefined];
    }
  }
  return commands;
}

const shells = /^(?:.*\/)?(?:ba|z|da|k|mk|a|fi|rba|c|tc)?sh$/;
const interpreters =
  /^(?:.*\/)?(?:node|bun|deno|tsx|ts-node|python[\d.]*|ruby|perl|php|lua|go|java|julia|elixir|tclsh|[gmn]?awk|g?sed|g?make)$/;
/** Words of the shell that stand before a command. */
const before = /^(?:if|then|elif|else|while|until|do|!|\{|time|builtin|command|exec|\w+\+?=.*)$/s;
/** Options whose value is the next word. */
const valuedOfShells = /^(?:[-+][oO]|--(?:rcfile|init-file))$/;
const valuedOfOthers =
  /^(?:-[rILlWXMfFvC]|--(?:require|import|loader|file|makefile|env-file|experimental-loader))$/;
/** Options whose value is a program text. The other words are then its arguments. */
const inline = /^(?:-[a-zA-Z]*[ceEp]|--eval|--print)$/;
/** Programs that get their program text from the first word, unless the option `-f` names a file. */
const textFirst = /^(?:.*\/)?(?:[gmn]?awk|g?sed|g?make)$/;
const isFileOption = (text: string) => /^(?:-\w*f|--(?:make)?file=?)/.test(text);
/** Words between an interpreter and its script. */
const subcommands = /^(?:-|run|watch|test)$/;
/** Matches a command that prints the path of a program. */
const findsProgram = /^\s*(?:which|command\s+-v|type\s+-p)\s+[\w.-]+\s*(?:2?>\s*\/dev\/null\s*)?$/;

function startsUnclear(
  { words, input, isPiped }: Command,
  earlier: readonly Command[],
  known: ReadonlySet<string>,
  depth: number,
): boolean {
  const isUnclear = ({ text, variable = '' }: Word) =>
    isWhollyUnknown(text) && !known.has(variable);
  const first = words.find(({ text }) => !before.test(text));
  if (first === undefined) return false;
  const isSource = /^(?:\.|source)$/.test(first.text);
  const at = words.findIndex(
    (word) =>
      (isSource && word === first) || shells.test(word.text) || interpreters.test(word.text),
  );
  // A substitution in the place of a program can be the name of any script.
  if (at < 0) return isUnclear(first) && first.inner.some((text) => !findsProgram.test(text));
  const program = words[at]?.text ?? '';
  const isShell = shells.test(program);
  const valued = isShell ? valuedOfShells : valuedOfOthers;
  let isEnded = false;
  let isValue = false;
  for (const [index, word] of words.slice(at + 1).entries()) {
    const { text } = word;
    const next = words[at + index + 2];
    const isOption = !isEnded && /^[-+]./.test(text);
    if (isValue) {
      if (isUnclear(word)) return true;
      isValue = false;
    } else if (text === '--') isEnded = true;
    else if (isOption && isShell && /^-[a-zA-Z]*c$/.test(text))
      return next !== undefined && (isUnclear(next) || hasUnclearScript(next.text, depth + 1));
    else if (isOption && textFirst.test(program) && isFileOption(text)) {
      if (/\*\W*$/.test(text) && !/\w/.test(text.replace(/^-+\w*/, ''))) return true;
      isValue = valued.test(text);
    } else if (isOption && inline.test(text) && !isShell) return false;
    else if (isOption) isValue = valued.test(text);
    else if (textFirst.test(program)) continue;
    else if (!subcommands.test(text) || isEnded) return isUnclear(word);
  }
  if (textFirst.test(program)) return false;
  // The names of the scripts are in the input of the command.
  if (words.slice(0, at).some(({ text }) => /^(?:.*\/)?(?:xargs|parallel)$/.test(text)))
    return true;
  if (input !== undefined) return isUnclear(input);
  return isPiped && earlier.some((one) => one.words.some(isUnclear));
}

/** Returns the commands whose output reaches a command through pipes. */
function pipedInto(commands: readonly Command[], at: number): readonly Command[] {
  const from = commands.findLastIndex((one, index) => index <= at && !one.isPiped);
  return commands.slice(Math.max(from, 0), at);
}
