/** Receives the tokens that the scanner finds, in the order of the text. */
export interface JsonSink {
  openObject(): void;
  openArray(): void;
  /** Called when the innermost object or array is complete. */
  close(): void;
  /** Receives the key of the next value. */
  key(name: string): void;
  /** Receives a complete number or literal. */
  scalar(value: number | boolean | null): void;
  openString(): void;
  /**
   * Receives more text of the open string. The text is never empty and never splits a surrogate
   * pair.
   */
  text(run: string): void;
  closeString(): void;
}

/** Reads the content of strings that arrive in fragments, one string after the other. */
export class JsonStringReader {
  #state: 'plain' | 'escape' | 'unicode' = 'plain';
  /** The digits of the current \u escape that have arrived. */
  #hex = '';
  /** Text that was decoded, but that the caller has not taken yet. */
  #text = '';

  /** True if the string can end here. A string cannot end inside an escape. */
  get mayEnd(): boolean {
    return this.#state === 'plain';
  }

  /**
   * Reads text from `start` and returns the index to continue at. It stops at the first character that is not
   * text, and after `maxStretch` characters. Without this limit, a text that is built from millions of
   * escapes would need thirty times its normal memory.
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

  /**
   * Returns the text read since the last call. It keeps back a high surrogate at the end of the text, because
   * the second half of the pair may still arrive.
   */
  take(): string {
    const text = this.#text;
    const end = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.length - 1 : text.length;
    this.#text = text.slice(end);
    return text.slice(0, end);
  }

  /**
   * Ends the string and returns the remaining text. A lone high surrogate stays in the text, as in
   * JSON.parse.
   */
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

/**
 * The number of characters that one `read` accepts before the caller should take the text. Text without
 * escapes can be longer.
 */
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

/**
 * Returns the index after a run of plain text. This is the hot loop of the parser, because most
 * characters of a streamed document are plain text.
 */
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

/** Reads numbers that arrive in fragments, one number after the other. */
export class JsonNumberReader {
  #text = '';
  #state: NumberState = 'start';

  /**
   * Reads from `start` and returns the index of the first character that does not belong to the
   * number.
   */
  read(fragment: string, start: number): number {
    let end = start;
    while (end < fragment.length) {
      const state = nextState(this.#state, fragment.charCodeAt(end));
      if (state === undefined) break;
      this.#state = state;
      end += 1;
    }
    this.#text += fragment.slice(start, end);
    return end;
  }

  /** True if the number can end here. A number cannot end where a digit is required. */
  get mayEnd(): boolean {
    const state = this.#state;
    return state === 'zero' || state === 'integer' || state === 'fraction' || state === 'exponent';
  }

  /** The number of characters read so far. */
  get length(): number {
    return this.#text.length;
  }

  /**
   * Ends the number and returns its value. The value is infinite if it exceeds the range of a
   * double.
   */
  take(): number {
    const value = Number(this.#text);
    this.#text = '';
    this.#state = 'start';
    return value;
  }
}

/** The position in the grammar of numbers. Each state is named after the last character read. */
type NumberState =
  | 'start'
  | 'minus'
  | 'zero'
  | 'integer'
  | 'point'
  | 'fraction'
  | 'exponent_mark'
  | 'exponent_sign'
  | 'exponent';

/** Returns the state after this character, or undefined if the character cannot follow. */
function nextState(state: NumberState, code: number): NumberState | undefined {
  switch (state) {
    case 'start':
      return code === minus ? 'minus' : firstDigit(code);
    case 'minus':
      return firstDigit(code);
    case 'zero':
      return pointOrMark(code);
    case 'integer':
      return isDigit(code) ? 'integer' : pointOrMark(code);
    case 'point':
      return isDigit(code) ? 'fraction' : undefined;
    case 'fraction':
      return isDigit(code) ? 'fraction' : exponentMark(code);
    case 'exponent_mark':
      return code === plus || code === minus ? 'exponent_sign' : exponentDigit(code);
    case 'exponent_sign':
    case 'exponent':
      return exponentDigit(code);
  }
}

const plus = 0x2b;
const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;
const upperE = 0x45;
const lowerE = 0x65;

function isDigit(code: number): boolean {
  return code >= zero && code <= nine;
}

/**
 * Returns the state after the first digit. No digit may follow a leading zero, because 01 is not a
 * number.
 */
function firstDigit(code: number): NumberState | undefined {
  if (code === zero) return 'zero';
  return isDigit(code) ? 'integer' : undefined;
}

function pointOrMark(code: number): NumberState | undefined {
  return code === point ? 'point' : exponentMark(code);
}

function exponentMark(code: number): NumberState | undefined {
  return code === lowerE || code === upperE ? 'exponent_mark' : undefined;
}

function exponentDigit(code: number): NumberState | undefined {
  return isDigit(code) ? 'exponent' : undefined;
}
