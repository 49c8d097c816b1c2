const quote = 34; // "
const backslash = 92; // \
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
  while (index < text.length && text.charCodeAt(index) !== quote) {
    index += text.charCodeAt(index) === backslash ? 2 : 1;
  }
  return index + 1;
}

/** Is what ends there followed by a colon? */
function isKey(text: string, end: number): boolean {
  let index = end;
  while (text.charCodeAt(index) <= 32) index++;
  return text.charCodeAt(index) === colon;
}
