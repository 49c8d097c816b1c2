import { MillraceError } from '../errors.ts';
import { checkJson } from '../json/check-json.ts';
import type { JsonObject, JsonValue } from '../json/json-value.ts';
import type { ContentLimits } from '../limits.ts';
import { decodedLength, fromBase64 } from './base64.ts';

/** Checks that a JSON value is a T and returns it. Throws `DecodeFailure` if it is not. */
export type Decoder<T> = (value: unknown, limits: ContentLimits) => T;

/**
 * Describes the type of a value for an error message. The message must not include the value, which
 * may be a secret.
 */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const misfit = (expected: string, found: unknown): DecodeFailure =>
  new DecodeFailure(`expected ${expected}, found ${kindOf(found)}`);

/** Accepts a string of any length. Each caller limits the length itself or compares the text. */
function anyString(value: unknown): string {
  if (typeof value === 'string') return value;
  throw misfit('a string', value);
}

export const string: Decoder<string> = (value, { maxTextLength }) => {
  const text = anyString(value);
  if (text.length <= maxTextLength) return text;
  throw new DecodeFailure(
    `expected at most ${maxTextLength} characters, found ${text.length}`,
    'too_large',
  );
};

/** Returns a decoder for strings that pass the test `fits`, such as ids or decimals. */
export function stringThat<T extends string>(
  fits: (text: string) => boolean,
  what: string,
): Decoder<T> {
  return (value) => {
    const text = anyString(value);
    if (fits(text)) return text as T;
    throw new DecodeFailure(`expected ${what}`);
  };
}

export const boolean: Decoder<boolean> = (value) => {
  if (typeof value === 'boolean') return value;
  throw misfit('true or false', value);
};

export const yes: Decoder<true> = (value) => {
  if (value === true) return value;
  throw misfit('true, or no such field', value);
};

/** Accepts a whole number from 0 to the largest safe integer. */
export const count: Decoder<number> = (value) => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw misfit('a whole number from 0 to 2^53 - 1', value);
};

/** Accepts any number that JSON can express. */
export const number: Decoder<number> = (value) => {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw misfit('a number', value);
};

export const offset: Decoder<number> = (value, limits) => {
  const number = count(value, limits);
  if (number > 0) return number;
  throw new DecodeFailure('expected an offset, which starts at 1');
};

export function oneOf<T extends string>(...texts: readonly T[]): Decoder<T> {
  const known: ReadonlySet<unknown> = new Set(texts);
  return (value) => {
    if (known.has(value)) return value as T;
    throw new DecodeFailure(`expected one of ${texts.join(', ')}`);
  };
}

/**
 * Returns whether a value is a Uint8Array, also from another realm such as an iframe. A Buffer counts as a
 * Uint8Array. Other typed arrays do not count.
 */
export function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === '[object Uint8Array]';
}

export const bytes: Decoder<Uint8Array> = (value, { maxBytesLength }) => {
  if (typeof value !== 'string') throw misfit('base64 text', value);
  if (decodedLength(value) > maxBytesLength) {
    throw new DecodeFailure(`expected at most ${maxBytesLength} bytes`, 'too_large');
  }
  const decoded = fromBase64(value);
  if (decoded === undefined) throw new DecodeFailure('expected base64 text with padding');
  return decoded;
};

export const json: Decoder<JsonValue> = (value, limits) => {
  if (value === undefined) throw misfit('a JSON value', value);
  // The error does not include `problem.path`, because the path contains keys of the value, and
  // keys are content.
  const problem = checkJson(value, limits);
  if (problem !== undefined) throw new DecodeFailure(problem.why, problem.code);
  return value as JsonValue;
};

export const jsonObject: Decoder<JsonObject> = (value, limits) => {
  isObject(value);
  return json(value, limits) as JsonObject;
};

export function isObject(value: unknown): asserts value is Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw misfit('an object', value);
}

function under<T>(step: string | number, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    throw at(step, error);
  }
}

/** Returns the same error with one more step at the start of its path. */
function at(step: string | number, error: unknown): unknown {
  if (error instanceof DecodeFailure) error.path.unshift(step);
  return error;
}

export function list<T>(decode: Decoder<T>): Decoder<readonly T[]> {
  return (value, limits) => {
    if (!Array.isArray(value)) throw misfit('an array', value);
    const entries: T[] = [];
    // The loop uses indices, because `map` skips the holes of a sparse array. One `try` covers all elements,
    // because one `try` for each element would be slow: this code runs thousands of times when a long session
    // opens.
    try {
      for (let index = 0; index < value.length; index++) entries.push(decode(value[index], limits));
    } catch (error) {
      throw at(entries.length, error);
    }
    return entries;
  };
}

