/** Reads what stands between the quotes of one string after the other, in fragments. */
export class JsonStringReader {
  #state: 'plain' | 'escape' | 'unicode' = 'plain';
  /** Digits of the \u escape so far. */
  #hex = '';
  /** Decoded and not yet taken. */
  #text = '';

  /** May the string end here, or is an escape under way? */
  get mayEnd(): boolean {
    return this.#state === 'plain';
  }

  /**
   * Reads from start and gives the index of the first character that does not belong to the text, or
   * of one to go on at: text joined from millions of escapes would take thirty times its memory.
   */
  read(fragment: string, start: number): number {
    let index = start;
    while (index < fragment.length && index - start < maxStretch) {
      const next =
        this.#state === 'plain'
          ? this.#readRun(fragment, index)
          : this.#readEscape(fragment, index);
      if (next === index) break;
      index = next;
    }
    return index;
  }

  /** The text read since the last take, bar a high surrogate whose partner may come next. */
  take(): string {
    const text = this.#text;
    const end = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.length - 1 : text.length;
    this.#text = text.slice(end);
    return text.slice(0, end);
  }

  /** The string is over: a high surrogate that take() held back stays alone, as in JSON.parse. */
  takeRest(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  #readRun(fragment: string, start: number): number {
    const end = endOfPlainRun(fragment, start);
    this.#text += fragment.slice(start, end);
    if (fragment.charAt(end) !== '\\') return end;
    this.#state = 'escape';
    return end + 1;
  }

  #readEscape(fragment: string, index: number): number {
    const char = fragment.charAt(index);
    const isRead = this.#state === 'unicode' ? this.#readHexDigit(char) : this.#readEscaped(char);
    return isRead ? index + 1 : index;
  }

  #readEscaped(char: string): boolean {
    const escaped = escapes.get(char);
    if (escaped !== undefined) this.#endEscape(escaped);
    else if (char === 'u') this.#state = 'unicode';
    else return false;
    return true;
  }

  #readHexDigit(char: string): boolean {
    if (!hexDigits.includes(char)) return false;
    this.#hex += char;
    if (this.#hex.length === 4) {
      this.#endEscape(String.fromCharCode(Number.parseInt(this.#hex, 16)));
      this.#hex = '';
    }
    return true;
  }

  #endEscape(decoded: string): void {
    this.#text += decoded;
    this.#state = 'plain';
  }
}

/** How far to read before what is read should be taken; a run without escapes may be longer. */
const maxStretch = 2 ** 14;

const hexDigits = '0123456789abcdefABCDEF';

const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

const quote = 0x22;
const backslash = 0x5c;
const lastControl = 0x1f;

/** The hot loop of the whole parser: most characters of a streamed document are plain text. */
function endOfPlainRun(fragment: string, start: number): number {
  let index = start;
  while (index < fragment.length) {
    const code = fragment.charCodeAt(index);
    if (code === quote || code === backslash || code <= lastControl) break;
    index += 1;
  }
  return index;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
