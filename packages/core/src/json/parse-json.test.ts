import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseReference } from '../testing/parse-reference.ts';
import { runs } from '../testing/runs.ts';
import { parseJson } from './parse-json.ts';
import { PartialJson } from './partial-json.ts';

const unlimited = { maxDepth: Infinity, maxTextLength: Infinity };

describe('parseJson', () => {
  it('reads escaped keys that an engine reads wrong after a key with a backslash', () => {
    for (const [text, key] of [
      ['{"\\\\":1}', '\\'],
      ['{"\\n":1}', '\n'],
      ['{"\\u0041" :1}', 'A'],
    ] as const) {
      expect(parseJson(text)).toStrictEqual({ ok: true, value: { [key]: 1 } });
    }
  });

  it('gives what JSON.parse gives', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(text)).toStrictEqual({ ok: true, value: parseReference(text) });
      }),
      { numRuns: runs(1000) },
    );
  });

  it('answers any text as PartialJson does, and never throws', () => {
    const alphabet = fc.constantFrom(...'{}[]",:\\ \n-+.019eEtrufalsn');
    const texts = fc.oneof(fc.json(), fc.string(), fc.string({ unit: alphabet }));
    fc.assert(
      fc.property(texts, (text) => {
        const limits = { maxDepth: 3, maxTextLength: 40, maxValues: 5 };
        const json = new PartialJson(limits);
        json.feed(text);
        expect(parseJson(text, limits)).toEqual(json.end());
      }),
      { numRuns: runs(5000) },
    );
  });

  test.each<[text: string, code: string, position: number]>([
    ['', 'unexpected_end', 0],
    ['{"a":[1,2}', 'syntax', 9],
    ['{"a":"b', 'unexpected_end', 7],
    ['[1e999]', 'number_range', 1],
    ['{"a":{"b":[0,-1e400]}}', 'number_range', 13],
    ['-1e999', 'number_range', 0],
  ])('of %j: %s at %i', (text, code, position) => {
    expect(parseJson(text)).toMatchObject({ ok: false, failure: { code, position } });
  });

  it('takes the largest double and rounds the smallest to zero, as JSON.parse does', () => {
    expect(parseJson('[1.7976931348623157e308, 1e-999, -0]')).toEqual({
      ok: true,
      value: [Number.MAX_VALUE, 0, -0],
    });
  });

  it('takes a null, which is a value', () => {
    expect(parseJson(' null ')).toEqual({ ok: true, value: null });
  });

  it('keeps __proto__ as data', () => {
    const result = parseJson('{"__proto__":{"admin":true}}');
    expect(result.ok && Object.keys(result.value ?? {})).toEqual(['__proto__']);
  });

  it('takes exactly maxDepth levels, of arrays and objects alike', () => {
    const limits = { ...unlimited, maxDepth: 4 };
    expect(parseJson('[{"a":[{}]}]', limits).ok).toBe(true);
    expect(parseJson('[1, {"a":[{"b":[]}]}]', limits)).toMatchObject({
      failure: { code: 'too_deep', position: 15 },
    });
    expect(parseJson('1', { ...unlimited, maxDepth: 0 }).ok).toBe(true);
  });

  it('takes exactly maxTextLength characters', () => {
    const limits = { ...unlimited, maxTextLength: 6 };
    expect(parseJson('"1234"', limits).ok).toBe(true);
    expect(parseJson('"1234" ', limits)).toMatchObject({
      failure: { code: 'too_large', position: 6 },
    });
  });

  it('counts each opening bracket and each comma as a value, and takes exactly maxValues', () => {
    const limits = { ...unlimited, maxValues: 5 };
    expect(parseJson('[1,[],{"a,[{":"\\",["}]', limits).ok).toBe(true);
    expect(parseJson('[1,[],{"a":{}}]', limits).ok).toBe(false);
    expect(parseJson('[1,[],{},2]', limits)).toEqual({
      ok: false,
      failure: {
        code: 'too_large',
        position: 8,
        message: 'Cannot parse JSON at 8: more values than the limit of 5 (maxValues)',
      },
    });
    expect(parseJson('"[,[,[,"', limits).ok).toBe(true);
    expect(parseJson('1', { ...unlimited, maxValues: 0 }).ok).toBe(true);
  });

  it('counts the keys of all objects, and takes exactly maxKeys', () => {
    const limits = { ...unlimited, maxKeys: 3 };
    expect(parseJson('[{"a":{"b:":":"}},{"a":1}]', limits).ok).toBe(true);
    expect(parseJson('{"a":1,"a":2,"a":3,"a":4}', limits)).toEqual({
      ok: false,
      failure: {
        code: 'too_large',
        position: 22,
        message: 'Cannot parse JSON at 22: more keys than the limit of 3 (maxKeys)',
      },
    });
    // Each text is as long as its keys need.
    for (const count of [3, 4, 300_000])
      for (const maxKeys of [count - 1, count]) {
        const text = `{${Array.from({ length: count }, () => '"":1').join(',')}}`;
        expect(parseJson(text, { ...unlimited, maxKeys }).ok).toBe(maxKeys === count);
      }
    expect(parseJson('{}', { ...unlimited, maxKeys: 0 }).ok).toBe(true);
  });

  it('accepts a little over a million values by default', () => {
    const values = 2 ** 20;
    const text = `[${'1,'.repeat(values - 1)}1`;
    expect(parseJson(`${text}]`).ok).toBe(true);
    const failure = { code: 'too_large', position: text.length };
    expect(parseJson(`${text},1]`)).toMatchObject({ failure });
    expect(parseJson(`${text},1]`, { ...unlimited, maxValues: Infinity }).ok).toBe(true);
  });

  it('names what is wrong with a text before what is too much of it', () => {
    const limits = { ...unlimited, maxDepth: 4, maxValues: 100 };
    for (const tooMuch of ['[[[[[', '1,'.repeat(101)]) {
      expect(parseJson(`[oops, ${tooMuch}`, limits)).toMatchObject({
        failure: { code: 'syntax', position: 1 },
      });
    }
  });

  it('finds the depth and the error of a long text as of a short one', () => {
    const long = `"${'[{,\\\\'.repeat(250_000)}"`;
    const limits = { ...unlimited, maxDepth: 4 };
    expect(parseJson(`[[[[${long}]]]]`, limits).ok).toBe(true);
    for (const [end, code, at] of [
      ['[[[[]]]]]', 'too_deep', 3],
      ['{"a":{"b":[{}]}}]', 'too_deep', 11],
      ['[[[[]]]}]', 'too_deep', 3],
      ['[[[}]]]]]', 'syntax', 3],
      [']]]][[[[[', 'syntax', 0],
      ['[1e999]]', 'number_range', 1],
    ] as const) {
      const before = `[${long},`;
      const position = before.length + at;
      expect(parseJson(before + end, limits)).toMatchObject({ failure: { code, position } });
    }
  });

  it('finds the ends of strings, however they are escaped', () => {
    const unit = fc.constantFrom('"', '\\', '[', ',', 'a', '\n', 'é');
    const strings = fc.array(fc.string({ unit }), { minLength: 1 });
    fc.assert(
      fc.property(strings, (values) => {
        const limits = { ...unlimited, maxDepth: 1, maxValues: values.length };
        const text = JSON.stringify(values);
        expect(parseJson(text, limits)).toEqual({ ok: true, value: values });
        const maxValues = values.length - 1;
        expect(parseJson(text, { ...limits, maxValues })).toMatchObject({
          failure: { code: 'too_large' },
        });
      }),
    );
  });

  it('survives a million levels, with a limit or without', () => {
    const depth = 1_000_000;
    const open = '['.repeat(depth);
    const closed = open + ']'.repeat(depth);
    expect(parseJson(closed)).toMatchObject({ failure: { code: 'too_deep', position: 128 } });
    expect(parseJson(closed, unlimited).ok).toBe(true);
    expect(parseJson(open, unlimited)).toMatchObject({
      failure: { code: 'unexpected_end', position: depth },
    });
  });
});