/**
 * Returns a decoder for objects with any names and one type of value. The names are content, so
 * errors do not include them.
 */
export function mapOf<T>(decode: Decoder<T>): Decoder<Readonly<Record<string, T>>> {
  return (value, limits) => {
    isObject(value);
    // `fromEntries` defines fields, so `__proto__` becomes an ordinary field and not the prototype.
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [name, decode(field, limits)]),
    );
  };
}

export function optional<T>(decode: Decoder<T>): Decoder<T | undefined> {
  return (value, limits) => (value === undefined ? undefined : decode(value, limits));
}

export function nullable<T>(decode: Decoder<T>): Decoder<T | null> {
  return (value, limits) => (value === null ? null : decode(value, limits));
}

export type Fields<T> = {
  readonly [K in keyof T]-?: object extends Pick<T, K> ? Decoder<T[K] | undefined> : Decoder<T[K]>;
};

/** Returns a decoder for objects with these fields. Other fields of the value are ignored. */
export function object<T extends object>(fields: Fields<T>): Decoder<T> {
  const entries = Object.entries<Decoder<unknown>>(fields);
  return (value, limits) => {
    isObject(value);
    const result: Record<string, unknown> = {};
    let name = '';
    try {
      for (const [key, decode] of entries) {
        name = key;
        const field = decode(value[key], limits);
        if (field !== undefined) result[key] = field;
      }
    } catch (error) {
      throw at(name, error);
    }
    return result as T;
  };
}

type Tagged<Tag extends string> = { readonly [K in Tag]: string };
type Case<T, Known extends string> = Decoder<T> | Fields<Omit<T, Known>>;
type Cases<T extends Tagged<Tag>, Tag extends string, Known extends string> = {
  readonly [Name in T[Tag]]: Case<Extract<T, { readonly [K in Tag]: Name }>, Tag | Known>;
};

/**
 * Returns a decoder for objects of several shapes. The text in the field `tag` selects the shape,
 * so the shapes do not list that field.
 */
export function variant<T extends Tagged<Tag>, Tag extends string, Other = T>(
  tag: Tag,
  cases: Cases<T, Tag, never>,
  otherwise?: Decoder<Other>,
): Decoder<T | Other> {
  return variantWith<T, Tag, never, Other>({}, tag, cases, otherwise);
}

/** Like `variant`, for shapes with shared fields. The shared fields come first in the result. */
export function variantWith<
  T extends Tagged<Tag>,
  Tag extends string,
  Known extends string,
  Other = T,
>(
  shared: { readonly [K in Known]: Decoder<unknown> },
  tag: Tag,
  cases: Cases<T, Tag, Known>,
  otherwise?: Decoder<Other>,
): Decoder<T | Other> {
  const decoders = new Map<string, Decoder<T>>();
  for (const [name, shape] of Object.entries(cases) as [string, Case<T, Tag | Known>][]) {
    // TypeScript cannot check that these fields are all fields of the generic type `T`. The type `Cases`
    // already requires a decoder for each field, so the cast is safe.
    const fields: unknown = { ...shared, [tag]: literal(name), ...shape };
    decoders.set(name, typeof shape === 'function' ? shape : object(fields as Fields<T>));
  }
  return (value, limits) => {
    isObject(value);
    const name = under(tag, () => anyString(value[tag]));
    const decode = decoders.get(name) ?? otherwise;
    if (decode !== undefined) return decode(value, limits);
    return under(tag, () => {
      throw new DecodeFailure(`expected one of ${[...decoders.keys()].join(', ')}`);
    });
  };
}

export function literal<T extends string>(text: T): Decoder<T> {
  return () => text;
}

/** The reason why a document could not be decoded. */
export type DecodeErrorCode = 'not_json' | 'too_large' | 'unsupported_version' | 'bad_value';

/**
 * Thrown if a document does not have the expected form. `place.path` is the path to the wrong
 * field, such as `$.delta.at`.
 */
export class DecodeError extends MillraceError<DecodeErrorCode> {}

/** Thrown inside a decoder. Each enclosing field adds its name to the front of the path. */
export class DecodeFailure extends Error {
  readonly path: (string | number)[] = [];
  readonly code: DecodeErrorCode;

  constructor(why: string, code: DecodeErrorCode = 'bad_value') {
    super(why);
    this.code = code;
  }
}

export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}.${step}`),
    '$',
  );
}
