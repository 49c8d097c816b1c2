import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defaultContentLimits } from '../limits.ts';
import { parseReference } from '../testing/parse-reference.ts';
import { isFull, runs } from '../testing/runs.ts';
import { checkJson } from './check-json.ts';

const check = (value: unknown) => checkJson(value, defaultContentLimits);

class Point {
  readonly x = 1;
}

/** Is it what JSON text gave back? By content: 0 may have been -0, and prototypes may have been none. */
function isSame(value: unknown, back: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === back;
  if (typeof back !== 'object' || back === null) return false;
  if (Array.isArray(value) !== Array.isArray(back)) return false;
  const isPlain = [null, Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value));
  const fields = new Map(Object.entries(value));
  const fieldsBack = Object.entries(back);
  return (
    isPlain &&
    fields.size === fieldsBack.length &&
    fieldsBack.every(([key, field]) => fields.has(key) && isSame(fields.get(key), field))
  );
}

function survives(value: unknown): boolean {
  try {
    return isSame(value, parseReference(JSON.stringify(value)));
  } catch {
    return false;
  }
}

const leaves = [
  fc.boolean(),
  fc.integer(),
  fc.double(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom<unknown>(null, undefined, NaN, Infinity, -Infinity, -0, 5n, Symbol('s')),
  fc.constantFrom<unknown>(() => 1, class {}, new Point(), /a/, new Date(NaN), new Error('e')),
  fc.constantFrom<unknown>({ toJSON: () => 1 }, { toJSON: 1 }, Object.create({ a: 1 }), '\ud83d'),
];
const anything = fc.anything({
  values: leaves,
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
});

describe('a value is JSON', () => {
  test('exactly if it comes back from JSON text as it was', () => {
    const seen = new Set<boolean>();
    fc.assert(
      fc.property(anything, (value) => {
        const isJson = check(value) === undefined;
        expect(isJson).toBe(survives(value));
        seen.add(isJson);
      }),
      { numRuns: runs(5000) },
    );
    if (isFull) expect(seen.size).toBe(2);
  });

  test('if it came out of JSON.parse', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(check(JSON.parse(text))).toBe(undefined);
      }),
    );
    const names = '{"__proto__":{"toJSON":1},"constructor":[],"hasOwnProperty":null,"":""}';
    expect(check(JSON.parse(names))).toBe(undefined);
  });

  test('also as -0, which comes back as 0, and without a prototype, which it comes back with', () => {
    expect(check(-0)).toBe(undefined);
    expect(check(Object.assign(Object.create(null), { a: 1 }))).toBe(undefined);
  });

  test('also with what JSON does not look at: symbols, hidden fields, names of an array', () => {
    const hidden = Object.defineProperty({ a: 1 }, 'b', { value: () => 1, enumerable: false });
    expect(check({ [Symbol('s')]: () => 1 })).toBe(undefined);
    expect(check(hidden)).toBe(undefined);
    expect(check('a-b'.match(/(?<first>a)/))).toBe(undefined);
  });

  test('also from another realm', () => {
    expect(check(runInNewContext('({ a: [1, { b: null }] })'))).toBe(undefined);
    expect(check(runInNewContext('new Date()'))).toMatchObject({ path: '$' });
    expect(check(runInNewContext('Object.create({ a: 1 })'))).toMatchObject({ path: '$' });
  });

  test('also where a part of it is there twice', () => {
    const shared = { a: [1] };
    expect(check([shared, shared, { shared }])).toBe(undefined);
  });
});

