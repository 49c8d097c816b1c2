export interface LinkTail {
  readonly address: string;
  /** Where the text goes on. */
  readonly end: number;
}

/** Longer ones are no links: looking for their end would take the time of the whole text. */
const maxAddress = 2048;
const maxTitle = 256;
const maxParentheses = 32;

const opening = /\(\s*/y;
const closing = /\s*\)/y;
const angled = /<((?:\\.|[^<>\\\n])*)>/y;
const title = /\s+(?:"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|\((?:\\[\s\S]|[^()\\])*\))/y;
const escaped = /\\([!-/:-@[-`{-~])/g;

/** Reads `(address "title")`, as it stands after a `]`. */
export function linkTailAt(source: string, at: number): LinkTail | undefined {
  if (source[at] !== '(') return undefined;
  const text = source.slice(at, at + maxAddress);
  const start = endOf(opening, text, 0) ?? 0;
  const addressEnd = endOf(angled, text, start) ?? bareEnd(text, start);
  if (addressEnd === undefined) return undefined;
  const after = text.slice(addressEnd, addressEnd + maxTitle);
  const end = endOf(closing, after, endOf(title, after, 0) ?? 0);
  if (end === undefined) return undefined;
  const written = text.slice(start, addressEnd).replace(/^<([\s\S]*)>$/, '$1');
  return { address: written.replace(escaped, '$1'), end: at + addressEnd + end };
}

function endOf(form: RegExp, text: string, at: number): number | undefined {
  form.lastIndex = at;
  return form.test(text) ? form.lastIndex : undefined;
}

/** An address without brackets ends at a space, or at a parenthesis that it did not open. */
function bareEnd(text: string, from: number): number | undefined {
  if (text[from] === '<') return undefined;
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '\\') at++;
    else if (char === '(' && ++depth > maxParentheses) return undefined;
    else if (char === ')' && depth-- === 0) return at;
    else if (char <= ' ') return depth === 0 ? at : undefined;
  }
  return undefined;
}
