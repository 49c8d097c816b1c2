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
