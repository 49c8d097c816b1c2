import { type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { StreamedArguments } from './streamed-arguments.ts';

/** The text after each piece and at the end. `isReplaced` is true if the end has another text. */
function written(partials: readonly JsonObject[]) {
  const args = new StreamedArguments();
  const texts: string[] = [];
  for (const partial of partials) texts.push((texts.at(-1) ?? '') + args.add(partial));
  const end = args.end();
  const text = 'append' in end ? (texts.at(-1) ?? '') + end.append : end.replace;
  return { texts, text, isReplaced: 'replace' in end };
}

const at = (jsonPath: string, stringValue: string, willContinue = false): JsonObject => ({
  jsonPath,
  stringValue,
  ...(willContinue && { willContinue }),
});

describe('arguments whose paths follow each other', () => {
  test('grow with each piece, a text even inside it', () => {
    const { texts, text } = written([
      at('$.port', 'Bre', true),
      at('$.port', 'st "x"', true),
      at('$.port', ''),
      { jsonPath: '$.days', numberValue: 2 },
      { jsonPath: '$.metric', boolValue: false },
      { jsonPath: '$.note', nullValue: 'NULL_VALUE' },
    ]);
    expect(texts.slice(0, 4)).toEqual([
      '{"port":"Bre',
      '{"port":"Brest \\"x\\"',
      '{"port":"Brest \\"x\\"',
      '{"port":"Brest \\"x\\"","days":2',
    ]);
    expect(text).toBe('{"port":"Brest \\"x\\"","days":2,"metric":false,"note":null}');
  });

  test('close what they leave, and open what they enter', () => {
    const { texts } = written([
      at('$.legs[0].from', 'Brest'),
      at('$.legs[1].stops[0]', 'Dover'),
      at('$.legs[1].stops[1]', 'Calais'),
      at('$.crew.skipper.name', 'Ada'),
    ]);
    expect(texts).toEqual([
      '{"legs":[{"from":"Brest',
      '{"legs":[{"from":"Brest"},{"stops":["Dover',
      '{"legs":[{"from":"Brest"},{"stops":["Dover","Calais',
      '{"legs":[{"from":"Brest"},{"stops":["Dover","Calais"]}],"crew":{"skipper":{"name":"Ada',
    ]);
  });

  test('none at all are no text, which means {}', () => {
    expect(written([]).text).toBe('');
    expect(written([{ jsonPath: '$.a', willContinue: true }]).text).toBe('');
  });

  test('elements that no path named, because they are empty, keep their place', () => {
    const { text, isReplaced } = written([at('$.a[0]', 'x'), at('$.a[2].b', 'y')]);
    expect(text).toBe('{"a":["x",null,{"b":"y"}]}');
    expect(isReplaced).toBe(false);
  });

  test('E27: halves of a surrogate pair in two pieces are joined, and a lone one is replaced', () => {
    const { texts, text } = written([
      at('$.a', 'x\ud83d', true),
      at('$.a', '\udc1f!'),
      at('$.b', 'y\ud83d'),
    ]);
    expect(texts.every((each) => each.isWellFormed())).toBe(true);
    expect(text).toBe('{"a":"x\u{1f41f}!","b":"y\ufffd"}');
  });
});

describe('arguments whose paths go back', () => {
  test.each([
    [
      'more of an earlier text',
      [at('$.a', 'x'), at('$.b', 'y'), at('$.a', 'z')],
      { a: 'xz', b: 'y' },
    ],
    [
      'a container that was left',
      [at('$.a.x', '1'), at('$.b', 'y'), at('$.a.z', '2')],
      { a: { x: '1', z: '2' }, b: 'y' },
    ],
    [
      'a number again',
      [
        { jsonPath: '$.n', numberValue: 1 },
        { jsonPath: '$.n', numberValue: 2 },
      ],
      { n: 2 },
    ],
    ['an earlier element', [at('$.a[1]', 'y'), at('$.a[0]', 'x')], { a: ['x', 'y'] }],
  ])('are written whole at the end: %s', (_, partials, value) => {
    const { text, isReplaced } = written(partials);
    expect(JSON.parse(text)).toEqual(value);
    expect(isReplaced).toBe(true);
  });
});

describe('contradictory arguments', () => {
  test.each([
    ['a text that has fields', [at('$.a', 'x'), at('$.a.b', 'y')]],
    ['an object that is a text', [at('$.a.b', 'y'), at('$.a', 'x')]],
    ['an array with names', [at('$.a[0]', 'x'), at('$.a.b', 'y')]],
    ['an array at the root', [at('$[0]', 'x')]],
    ['no path', [at('', 'x')]],
    ['a path that is none', [at('$.a[*]', 'x')]],
    ['a position far away', [at('$.a[999999999]', 'x')]],
  ])('end as text that is not JSON, so that they are not run: %s', (_, partials) => {
    const { text, isReplaced } = written([...partials, at('$.later', 'z')]);
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    expect(isReplaced).toBe(false);
  });

  test('more than a part may hold is not gathered without end', () => {
    const args = new StreamedArguments();
    args.add(at('$.a', 'x'));
    args.add(at('$.b', 'y'));
    const piece = 'z'.repeat(2 ** 20);
    for (let count = 0; count < 9; count++) args.add(at('$.a', piece));
    expect(args.end()).toEqual({ append: '' });
  });
});

test('E29: __proto__ in a path is a key, and nothing inherits from it', () => {
  const { text } = written([
    { jsonPath: "$['__proto__'].admin", boolValue: true },
    at('$.constructor.prototype.x', 'y'),
    { jsonPath: '$.__proto__.admin', boolValue: false },
  ]);
  expect(text).toBe('{"__proto__":{"admin":false},"constructor":{"prototype":{"x":"y"}}}');
  expect('admin' in {}).toBe(false);
});

type Leaf = readonly [path: string, value: JsonValue];

/** Each value with its path. Empty objects and arrays have no path, so the samples contain none. */
function leaves(value: JsonValue, path = '$'): readonly Leaf[] {
  if (Array.isArray(value)) return value.flatMap((one, index) => leaves(one, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([key, one]) =>
    leaves(one, `${path}[${JSON.stringify(key)}]`),
  );
}

function partialsOf([jsonPath, value]: Leaf, cut: number): readonly JsonObject[] {
  if (typeof value === 'number') return [{ jsonPath, numberValue: value }];
  if (typeof value === 'boolean') return [{ jsonPath, boolValue: value }];
  if (typeof value !== 'string') return [{ jsonPath, nullValue: null }];
  const place = cut % (value.length + 1);
  return [at(jsonPath, value.slice(0, place), true), at(jsonPath, value.slice(place))];
}

const leaf = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
);
const key = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('__proto__', 'a.b', "it's"));
const { object } = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  object: fc.dictionary(key, tie('value'), { minKeys: 1, maxKeys: 4 }),
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie('value'), { minLength: 1, maxLength: 4 }),
    tie('object'),
  ),
}));

test('law: any object, sent path by path in its order, streams as its JSON text', () => {
  fc.assert(
    fc.property(object, fc.nat(), (value, cut) => {
      const partials = leaves(value).flatMap((each) => partialsOf(each, cut));
      const { text, texts, isReplaced } = written(partials);
      expect(text).toBe(JSON.stringify(value));
      expect(isReplaced).toBe(false);
      for (const each of texts) expect(text.startsWith(each)).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});

test('law: in any other order it is the same value', () => {
  fc.assert(
    fc.property(object, fc.nat(), fc.infiniteStream(fc.nat()), (value, cut, random) => {
      const shuffled = leaves(value)
        .map((each) => ({ each, rank: random.next().value ?? 0 }))
        .sort((a, b) => a.rank - b.rank)
        .flatMap(({ each }) => partialsOf(each, cut));
      expect(parseJson(written(shuffled).text)).toEqual({ ok: true, value });
    }),
    { numRuns: runs(500) },
  );
});
