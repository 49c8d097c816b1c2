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
 * Returns whether the text of a link equals its address. The scheme and a final slash are ignored.
 *
 * @example showsAddress('example.com', 'https://example.com/'); // true
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
 * Returns whether the text of a link looks like an address, but differs from the real address of the link. In
 * this case, a view should show the real address.
 *
 * @example hidesAddress('https://bank.example', 'https://evil.example'); // true hidesAddress('the bank',
 * 'https://evil.example'); // false
 */
export function hidesAddress(text: string, address: string): boolean {
  // In a host name, browsers accept other Unicode forms of a letter or a dot, and some characters are
  // invisible. This code converts or removes them.
  const plain = text
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replaceAll('\u3002', '.');
  return addressText.test(plain) && !showsAddress(plain, address);
}

/** Matches an address at the start of a text, or the address of a web page anywhere in it. */
const addressText =
  /^\s*(?:[a-z][a-z\d+.-]*:(?!\s)|[\w-]+(?:\.[\w-]+)+(?:[/:?#]|\s*$))|(?:^|[^\w])(?:https?:\/\/|www\.)\w/i;

/** The part of a link after its text. */
interface LinkTail {
  readonly address: string;
  /** The position after the link. */
  readonly end: number;
}

/**
 * Maximum lengths of addresses and titles, and maximum nesting of parentheses. A link beyond these limits is
 * text. The limits make the search for the end of a link fast.
 */
const maxAddress = 2048;
const maxTitle = 256;
const maxParentheses = 32;

const opening = /\(\s*/y;
const closing = /\s*\)/y;
const angled = /<((?:\\.|[^<>\\\n])*)>/y;
const title = /\s+(?:"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|\((?:\\[\s\S]|[^()\\])*\))/y;
const escapedOrEntity = /\\([!-/:-@[-`{-~])|&[#\w]{2,9};/g;

/**
 * Reads `(address "title")` after a `]`. Returns undefined if the text at this position does not have this
 * form.
 */
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
 * Returns the end of an address without angle brackets. The address ends at a space, or at a closing
 * parenthesis without an opening parenthesis in the address.
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

/** Maximum length of a tag. A longer tag is text. The limit makes the search for the end of a tag fast. */
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
 * Reads an address in angle brackets, a line break tag or an HTML tag at a `<`. Returns undefined if there is
 * none of these.
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
 * Reads an address without brackets. Punctuation after the address is not part of it. Returns undefined if
 * there is no address at this position.
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
