import { entityAt } from './entity.ts';
import type { InlineToken } from './inline-token.ts';

const schemes = ['http:', 'https:', 'mailto:'];

/**
 * Returns the normalized address of an untrusted link. Returns undefined if the link must not be followed.
 * Safe addresses are absolute, start with `http:`, `https:` or `mailto:`, and contain only printable ASCII.
 *
 * @param maxLength Longer addresses are refused. Default: 4096 characters.
 *
 * @example
 * safeLink('https://example.com/é'); // 'https://example.com/%C3%A9'
 * safeLink('javascript:alert(1)'); // undefined
 */
export function safeLink(address: string, maxLength = 4096): string | undefined {
  if (address.length > maxLength || !URL.canParse(address)) return undefined;
  const { href, protocol } = new URL(address);
  return schemes.includes(protocol) && /^[!-~]*$/.test(href) ? href : undefined;
}

/**
 * Tells whether the text of a link is its address, apart from the scheme and a final slash.
 *
 * @example
 * showsAddress('example.com', 'https://example.com/'); // true
 */
export function showsAddress(text: string, address: string): boolean {
  const bare = (url: string) =>
    url
      .trim()
      .replace(/^(?:mailto:|https?:\/\/)/i, '')
      .replace(/\/$/, '');
  return bare(text) === bare(address);
}

/**
 * Tells whether the text of a link looks like an address, but not like the one that the link has.
 * Show the address then, because the text hides where the link leads.
 *
 * @example
 * hidesAddress('https://bank.example', 'https://evil.example'); // true
 * hidesAddress('the bank', 'https://evil.example'); // false
 */
export function hidesAddress(text: string, address: string): boolean {
  // Browsers accept other forms of a letter or a dot in a host name, and do not draw some characters.
  const plain = text
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replaceAll('\u3002', '.');
  return addressText.test(plain) && !showsAddress(plain, address);
}

/** An address at the start, or an address of a page anywhere. */
const addressText =
  /^\s*(?:[a-z][a-z\d+.-]*:(?!\s)|[\w-]+(?:\.[\w-]+)+(?:[/:?#]|\s*$))|(?:^|[^\w])(?:https?:\/\/|www\.)\w/i;

/** The part of a link after its text. */
interface LinkTail {
  readonly address: string;
  /** The position after the link. */
  readonly end: number;
}

/**
 * Maximum lengths of addresses and titles, and maximum nesting of parentheses. Larger ones are text. The
 * limits make the search for their end fast.
 */
const maxAddress = 2048;
const maxTitle = 256;
const maxParentheses = 32;

const opening = /\(\s*/y;
const closing = /\s*\)/y;
const angled = /<((?:\\.|[^<>\\\n])*)>/y;
const title = /\s+(?:"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|\((?:\\[\s\S]|[^()\\])*\))/y;
const escapedOrEntity = /\\([!-/:-@[-`{-~])|&[#\w]{2,9};/g;

/** Reads `(address "title")` after a `]`. Returns undefined if it is not there. */
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
  return { address: unescaped(written), end: at + addressEnd + end };
}

function unescaped(address: string): string {
  return address.replace(
    escapedOrEntity,
    (whole, char?: string) => char ?? entityAt(whole, 0)?.text ?? whole,
  );
}

function endOf(form: RegExp, text: string, at: number): number | undefined {
  form.lastIndex = at;
  return form.test(text) ? form.lastIndex : undefined;
}

/**
 * Returns the end of an address without angle brackets. It ends at a space, or at a closing parenthesis
 * that has no opening one in the address.
 */
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

/** Maximum length of a tag. Longer tags are text. The limit makes the search for their end fast. */
const maxTag = 512;

const address = /^<([a-zA-Z][a-zA-Z\d+.-]{1,31}:[^\s<>]*)>/;
const mail = /^<([\w.!#$%&'*+/=?^`{|}~-]+@[a-zA-Z\d-]+(?:\.[a-zA-Z\d-]+)*)>/;
const lineBreak = /^<br\s*\/?>/i;
const attribute = /\s+[a-zA-Z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?/;
const tag = new RegExp(
  [
    `^<[a-zA-Z][a-zA-Z\\d-]*(?:${attribute.source})*\\s*/?>`,
    '^</[a-zA-Z][a-zA-Z\\d-]*\\s*>',
    '^<!--(?:-?>|[\\s\\S]*?-->)',
    '^<\\?[\\s\\S]*?\\?>',
    '^<![a-zA-Z][^>]*>',
    '^<!\\[CDATA\\[[\\s\\S]*?\\]\\]>',
  ].join('|'),
);

interface TokenMatch {
  readonly tokens: readonly InlineToken[];
  /** The number of characters in the source. */
  readonly length: number;
}

/**
 * Reads an address in angle brackets, a line break tag or an HTML tag at a `<`. Returns undefined if there
 * is none.
 */
export function angleBracketsAt(source: string, at: number): TokenMatch | undefined {
  const text = source.slice(at, at + maxTag);
  const link = autolink(address, '', text) ?? autolink(mail, 'mailto:', text);
  if (link !== undefined) return link;
  const [found] = tag.exec(text) ?? [];
  if (found === undefined) return undefined;
  const token: InlineToken = lineBreak.test(found)
    ? { type: 'break', isHard: true }
    : { type: 'html', text: found };
  return { tokens: [token], length: found.length };
}

function autolink(form: RegExp, scheme: string, source: string): TokenMatch | undefined {
  const [whole, text] = form.exec(source) ?? [];
  if (whole === undefined || text === undefined) return undefined;
  return { tokens: linkTokens(text, `${scheme}${text}`), length: whole.length };
}

function linkTokens(text: string, to: string): readonly InlineToken[] {
  const mark = { type: 'link', address: to } as const;
  return [
    { type: 'open', mark },
    { type: 'text', text },
    { type: 'close', mark },
  ];
}

// Only ASCII characters belong to an address, because in some scripts text follows an address without a
// space.
const bare = /(?:https?:\/\/(?:\[[\da-fA-F:.]+\])?|www\.)[!-;=?-Z\\^_a-z{|}~]*/iy;
const inWord = /[a-z\d]/i;
const trailing = /[?!.,:;*_~'"]$/;

/**
 * Reads an address that has no brackets. Punctuation at the end of a sentence is not part of it. Returns
 * undefined if there is none.
 */
export function bareAddressAt(source: string, at: number): TokenMatch | undefined {
  if (at > 0 && inWord.test(source.charAt(at - 1))) return undefined;
  bare.lastIndex = at;
  const match = bare.exec(source);
  if (match === null) return undefined;
  const text = withoutPunctuation(match[0]);
  if (!/[a-z\d\]]/i.test(text.replace(/^(?:https?:\/\/|www\.)/i, ''))) return undefined;
  const to = /^www\./i.test(text) ? `http://${text}` : text;
  return { tokens: linkTokens(text, to), length: text.length };
}

function withoutPunctuation(text: string): string {
  let end = text.length;
  let surplus = count(text, ')') - count(text, '(');
  for (; end > 0; end--) {
    const last = text.charAt(end - 1);
    if (last === ')' && surplus > 0) surplus--;
    else if (!trailing.test(last)) break;
  }
  return text.slice(0, end);
}

function count(text: string, char: string): number {
  return text.split(char).length - 1;
}
