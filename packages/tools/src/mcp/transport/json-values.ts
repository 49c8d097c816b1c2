/**
 * Maximum number of values in one message of a server. The limit on bytes does not limit the work: an empty array needs
 * three bytes, but thirty times the memory, and each value is checked by several schemas.
 */
export const maxMessageValues: number = 2 ** 18;

/**
 * Counts the values of JSON, byte by byte: each opening bracket and each comma outside of a string. A message can thus
 * be refused before `JSON.parse` creates its values. Valid JSON has no line end in a string, so a line end also ends
 * a string. Other lines of an event stream, such as comments, can therefore not hide values.
 */
export class ValueCounter {
  count = 0;
  #isInString = false;
  #isEscaped = false;

  /** Reads a byte of UTF-8, or a UTF-16 unit. */
  read(code: number): void {
    if (code === lineFeed || code === carriageReturn) {
      this.#isInString = false;
      this.#isEscaped = false;
    } else if (this.#isEscaped) this.#isEscaped = false;
    else if (code === quote) this.#isInString = !this.#isInString;
    else if (this.#isInString) this.#isEscaped = code === backslash;
    else if (code === comma || code === bracket || code === brace) this.count++;
  }
}

/** Returns whether a JSON text has more values than a message can have. */
export function hasTooManyValues(text: string): boolean {
  if (text.length <= maxMessageValues) return false;
  const counter = new ValueCounter();
  for (let at = 0; at < text.length && counter.count <= maxMessageValues; at++)
    counter.read(text.charCodeAt(at));
  return counter.count > maxMessageValues;
}

export function tooManyValuesError(): RangeError {
  return new RangeError(`It sent a message of more than ${maxMessageValues} values`);
}

/** A message of this length can take some tenths of a second. It waits for a turn of its own. */
export const longMessageLength: number = 2 ** 17;

let lastTurn: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop that no earlier call of this function has. If many long messages arrive at the
 * same time, also from several servers, the process can thus do other work between two of them.
 */
export function nextTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise<void>((resolve) => setImmediate(resolve)));
  return lastTurn;
}

/** The number of values of a parsed JSON value, and the length of its strings and keys. */
export interface JsonSize {
  readonly values: number;
  readonly length: number;
}

/** Measures a parsed JSON value. It uses no recursion, because a deep value would overflow the stack. */
export function sizeOf(json: unknown): JsonSize {
  const waiting: unknown[] = [json];
  let values = 0;
  let length = 0;
  while (waiting.length > 0) {
    const value = waiting.pop();
    values++;
    length++;
    if (typeof value === 'string') length += value.length;
    else if (Array.isArray(value)) for (const one of value) waiting.push(one);
    else if (typeof value === 'object' && value !== null)
      for (const [key, one] of Object.entries(value)) {
        length += key.length;
        waiting.push(one);
      }
  }
  return { values, length };
}

const quote = 34; // "
const comma = 44; // ,
const bracket = 91; // [
const backslash = 92; // \
const brace = 123; // {
const lineFeed = 10;
const carriageReturn = 13;
