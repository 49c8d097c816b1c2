/** Is told what the scanner finds, in the order of the text. */
export interface JsonSink {
  openObject(): void;
  openArray(): void;
  /** The innermost object or array is complete. */
  close(): void;
  /** The member whose value comes next. */
  key(name: string): void;
  /** A complete number or literal. */
  scalar(value: number | boolean | null): void;
  openString(): void;
  /** More of the open string: never empty, and never half of a surrogate pair. */
  text(run: string): void;
  closeString(): void;
}

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

/** Reads one number after the other, in fragments. */
export class JsonNumberReader {
  #text = '';
  #state: NumberState = 'start';

  /** Reads from start and gives the index of the first character that does not belong to the number. */
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

  /** May the number end here, or is a digit missing? */
  get mayEnd(): boolean {
    const state = this.#state;
    return state === 'zero' || state === 'integer' || state === 'fraction' || state === 'exponent';
  }

  /** How many characters the number has so far. */
  get length(): number {
    return this.#text.length;
  }

  /** The number is over: its value, infinite if no double is as large. */
  take(): number {
    const value = Number(this.#text);
    this.#text = '';
    this.#state = 'start';
    return value;
  }
}

/** Named after the last character read. */
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

/** Undefined if a number cannot go on with this character. */
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

/** A leading zero stands alone: 01 is no number. */
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
