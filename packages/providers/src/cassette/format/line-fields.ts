import type { JsonObject, JsonValue } from '@millrace/core';
import { fromBase64 } from '../bytes.ts';
import { CassetteError, type CassetteErrorCode } from '../cassette.ts';

/** The fields of one line of a cassette, read one by one; what is left over should not be there. */
export class LineFields {
  readonly #line: number;
  readonly #path: string;
  readonly #object: JsonObject;
  readonly #left: Set<string>;

  constructor(line: number, value: JsonValue | undefined, path: string = '$') {
    this.#line = line;
    this.#path = path;
    if (!isObject(value)) throw misfit(line, path, 'expected an object');
    this.#object = value;
    this.#left = new Set(Object.keys(value));
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#object, name);
  }

  text(name: string, what: string = 'a text', form: RegExp = /^/): string {
    const value = this.#take(name);
    if (typeof value === 'string' && value.isWellFormed() && form.test(value)) return value;
    throw this.misfit(name, `expected ${what}`);
  }

  oneOf<T extends string>(name: string, texts: readonly T[]): T {
    const value = this.#take(name);
    const found = texts.find((text) => text === value);
    if (found !== undefined) return found;
    throw this.misfit(name, `expected one of ${texts.join(', ')}`);
  }

  whole(name: string, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
    const value = this.#take(name);
    const isWhole = typeof value === 'number' && Number.isSafeInteger(value);
    if (isWhole && value >= min && value <= max) return value;
    throw this.misfit(name, `expected a whole number from ${min} to ${max}`);
  }

  ms(name: string, min: number): number {
    const value = this.#take(name);
    if (typeof value === 'number' && value >= min) return value;
    throw this.misfit(name, `expected milliseconds, ${min} or more`);
  }

  yes(name: string): true {
    if (this.#take(name) === true) return true;
    throw this.misfit(name, 'expected true, or no such field');
  }

  object(name: string): LineFields {
    return new LineFields(this.#line, this.#take(name), `${this.#path}.${name}`);
  }

  /** What `writeBytes` wrote; undefined where neither of its fields is. */
  bytes(): Uint8Array | undefined {
    if (this.has('text') && this.has('base64')) {
      throw this.misfit('base64', 'expected text or base64, found both');
    }
    if (this.has('text')) return new TextEncoder().encode(this.text('text'));
    if (!this.has('base64')) return undefined;
    const bytes = fromBase64(this.text('base64'));
    if (bytes !== undefined) return bytes;
    throw this.misfit('base64', 'expected base64 text with padding');
  }

  /** All fields that are left, as texts. */
  texts(name: (text: string) => boolean, what: string, form: RegExp): Record<string, string> {
    const names = [...this.#left];
    const odd = names.findIndex((text) => !name(text));
    if (odd >= 0) throw misfit(this.#line, this.#path, `expected ${what} as name ${odd + 1}`);
    return Object.fromEntries(
      names.map((key) => [key, this.text(key, 'a text on one line', form)]),
    );
  }

  end(): void {
    const count = this.#left.size;
    if (count === 0) return;
    // Their names are not ours, so that they are not told.
    throw misfit(this.#line, this.#path, `expected no other fields, found ${count}`);
  }

  misfit(name: string, why: string, code?: CassetteErrorCode): CassetteError {
    const found = this.has(name) ? '' : ', found nothing';
    return misfit(this.#line, `${this.#path}.${name}`, why + found, code);
  }

  #take(name: string): JsonValue | undefined {
    this.#left.delete(name);
    return this.has(name) ? this.#object[name] : undefined;
  }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function misfit(
  line: number,
  path: string,
  why: string,
  code: CassetteErrorCode = 'bad_value',
): CassetteError {
  const message = `Cannot read line ${line} of a cassette at ${path}: ${why}`;
  return new CassetteError(code, message, { line, path });
}
