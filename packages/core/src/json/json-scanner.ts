import { JsonNumberReader, type JsonSink, JsonStringReader } from './json-tokens.ts';
import {
  defaultMaxValues,
  type JsonFailure,
  type JsonFailureCode,
  type JsonLimits,
} from './json-value.ts';

/** The position in the grammar. It determines which characters are allowed next. */
type State =
  | 'value'
  | 'first_element'
  | 'first_key'
  | 'key'
  | 'colon'
  | 'after_value'
  | 'in_key'
  | 'in_string'
  | 'in_number'
  | 'in_literal';

type Closer = '}' | ']';

/**
 * The grammar of RFC 8259 as a state machine that can stop after any character. It stores only the current
 * token and the closing characters of the open objects and arrays. It reads each character once.
 */
export class JsonScanner {
  readonly #sink: JsonSink;
  readonly #limits: Required<JsonLimits>;
  #state: State = 'value';
  /** The position of the next character in the whole text. */
  #position = 0;
  #failure: JsonFailure | undefined;
  /** The closing character of each open container, the innermost last. */
  readonly #closers: Closer[] = [];
  /** The number of opening brackets and commas read so far. Each bracket or comma counts as one value. */
  #values = 0;
  /** The number of keys read so far. */
  #keys = 0;
  readonly #string = new JsonStringReader();
  readonly #number = new JsonNumberReader();
  /**
   * The part of the current key that has arrived. The sink receives a key only when it is complete, but it
   * receives text of a value immediately.
   */
  #key = '';
  #literal: boolean | null = null;
  /** The remaining letters of the current literal. */
  #letters = '';

  constructor(sink: JsonSink, limits: JsonLimits) {
    this.#sink = sink;
    const { maxDepth, maxTextLength, maxValues = defaultMaxValues, maxKeys = Infinity } = limits;
    this.#limits = { maxDepth, maxTextLength, maxValues, maxKeys };
  }

  get failure(): JsonFailure | undefined {
    return this.#failure;
  }

  /** Reads to the end of the fragment, or to the first invalid character. */
  scan(fragment: string): void {
    const { maxTextLength } = this.#limits;
    const text = fragment.slice(0, maxTextLength - this.#position);
    let index = 0;
    while (index < text.length && this.#failure === undefined) {
      const next = this.#advance(text, index);
      this.#position += next - index;
      index = next;
    }
    if (text.length < fragment.length) {
      this.#fail('too_large', `longer than the limit of ${maxTextLength} (maxTextLength)`);
    }
  }

  /** Ends the text. A number at the top level is complete only now. */
  end(): JsonFailure | undefined {
    const isRoot = this.#closers.length === 0;
    if (isRoot && this.#state === 'in_number' && this.#number.mayEnd) {
      this.#state = this.#endNumber();
    }
    if (!isRoot || this.#state !== 'after_value') {
      this.#fail('unexpected_end', `the text ends, expected ${this.#expected()}`);
    }
    return this.#failure;
  }

  /**
   * Reads one token or a piece of it, and returns the index to continue at. If the character only ends a
   * number, the index stays the same, and the character is read again.
   */
  #advance(text: string, index: number): number {
    if (this.#state === 'in_string' || this.#state === 'in_key') {
      return this.#advanceString(text, index);
    }
    if (this.#state === 'in_number') return this.#advanceNumber(text, index);
    this.#state = this.#take(text.charAt(index));
    return index + 1;
  }

  #take(char: string): State {
    if (this.#state === 'in_literal') return this.#letter(char);
    if (isWhitespace(char)) return this.#state;
    switch (this.#state) {
      case 'first_element':
        return char === ']' ? this.#close() : this.#startValue(char);
      case 'first_key':
        return char === '}' ? this.#close() : this.#startKey(char);
      case 'key':
        return this.#startKey(char);
      case 'colon':
        return char === ':' ? this.#afterKey() : this.#reject();
      case 'after_value':
        return this.#afterValue(char);
      default:
        return this.#startValue(char);
    }
  }

  #startValue(char: string): State {
    switch (char) {
      case '"':
        this.#sink.openString();
        return 'in_string';
      case '{':
      case '[':
        return this.#open(char);
      case 't':
        return this.#startLiteral(true, 'rue');
      case 'f':
        return this.#startLiteral(false, 'alse');
      case 'n':
        return this.#startLiteral(null, 'ull');
      default:
        return this.#number.read(char, 0) > 0 ? 'in_number' : this.#reject();
    }
  }

