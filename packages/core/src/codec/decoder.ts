import { MillraceError } from '../errors.ts';
import { checkJson } from '../json/check-json.ts';
import type { JsonObject, JsonValue } from '../json/json-value.ts';
import type { Limits } from '../limits.ts';
import { decodedLength, fromBase64 } from './base64.ts';

/** Checks that a JSON value is a T and gives it; throws `Misfit` where it is not. */
export type Decoder<T> = (value: unknown, limits: Limits) => T;

/** What a value is, for an error: never the value itself, which may be a secret. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const misfit = (expected: string, found: unknown): Misfit =>
  new Misfit(`expected ${expected}, found ${kindOf(found)}`);

/** Of any length, because what it is held against bounds it. */
function anyString(value: unknown): string {
  if (typeof value === 'string') return value;
  throw misfit('a string', value);
}

export const string: Decoder<string> = (value, { maxTextLength }) => {
  const text = anyString(value);
  if (text.length <= maxTextLength) return text;
  throw new Misfit(
    `expected at most ${maxTextLength} characters, found ${text.length}`,
    'too_large',
  );
};

/** A string that passes the test: an id, a decimal. */
export function stringThat<T extends string>(
  fits: (text: string) => boolean,
  what: string,
): Decoder<T> {
  return (value) => {
    const text = anyString(value);
    if (fits(text)) return text as T;
    throw new Misfit(`expected ${what}`);
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

/** A whole number from 0 on that JavaScript can count to. */
export const count: Decoder<number> = (value) => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw misfit('a whole number from 0 to 2^53 - 1', value);
};

export const offset: Decoder<number> = (value, limits) => {
  const number = count(value, limits);
  if (number > 0) return number;
  throw new Misfit('expected an offset, which starts at 1');
};

export function oneOf<T extends string>(...texts: readonly T[]): Decoder<T> {
  const known: ReadonlySet<unknown> = new Set(texts);
  return (value) => {
    if (known.has(value)) return value as T;
    throw new Misfit(`expected one of ${texts.join(', ')}`);
  };
}

/** From whichever realm: a Buffer is one too, other typed arrays are not. */
export function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === '[object Uint8Array]';
}

export const bytes: Decoder<Uint8Array> = (value, { maxBytesLength }) => {
  if (typeof value !== 'string') throw misfit('base64 text', value);
  if (decodedLength(value) > maxBytesLength) {
    throw new Misfit(`expected at most ${maxBytesLength} bytes`, 'too_large');
  }
  const decoded = fromBase64(value);
  if (decoded === undefined) throw new Misfit('expected base64 text with padding');
  return decoded;
};

export const json: Decoder<JsonValue> = (value, limits) => {
  if (value === undefined) throw misfit('a JSON value', value);
  // The path within the value has its keys, which are content: it is not told.
  const problem = checkJson(value, limits);
  if (problem !== undefined) throw new Misfit(problem.why, problem.code);
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

/** The same error, one step deeper. */
function at(step: string | number, error: unknown): unknown {
  if (error instanceof Misfit) error.path.unshift(step);
  return error;
}

export function list<T>(decode: Decoder<T>): Decoder<readonly T[]> {
  return (value, limits) => {
    if (!Array.isArray(value)) throw misfit('an array', value);
    const entries: T[] = [];
    // By index, because map leaves the holes of a sparse array as they are. One try for all of them, as
    // for the fields of an object: this runs for each of thousands when a long session is opened.
    try {
      for (let index = 0; index < value.length; index++) entries.push(decode(value[index], limits));
    } catch (error) {
      throw at(entries.length, error);
    }
    return entries;
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

/** Takes the named fields and ignores all others. */
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

/** One of several shapes, told apart by the text in one field, which each case therefore leaves out. */
export function variant<T extends Tagged<Tag>, Tag extends string, Other = T>(
  tag: Tag,
  cases: Cases<T, Tag, never>,
  otherwise?: Decoder<Other>,
): Decoder<T | Other> {
  return variantWith<T, Tag, never, Other>({}, tag, cases, otherwise);
}

/** The same for shapes that have fields in common, which stand before the others. */
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
    // The compiler cannot add up a generic shape from its parts; `Cases` made sure that it does.
    const fields: unknown = { ...shared, [tag]: literal(name), ...shape };
    decoders.set(name, typeof shape === 'function' ? shape : object(fields as Fields<T>));
  }
  return (value, limits) => {
    isObject(value);
    const name = under(tag, () => anyString(value[tag]));
    const decode = decoders.get(name) ?? otherwise;
    if (decode !== undefined) return decode(value, limits);
    return under(tag, () => {
      throw new Misfit(`expected one of ${[...decoders.keys()].join(', ')}`);
    });
  };
}

export function literal<T extends string>(text: T): Decoder<T> {
  return () => text;
}

export type DecodeErrorCode = 'not_json' | 'too_large' | 'unsupported_version' | 'bad_value';

/** A document that is not what it should be. `place.path` leads to the field, such as `$.delta.at`. */
export class DecodeError extends MillraceError<DecodeErrorCode> {}

/** Thrown inside a decoder; the fields on the way out put themselves in front of the path. */
export class Misfit extends Error {
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
