import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import { decodeBase64 } from '../bytes.ts';
import { CassetteError, type CassetteErrorCode } from '../cassette.ts';

/**
 * Reads and validates the fields of one cassette line. If a field is left that no method has read, the line
 * is invalid.
 */
export class LineFields {
  readonly #line: number;
  readonly #path: string;
  readonly #object: JsonObject;
  readonly #left: Set<string>;

  constructor(line: number, value: JsonValue | undefined, path: string = '$') {
    this.#line = line;
    this.#path = path;
    if (!isJsonObject(value)) throw lineError(line, path, 'expected an object');
    this.#object = value;
    this.#left = new Set(Object.keys(value));
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#object, name);
  }

  text(name: string, what: string = 'a text', form: RegExp = /^/): string {
    const value = this.#take(name);
    if (typeof value === 'string' && value.isWellFormed() && form.test(value)) return value;
    throw this.fieldError(name, `expected ${what}`);
  }

  oneOf<T extends string>(name: string, texts: readonly T[]): T {
    const value = this.#take(name);
    const found = texts.find((text) => text === value);
    if (found !== undefined) return found;
    throw this.fieldError(name, `expected one of ${texts.join(', ')}`);
  }

  integer(name: string, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
    const value = this.#take(name);
    const isWhole = typeof value === 'number' && Number.isSafeInteger(value);
    if (isWhole && value >= min && value <= max) return value;
    throw this.fieldError(name, `expected a whole number from ${min} to ${max}`);
  }

  ms(name: string, min: number): number {
    const value = this.#take(name);
    if (typeof value === 'number' && value >= min) return value;
    throw this.fieldError(name, `expected milliseconds, ${min} or more`);
  }

  literalTrue(name: string): true {
    if (this.#take(name) === true) return true;
    throw this.fieldError(name, 'expected true or no field');
  }

  object(name: string): LineFields {
    return new LineFields(this.#line, this.#take(name), `${this.#path}.${name}`);
  }

  /**
   * Reads bytes that `encodeBytes` wrote. Returns undefined if the line has neither `text` nor
   * `base64`.
   */
  bytes(): Uint8Array | undefined {
    if (this.has('text') && this.has('base64')) {
      throw this.fieldError('base64', 'expected text or base64, found both');
    }
    if (this.has('text')) return new TextEncoder().encode(this.text('text'));
    if (!this.has('base64')) return undefined;
    const bytes = decodeBase64(this.text('base64'));
    if (bytes !== undefined) return bytes;
    throw this.fieldError('base64', 'expected base64 text with padding');
  }

  /** Reads all remaining fields as strings. */
  stringEntries(
    name: (text: string) => boolean,
    what: string,
    form: RegExp,
  ): Record<string, string> {
    const names = [...this.#left];
    const odd = names.findIndex((text) => !name(text));
    if (odd >= 0) throw lineError(this.#line, this.#path, `expected ${what} as name ${odd + 1}`);
    return Object.fromEntries(
      names.map((key) => [key, this.text(key, 'a text on one line', form)]),
    );
  }

  assertNoMoreFields(): void {
    const count = this.#left.size;
    if (count === 0) return;
    // The message does not contain the field names, because unknown content may be secret.
    throw lineError(this.#line, this.#path, `expected no other fields, found ${count}`);
  }

  fieldError(name: string, why: string, code?: CassetteErrorCode): CassetteError {
    const found = this.has(name) ? '' : ', found nothing';
    return lineError(this.#line, `${this.#path}.${name}`, why + found, code);
  }

  #take(name: string): JsonValue | undefined {
    this.#left.delete(name);
    return this.has(name) ? this.#object[name] : undefined;
  }
}

export function lineError(
  line: number,
  path: string,
  why: string,
  code: CassetteErrorCode = 'bad_value',
): CassetteError {
  const message = `Cannot read line ${line} of a cassette at ${path}: ${why}`;
  return new CassetteError(code, message, { line, path });
}