  #startKey(char: string): State {
    return char === '"' ? 'in_key' : this.#reject();
  }

  #afterValue(char: string): State {
    const closer = this.#closers.at(-1);
    if (char === closer) return this.#close();
    if (char !== ',' || closer === undefined) return this.#reject();
    if (!this.#countValue()) return this.#state;
    return closer === '}' ? 'key' : 'value';
  }

  #open(char: '{' | '['): State {
    const { maxDepth } = this.#limits;
    if (this.#closers.length >= maxDepth) {
      return this.#fail('too_deep', `nested deeper than the limit of ${maxDepth} (maxDepth)`);
    }
    if (!this.#countValue()) return this.#state;
    if (char === '{') {
      this.#closers.push('}');
      this.#sink.openObject();
      return 'first_key';
    }
    this.#closers.push(']');
    this.#sink.openArray();
    return 'first_element';
  }

  /** Counts one more value. Returns false and records a failure if the limit is exceeded. */
  #countValue(): boolean {
    const { maxValues } = this.#limits;
    if (this.#values < maxValues) {
      this.#values += 1;
      return true;
    }
    this.#fail('too_large', `more values than the limit of ${maxValues} (maxValues)`);
    return false;
  }

  #afterKey(): State {
    const { maxKeys } = this.#limits;
    if (this.#keys >= maxKeys)
      return this.#fail('too_large', `more keys than the limit of ${maxKeys} (maxKeys)`);
    this.#keys += 1;
    return 'value';
  }

  #close(): State {
    this.#closers.pop();
    this.#sink.close();
    return 'after_value';
  }

  #startLiteral(literal: boolean | null, letters: string): State {
    this.#literal = literal;
    this.#letters = letters;
    return 'in_literal';
  }

  #letter(char: string): State {
    if (!this.#letters.startsWith(char)) return this.#reject();
    this.#letters = this.#letters.slice(1);
    if (this.#letters !== '') return 'in_literal';
    this.#sink.scalar(this.#literal);
    return 'after_value';
  }

  #advanceString(text: string, index: number): number {
    const end = this.#string.read(text, index);
    if (end > index) {
      this.#addText(this.#string.take());
      return end;
    }
    const isOver = this.#string.mayEnd && text.charAt(index) === '"';
    this.#state = isOver ? this.#endString() : this.#reject();
    return index + 1;
  }

  #addText(run: string): void {
    if (this.#state === 'in_key') this.#key += run;
    else if (run !== '') this.#sink.text(run);
  }

  #endString(): State {
    this.#addText(this.#string.takeRest());
    if (this.#state === 'in_string') {
      this.#sink.closeString();
      return 'after_value';
    }
    this.#sink.key(this.#key);
    this.#key = '';
    return 'colon';
  }

  #advanceNumber(text: string, index: number): number {
    const end = this.#number.read(text, index);
    if (end === index) this.#state = this.#number.mayEnd ? this.#endNumber() : this.#reject();
    return end;
  }

  #endNumber(): State {
    const start = this.#position - this.#number.length;
    const value = this.#number.take();
    if (!Number.isFinite(value)) {
      return this.#fail('number_range', 'the number is too large for a double', start);
    }
    this.#sink.scalar(value);
    return 'after_value';
  }

  #reject(): State {
    return this.#fail('syntax', `expected ${this.#expected()}`);
  }

  /**
   * Records the first failure and returns the unchanged state. The scanner reads no more characters after a
   * failure.
   */
  #fail(code: JsonFailureCode, reason: string, position: number = this.#position): State {
    this.#failure ??= { code, position, message: `Cannot parse JSON at ${position}: ${reason}` };
    return this.#state;
  }

  #expected(): string {
    if (this.#state !== 'after_value') return expectations[this.#state];
    const closer = this.#closers.at(-1);
    return closer === undefined ? 'nothing but whitespace' : `',' or '${closer}'`;
  }
}

const expectations: Readonly<Record<Exclude<State, 'after_value'>, string>> = {
  value: 'a value',
  first_element: "a value or ']'",
  first_key: "a key or '}'",
  key: 'a key',
  colon: "':'",
  in_key: 'the rest of a key, control characters escaped',
  in_string: 'the rest of a string, control characters escaped',
  in_number: 'the rest of a number',
  in_literal: "the rest of 'true', 'false' or 'null'",
};

function isWhitespace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t';
}
