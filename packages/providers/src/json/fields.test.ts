import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arrayIn, countIn, objectIn, objectsIn, textIn } from './fields.ts';

const odd: JsonObject = {
  text: 'a',
  empty: '',
  number: 3,
  half: 2.6,
  negative: -1,
  endless: Number.POSITIVE_INFINITY,
  yes: true,
  nothing: null,
  list: [{ a: 1 }, 'b', null, [], { c: 2 }],
  object: { a: 1 },
};

describe('a field', () => {
  test('is a text that is not empty', () => {
    expect(textIn(odd, 'text')).toBe('a');
    for (const key of ['empty', 'number', 'yes', 'nothing', 'list', 'object', 'missing']) {
      expect(textIn(odd, key)).toBeUndefined();
    }
  });

  test('is a count: whole, finite, not negative', () => {
    expect(countIn(odd, 'number')).toBe(3);
    expect(countIn(odd, 'half')).toBe(3);
    for (const key of ['negative', 'endless', 'text', 'yes', 'nothing', 'list', 'missing']) {
      expect(countIn(odd, key)).toBeUndefined();
    }
  });

  test('is an object, and no list and no null', () => {
    expect(objectIn(odd, 'object')).toEqual({ a: 1 });
    for (const key of ['list', 'nothing', 'text', 'missing']) {
      expect(objectIn(odd, key)).toBeUndefined();
    }
  });

  test('is a list, or an empty one', () => {
    expect(arrayIn(odd, 'list')).toHaveLength(5);
    for (const key of ['object', 'nothing', 'text', 'missing']) {
      expect(arrayIn(odd, key)).toEqual([]);
    }
  });

  test('has objects in its list, without what else is there', () => {
    expect(objectsIn(odd, 'list')).toEqual([{ a: 1 }, { c: 2 }]);
    const clean = { list: [{ a: 1 }] };
    expect(objectsIn(clean, 'list')).toBe(clean.list);
    expect(objectsIn(odd, 'object')).toEqual([]);
  });

  test('of nothing is nothing', () => {
    for (const read of [textIn, countIn, objectIn]) expect(read(undefined, 'a')).toBeUndefined();
    for (const read of [arrayIn, objectsIn]) expect(read(undefined, 'a')).toEqual([]);
  });

  test('never throws and is what it says, whatever came', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (given, key) => {
        const value = given as JsonValue;
        const object = isJsonObject(value) ? value : { [key]: value };
        for (const name of [...Object.keys(object), key, '__proto__', 'length', '0']) {
          expect(['undefined', 'string']).toContain(typeof textIn(object, name));
          expect(['undefined', 'number']).toContain(typeof countIn(object, name));
          expect(Array.isArray(arrayIn(object, name))).toBe(true);
          expect(objectsIn(object, name).every(isJsonObject)).toBe(true);
        }
      }),
    );
  });
});
