import { defaultMaxValues, type JsonLimits } from './json-value.ts';

/**
 * Returns whether a long text has more levels, values or keys than the limits allow. It counts brackets, commas
 * and colons outside of strings and needs no memory. JSON.parse would first create all values, which can take seconds
 * and gigabytes. For valid JSON, and for invalid text up to its first error, JsonScanner has the same result.
 * The function does not check short texts, because they contain few values, and `parseJson` checks their
 * depth later.
 */
export function isOverLimits(text: string, limits: JsonLimits): boolean {
  const { maxDepth, maxValues = defaultMaxValues, maxKeys = Infinity } = limits;
  const isShort = text.length <= maxValues && text.length <= maxKeys * minKeyLength;
  if (text.length <= harmlessLength && isShort) return false;
  let depth = 0;
  let values = 0;
  let keys = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = closingQuote(text, index + 1);
        break;
      case bracket:
      case brace:
        if (++depth > maxDepth || ++values > maxValues) return true;
        break;
      case closingBracket:
      case closingBrace:
        depth--;
        break;
      case comma:
        if (++values > maxValues) return true;
        break;
      case colon:
        if (++keys > maxKeys) return true;
    }
  }
  return false;
}

/**
 * Texts up to this length are not checked. JSON.parse needs at most 0.2 s and 100 MB for a text of this
 * length. Checking a shorter text could cost as much as parsing it.
 */
const harmlessLength = 2 ** 20;

/** The minimum length of a key, its colon and its value: `"":1`. */
const minKeyLength = 4;

const quote = 34; // "
const comma = 44; // ,
const colon = 58; // :
const bracket = 91; // [
const backslash = 92; // \
const closingBracket = 93; // ]
const brace = 123; // {
const closingBrace = 125; // }

/**
 * Returns the index of the closing quote of the string that contains `start`. Returns the length of
 * the text if the string has no closing quote.
 */
function closingQuote(text: string, start: number): number {
  let index = text.indexOf('"', start);
  while (index >= 0 && isEscaped(text, index)) index = text.indexOf('"', index + 1);
  return index < 0 ? text.length : index;
}

/**
 * Returns whether a quote is escaped, that is, whether an odd number of backslashes precedes it.
 */
function isEscaped(text: string, index: number): boolean {
  let before = index - 1;
  while (text.charCodeAt(before) === backslash) before--;
  return (index - before) % 2 === 0;
}

/**
 * Returns whether a key in the text contains an escape. V8's JSON.parse can read such keys wrongly, after it
 * has read a key with a backslash in the same place. For example, after {"\\":1} it reads {"\n":1} as
 * {"\\":1} (nodejs/node#63785). The function reads each character at most once, and returns immediately if
 * the text has no backslash.
 */
export function hasEscapedKey(text: string): boolean {
  let at = text.indexOf('\\');
  while (at >= 0) {
    const end = endOfString(text, at);
    if (isKey(text, end)) return true;
    at = text.indexOf('\\', end);
  }
  return false;
}

/** Returns the index after the closing quote of the string whose first escape is at `at`. */
function endOfString(text: string, at: number): number {
  let index = at;
  while (index < text.length && text.charCodeAt(index) !== quote) {
    index += text.charCodeAt(index) === backslash ? 2 : 1;
  }
  return index + 1;
}

/**
 * Returns whether the string that ends before `end` is a key, that is, whether a colon follows it.
 */
function isKey(text: string, end: number): boolean {
  let index = end;
  while (text.charCodeAt(index) <= 32) index++;
  return text.charCodeAt(index) === colon;
}
