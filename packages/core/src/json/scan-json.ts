import { defaultMaxValues, type JsonLimits } from './json-value.ts';

/**
 * Has a long text more levels or values than the limits allow, going by its brackets, commas and
 * quotes? Of a JSON text, and of any other up to its error, they tell what JsonScanner would, with no
 * memory; JSON.parse makes all values first, which takes seconds and gigabytes. A text that is too
 * short to do harm is not looked at: its depth is told later, and values it has few.
 */
export function isOverLimits(text: string, limits: JsonLimits): boolean {
  const { maxDepth, maxValues = defaultMaxValues } = limits;
  if (text.length <= harmlessLength && text.length <= maxValues) return false;
  let depth = 0;
  let values = 0;
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
    }
  }
  return false;
}

/** JSON.parse needs 0.2 s and 100 MB at worst, and looking ahead can cost as much as parsing does. */
const harmlessLength = 2 ** 20;

const quote = 34; // "
const comma = 44; // ,
const bracket = 91; // [
const backslash = 92; // \
const closingBracket = 93; // ]
const brace = 123; // {
const closingBrace = 125; // }

/** Where the string that goes on at `start` ends; the end of the text if it does not. */
function closingQuote(text: string, start: number): number {
  let index = text.indexOf('"', start);
  while (index >= 0 && isEscaped(text, index)) index = text.indexOf('"', index + 1);
  return index < 0 ? text.length : index;
}

/** Is the number of backslashes before it odd? */
function isEscaped(text: string, index: number): boolean {
  let before = index - 1;
  while (text.charCodeAt(before) === backslash) before--;
  return (index - before) % 2 === 0;
}

const quoteCode = 34; // "
const backslashCode = 92; // \
const colon = 58; // :

/**
 * Does a key in the text have an escape? V8's JSON.parse reads such keys wrong once it has seen a key
 * with a backslash in the same place: after {"\\":1} it reads {"\n":1} as {"\\":1}
 * (nodejs/node#63785). Looks at each character once, and only at texts with an escape in them.
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

/** After the quote that ends the string which has its first escape at `at`. */
function endOfString(text: string, at: number): number {
  let index = at;
  while (index < text.length && text.charCodeAt(index) !== quoteCode) {
    index += text.charCodeAt(index) === backslashCode ? 2 : 1;
  }
  return index + 1;
}

/** Is what ends there followed by a colon? */
function isKey(text: string, end: number): boolean {
  let index = end;
  while (text.charCodeAt(index) <= 32) index++;
  return text.charCodeAt(index) === colon;
}