describe('a value that is not JSON is refused with the path to what is not', () => {
  const hiddenToJson = Object.defineProperty({}, 'toJSON', { value: () => 1, enumerable: false });
  const parent = Object.create(null, { toJSON: { value: () => 1 } });
  // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested
  const sparse = [1, , 3];

  test.each<[what: string, value: unknown, path: string, why: string]>([
    ['nothing', undefined, '$', 'JSON has no undefined'],
    ['a field without a value', { a: undefined }, '$.a', 'JSON has no undefined'],
    ['a hole', { a: sparse }, '$.a[1]', 'JSON has no undefined'],
    ['NaN', [0, { a: NaN }], '$[1].a', 'NaN is no JSON number'],
    ['an infinite number', { a: { b: -Infinity } }, '$.a.b', '-Infinity is no JSON number'],
    ['a bigint', [5n], '$[0]', 'JSON has no bigint'],
    ['a symbol', { a: Symbol('s') }, '$.a', 'JSON has no symbol'],
    ['a function', { a: [check] }, '$.a[0]', 'JSON has no function'],
    ['a date', { at: new Date(0) }, '$.at', 'it has a toJSON'],
    ['a map', new Map(), '$', 'it is not a plain object'],
    ['bytes', { a: Uint8Array.of(1) }, '$.a', 'it is not a plain object'],
    ['a boxed string', [new String('a')], '$[0]', 'it is not a plain object'],
    ['an object of a class', { a: new Point() }, '$.a', 'it is not a plain object'],
    ['fields that are inherited', Object.create({ a: 1 }), '$', 'it is not a plain object'],
    ['fields from a bare parent', Object.create(parent), '$', 'it has a toJSON'],
    ['a hidden toJSON', { a: hiddenToJson }, '$.a', 'it has a toJSON'],
    ['an array with toJSON', Object.assign([1], { toJSON: () => 1 }), '$', 'it has a toJSON'],
  ])('%s', (_what, value, path, why) => {
    expect(check(value)).toEqual({ code: 'not_json', path, why });
  });

  test('fields that a parent without parents has are inherited too', () => {
    const orphan = Object.assign(Object.create(null), { a: 1 });
    expect(check(Object.create(orphan))).toMatchObject({ why: 'it is not a plain object' });
  });
});

describe('a value is bounded', () => {
  const nested = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);

  test('in depth', () => {
    const limits = { ...defaultContentLimits, maxDepth: 2 };
    expect(checkJson(nested(2), limits)).toBe(undefined);
    expect(checkJson([[], { a: {} }], limits)).toEqual({
      path: '$[1].a',
      code: 'too_large',
      why: 'it is nested too deeply',
    });
    expect(checkJson('flat', { ...defaultContentLimits, maxDepth: 0 })).toBe(undefined);
    expect(checkJson([], { ...defaultContentLimits, maxDepth: 0 })).toMatchObject({ path: '$' });
    expect(check(nested(128))).toBe(undefined);
    expect(check(nested(100_000))).toMatchObject({ why: 'it is nested too deeply' });
  });

  test('so that a cycle is too deep', () => {
    const cycle: { self?: unknown } = {};
    cycle.self = [cycle];
    expect(check(cycle)).toMatchObject({ why: 'it is nested too deeply' });
  });

  test('in its values and characters, each counted as often as its text would have it', () => {
    const limits = { ...defaultContentLimits, maxTextLength: 20 };
    const tooMuch = { code: 'too_large', why: 'there is too much of it' };
    expect(checkJson(Array(19).fill(0), limits)).toBe(undefined);
    expect(checkJson(Array(20).fill(0), limits)).toEqual({ path: '$[19]', ...tooMuch });
    expect(checkJson('x'.repeat(19), limits)).toBe(undefined);
    expect(checkJson('x'.repeat(20), limits)).toEqual({ path: '$', ...tooMuch });
    expect(checkJson({ ['x'.repeat(20)]: 1 }, limits)).toMatchObject(tooMuch);
    expect(check(Array(1024).fill('x'.repeat(2 ** 20)))).toMatchObject(tooMuch);
  });

  test('never more strictly than its text is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const maxTextLength = JSON.stringify(value).length;
        expect(checkJson(value, { ...defaultContentLimits, maxTextLength })).toBe(undefined);
      }),
    );
  });

  test('so that a small value which refers to itself twice at each level comes to an end', () => {
    let list: unknown = [];
    let object: unknown = {};
    for (let level = 0; level < 100; level++) {
      list = [list, list];
      object = { left: object, right: object };
    }
    expect(check(list)).toMatchObject({ why: 'there is too much of it' });
    expect(checkJson(object, { ...defaultContentLimits, maxTextLength: 2 ** 20 })).toMatchObject({
      why: 'there is too much of it',
    });
  });
});
