import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseReference } from '../testing/parse-reference.ts';
import { isFull, runs } from '../testing/runs.ts';
import type { JsonValue } from './json-value.ts';
import { type JsonChange, type JsonLimits, type JsonPath, PartialJson } from './partial-json.ts';

const manyRuns = { numRuns: runs(1000) };
const roomy = { maxDepth: 1000, maxTextLength: 1e9 };

describe('the live value', () => {
  it('shows a string as it grows, and a number or literal once it is complete', () => {
    const json = new PartialJson();
    const seen = ['{"a":"x', 'y', '","b":1', '2', ',"c":tru', 'e', '}'].map((fragment) => {
      json.feed(fragment);
      return json.value;
    });
    expect(seen).toEqual([
      { a: 'x' },
      { a: 'xy' },
      { a: 'xy' },
      { a: 'xy' },
      { a: 'xy', b: 12 },
      { a: 'xy', b: 12, c: true },
      { a: 'xy', b: 12, c: true },
    ]);
  });

  it('shows a key when its value starts', () => {
    const json = new PartialJson();
    const seen = ['{"ke', 'y"', ':', ' ', '"'].map((fragment) => {
      json.feed(fragment);
      return json.value;
    });
    expect(seen).toEqual([{}, {}, {}, {}, { key: '' }]);
  });

  it('is undefined before it starts, and for a number at the root until the end', () => {
    const json = new PartialJson();
    json.feed(' 4');
    expect(json.value).toBeUndefined();
    json.feed('2 ');
    expect(json.value).toBe(42);

    const other = new PartialJson();
    other.feed('-0');
    expect(other.value).toBeUndefined();
    expect(other.end()).toEqual({ ok: true, value: -0 });
    expect(other.value).toBe(-0);
  });

  it('leaves out a number that the end of a cut text may have cut as well', () => {
    const json = new PartialJson();
    json.feed('[1,23');
    expect(json.end()).toMatchObject({
      ok: false,
      failure: { code: 'unexpected_end', position: 5 },
    });
    expect(json.value).toEqual([1]);
  });

  it('is what JSON.parse gives in the end, wherever the text is cut', () => {
    fc.assert(
      fc.property(anyText, anyCuts, (text, cuts) => {
        const result = feedAll(text, cuts).end();
        expect(result.ok && exact(result.value)).toBe(exact(parseReference(text)));
      }),
      manyRuns,
    );
  });

  it('never changes once read', () => {
    fc.assert(
      fc.property(anyText, anyCuts, (text, cuts) => {
        const json = new PartialJson(roomy);
        const read = cut(text, cuts).map((fragment) => {
          json.feed(fragment);
          return { value: json.value, text: exact(json.value) };
        });
        json.end();
        for (const { value, text } of read) expect(exact(value)).toBe(text);
      }),
      manyRuns,
    );
  });

  it('is the same object wherever nothing changed since the last read', () => {
    fc.assert(
      fc.property(anyText, anyCuts, (text, cuts) => {
        const json = new PartialJson(roomy);
        for (const fragment of cut(text, cuts)) {
          const before = json.value;
          const changes = json.feed(fragment);
          const after = json.value;
          expect(isShared(before, after, changes)).toBe(true);
          expect(json.value === after).toBe(true);
        }
      }),
      manyRuns,
    );
  });

  it('is the same whether it was read on the way or only at the end', () => {
    fc.assert(
      fc.property(anyText, anyCuts, fc.array(fc.boolean()), (text, cuts, reads) => {
        const json = new PartialJson(roomy);
        cut(text, cuts).forEach((fragment, index) => {
          json.feed(fragment);
          if (reads[index % reads.length]) void json.value;
        });
        json.end();
        expect(exact(json.value)).toBe(exact(parseReference(text)));
      }),
      manyRuns,
    );
  });
});

describe('the changes', () => {
  it('rebuild the value at every step', () => {
    fc.assert(
      fc.property(anyText, anyCuts, (text, cuts) => {
        const json = new PartialJson(roomy);
        let document: JsonValue | undefined;
        for (const fragment of cut(`${text} `, cuts)) {
          document = json.feed(fragment).reduce(applied, document);
          expect(exact(document)).toBe(exact(json.value));
        }
        expect(exact(document)).toBe(exact(parseReference(text)));
      }),
      manyRuns,
    );
  });

  it('are the whole value in place of very many, and still rebuild it', () => {
    const seen = { wholes: 0, appendsAfterWhole: 0 };
    fc.assert(
      fc.property(largeFragments, (fragments) => {
        const json = new PartialJson(roomy);
        let document: JsonValue | undefined;
        let wasWhole = false;
        for (const fragment of fragments) {
          const changes = json.feed(fragment);
          if (wasWhole && changes[0]?.type === 'append') seen.appendsAfterWhole += 1;
          wasWhole =
            fragment.length > 1000 && changes[0]?.path.length === 0 && changes.length === 1;
          if (wasWhole) seen.wholes += 1;
          document = changes.reduce(applied, document);
          expect(exact(document)).toBe(exact(json.value));
        }
        expect(exact(document)).toBe(exact(parseReference(fragments.join(''))));
      }),
      { numRuns: runs(40) },
    );
    if (isFull) expect(seen.wholes).toBeGreaterThan(0);
    if (isFull) expect(seen.appendsAfterWhole).toBeGreaterThan(0);
  });

  it('are reported one by one up to 1,000, and as one change beyond', () => {
    const json = new PartialJson();
    expect(json.feed('[')).toHaveLength(1);
    expect(json.feed('1,'.repeat(1000))).toHaveLength(1000);
    const more = json.feed(`${'2,'.repeat(1000)}"a`);
    expect(more).toEqual([{ type: 'set', path: [], value: json.value }]);
    expect(json.feed('b",3,')).toEqual([
      { type: 'append', path: [2000], suffix: 'b' },
      { type: 'set', path: [2001], value: 3 },
    ]);
    expect(more).toEqual([
      { type: 'set', path: [], value: [...Array(1000).fill(1), ...Array(1000).fill(2), 'a'] },
    ]);
  });

  it('are reported one by one up to an eighth of the values so far, so that a large value is seldom copied', () => {
    const json = new PartialJson();
    expect(json.feed(`[${'1,'.repeat(15_999)}`)).toHaveLength(1);
    expect(json.feed('2,'.repeat(2000))).toHaveLength(2000);
    expect(json.feed('3,'.repeat(2251))).toHaveLength(1);
  });

  it('stay few and small, however deep the many values of a fragment stand', () => {
    const json = new PartialJson();
    const changes = json.feed('['.repeat(127) + '1,'.repeat(100_000));
    expect(changes).toHaveLength(1);
    expect(depthOf(json.value)).toBe(127);
  });

  it('have one entry for a string, however many pieces of it a fragment has', () => {
    const json = new PartialJson();
    expect(json.feed('["a\\nb\\u0041')).toEqual([
      { type: 'set', path: [], value: [] },
      { type: 'set', path: [0], value: 'a\nbA' },
    ]);
    expect(json.feed('c\\td\\"", "e')).toEqual([
      { type: 'append', path: [0], suffix: 'c\td"' },
      { type: 'set', path: [1], value: 'e' },
    ]);
    expect(json.feed('\\')).toEqual([]);
    expect(json.feed('n"')).toEqual([{ type: 'append', path: [1], suffix: '\n' }]);
    expect(json.feed(']')).toEqual([]);
  });

  it('name a container when it opens, and set a duplicate key again', () => {
    const json = new PartialJson();
    expect(json.feed('{"a":{"b":[null,{}]},"a":"x"}')).toEqual([
      { type: 'set', path: [], value: {} },
      { type: 'set', path: ['a'], value: {} },
      { type: 'set', path: ['a', 'b'], value: [] },
      { type: 'set', path: ['a', 'b', 0], value: null },
      { type: 'set', path: ['a', 'b', 1], value: {} },
      { type: 'set', path: ['a'], value: 'x' },
    ]);
  });

  it('share one path while a string grows', () => {
    const json = new PartialJson();
    const changes = ['{"a":{"b":"', 'x', 'y', 'z'].flatMap((fragment) => json.feed(fragment));
    const paths = changes.filter((change) => change.path.length === 2).map((change) => change.path);
    expect(paths).toHaveLength(4);
    expect(new Set(paths).size).toBe(1);
  });

  it('are those before the failure, then none', () => {
    const json = new PartialJson();
    expect(json.feed('["a", 1, oops')).toHaveLength(3);
    expect(json.value).toEqual(['a', 1]);
    expect(json.feed(', "b"]')).toEqual([]);
    expect(json.value).toEqual(['a', 1]);
    expect(json.failure).toMatchObject({ code: 'syntax', position: 9 });
  });
});

describe('strings', () => {
  test.each([
    ['every short escape', String.raw`"\"\\\/\b\f\n\r\t"`],
    ['unicode escapes in either case', String.raw`"\u00e9\u00E9\u0000\uFFFF"`],
    ['an escaped pair', String.raw`"a\ud83d\ude00b"`],
    ['a half-escaped pair', `"\ud83d${String.raw`\ude00`}${String.raw`\ud83d`}\ude00"`],
    ['lone halves', String.raw`"\ud83d" `],
    ['a high surrogate before another pair', String.raw`"\ud83d\ud83d\ude00\ude00"`],
    ['a raw lone half before text', '"\ud83dx\ude00"'],
    ['line separators, which JSON allows raw', '"\u2028\u2029\u007f"'],
  ])('decode %s, cut anywhere', (_, text) => {
    for (let size = 1; size <= text.length; size += 1) {
      expect(feedAll(text, [size]).end()).toEqual({ ok: true, value: parseReference(text) });
    }
  });

  it('hold half of a pair back until its partner comes, or something else', () => {
    const json = new PartialJson();
    const seen = ['"a', '\\ud83d', '\\ude0', '0', '\ud83d', '\ude00', '\ud83d', 'b'].map(
      (piece) => {
        json.feed(piece);
        return json.value;
      },
    );
    expect(seen).toEqual(['a', 'a', 'a', 'a😀', 'a😀', 'a😀😀', 'a😀😀', 'a😀😀\ud83db']);
    json.feed('\ud83d');
    expect(json.feed('"')).toEqual([{ type: 'append', path: [], suffix: '\ud83d' }]);
  });

  it('show whole characters at every step', () => {
    const wellFormed = fc.string({ unit: 'binary' }).map((text) => JSON.stringify([text, text]));
    fc.assert(
      fc.property(wellFormed, anyCuts, (text, cuts) => {
        const json = new PartialJson(roomy);
        for (const fragment of cut(text, cuts)) {
          for (const change of json.feed(fragment)) {
            const shown = change.type === 'append' ? change.suffix : change.value;
            expect(typeof shown !== 'string' || shown.isWellFormed()).toBe(true);
          }
        }
      }),
      manyRuns,
    );
  });
});

describe('keys', () => {
  it('are data, __proto__ and constructor too', () => {
    const text =
      '{"__proto__":{"__proto__":[1],"x":"y"},"constructor":{"prototype":{}},"toString":1}';
    for (const size of [1, 3, text.length]) {
      const json = new PartialJson();
      for (const fragment of cut(text, [size])) {
        json.feed(fragment);
        for (const object of objectsIn(json.value)) {
          expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
        }
      }
      expect(exact(json.value)).toBe(exact(parseReference(text)));
    }
    expect(Object.hasOwn({}, 'x') || 'x' in {}).toBe(false);
  });

  it('come in the order of JSON.parse, and the last duplicate wins', () => {
    const text = '{"b":1,"2":2,"a":3,"1":4,"b":{"x":1},"__proto__":5,"c":6,"__proto__":7}';
    const result = feedAll(text, [2]).end();
    expect(result.ok && exact(result.value)).toBe(exact(parseReference(text)));
  });
});

describe('failures', () => {
  it('are none on the way through a valid text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const json = new PartialJson(roomy);
        const failures = cut(text, [1]).map((character) => {
          json.feed(character);
          return json.failure;
        });
        expect(failures.every((failure) => failure === undefined)).toBe(true);
      }),
      manyRuns,
    );
  });

  it('are exactly where JSON.parse throws', () => {
    fc.assert(
      fc.property(mutatedText, anyCuts, (text, cuts) => {
        expect(feedAll(text, cuts).end().ok).toBe(isJson(text));
      }),
      { numRuns: runs(5000) },
    );
  });

  it('are the same wherever the text is cut', () => {
    fc.assert(
      fc.property(mutatedText, anyCuts, (text, cuts) => {
        expect(feedAll(text, cuts).end()).toEqual(feedAll(text, [text.length]).end());
      }),
      manyRuns,
    );
  });

  it('stand at the first character that no valid text can have there', () => {
    fc.assert(
      fc.property(mutatedText, (text) => {
        const result = feedAll(text, [text.length]).end();
        if (result.ok) return;
        const { code, position } = result.failure;
        const upTo = new PartialJson(roomy);
        upTo.feed(text.slice(0, position));
        expect(upTo.failure).toBeUndefined();
        upTo.feed(text.slice(position, position + 1));
        expect(upTo.failure !== undefined).toBe(code === 'syntax');
      }),
      manyRuns,
    );
  });

  test.each<[text: string, code: string, position: number]>([
    ['', 'unexpected_end', 0],
    [' \n', 'unexpected_end', 2],
    ['{', 'unexpected_end', 1],
    ['{"a"', 'unexpected_end', 4],
    ['{"a":', 'unexpected_end', 5],
    ['[1', 'unexpected_end', 2],
    ['[1,', 'unexpected_end', 3],
    ['"abc', 'unexpected_end', 4],
    ['"\\u12', 'unexpected_end', 5],
    ['tru', 'unexpected_end', 3],
    ['-', 'unexpected_end', 1],
    ['1.', 'unexpected_end', 2],
    ['1e', 'unexpected_end', 2],
    ['1e+', 'unexpected_end', 3],
    ['01', 'syntax', 1],
    ['-01', 'syntax', 2],
    ['+1', 'syntax', 0],
    ['.5', 'syntax', 0],
    ['[1.]', 'syntax', 3],
    ['1.e5', 'syntax', 2],
    ['--1', 'syntax', 1],
    ['1e5.5', 'syntax', 3],
    ['0x10', 'syntax', 1],
    ['NaN', 'syntax', 0],
    ['Infinity', 'syntax', 0],
    ['undefined', 'syntax', 0],
    ['True', 'syntax', 0],
    ['nul1', 'syntax', 3],
    ['truee', 'syntax', 4],
    ["'a'", 'syntax', 0],
    ['"a\nb"', 'syntax', 2],
    ['"a\u0000"', 'syntax', 2],
    ['"a\u001f"', 'syntax', 2],
    ['{"a\t":1}', 'syntax', 3],
    ['"\\x41"', 'syntax', 2],
    ['"\\u12g4"', 'syntax', 5],
    ['"\\u"', 'syntax', 3],
    ['[1,]', 'syntax', 3],
    ['[,1]', 'syntax', 1],
    ['[1 2]', 'syntax', 3],
    ['[1}', 'syntax', 2],
    ['{]', 'syntax', 1],
    ['{"a":1,}', 'syntax', 7],
    ['{a:1}', 'syntax', 1],
    ['{"a" 1}', 'syntax', 5],
    ['{"a":}', 'syntax', 5],
    ['{"a":1 "b":2}', 'syntax', 7],
    ['{"a":1,2}', 'syntax', 7],
    ['{} {}', 'syntax', 3],
    ['1,', 'syntax', 1],
    [']', 'syntax', 0],
    ['/* */ 1', 'syntax', 0],
    ['\ufeff1', 'syntax', 0],
    ['\u00a01', 'syntax', 0],
    ['1e999', 'number_range', 0],
    ['[0, -1e999]', 'number_range', 4],
    [`[${'9'.repeat(400)}]`, 'number_range', 1],
  ])('of %j: %s at %i', (text, code, position) => {
    for (const size of [1, 2, 3, text.length || 1]) {
      const json = feedAll(text, [size]);
      expect(json.end()).toMatchObject({ ok: false, failure: { code, position } });
      expect(json.end()).toEqual({ ok: false, failure: json.failure });
    }
  });

  it('say what was expected and where, and never quote the text', () => {
    const json = new PartialJson();
    json.feed('{"secret":"hunter2" hunter3');
    expect(json.failure?.message).toBe("Cannot parse JSON at 20: expected ',' or '}'");
  });

  it('come after the end too, if the text goes on', () => {
    const json = new PartialJson();
    json.feed('12');
    expect(json.end().ok).toBe(true);
    expect(json.feed(' ')).toEqual([{ type: 'set', path: [], value: 12 }]);
    expect(json.end().ok).toBe(true);
    expect(json.feed('3')).toEqual([]);
    expect(json.end()).toMatchObject({ ok: false, failure: { code: 'syntax', position: 3 } });
  });
});

describe('the limits', () => {
  const limits = { maxDepth: 3, maxTextLength: 20 };

  it('allow as much as they say', () => {
    const text = '[{"a":[0123456789]}]'.replace('0123456789', '"12345678"');
    expect(text).toHaveLength(limits.maxTextLength);
    expect(feedAll(text, [4], limits).end().ok).toBe(true);
  });

  it('end a text that nests deeper, at the bracket that does', () => {
    const json = feedAll('[[1], {"a": [[', [5], limits);
    expect(json.failure).toMatchObject({ code: 'too_deep', position: 13 });
  });

  it('end a text that is longer, at the first character too many', () => {
    for (const size of [1, 7, 20, 21, 100]) {
      const json = feedAll('"12345678901234567890"', [size], limits);
      expect(json.failure).toMatchObject({ code: 'too_large', position: 20 });
      expect(json.value).toBe('1234567890123456789');
    }
  });

  it('end a text with more values, at the bracket or comma of the first too many', () => {
    for (const size of [1, 4, 100]) {
      const few = { ...roomy, maxValues: 5 };
      expect(feedAll('[1,{"a":[2, "[,"]}]', [size], few).end().ok).toBe(true);
      const oneElementMore = feedAll('[1,{"a":[2, 3, 4]}]', [size], few);
      expect(oneElementMore.failure).toMatchObject({ code: 'too_large', position: 13 });
      expect(oneElementMore.value).toEqual([1, { a: [2, 3] }]);
      const oneContainerMore = feedAll('[1,{"a":[2, {}]}]', [size], few);
      expect(oneContainerMore.failure).toMatchObject({ code: 'too_large', position: 12 });
    }
  });

  it('bound a million brackets by default, and without a limit no stack overflows', () => {
    const brackets = '['.repeat(1_000_000);
    expect(feedAll(brackets, [1 << 16]).failure).toMatchObject({ code: 'too_deep', position: 128 });

    const depth = 3000;
    const json = new PartialJson({ ...roomy, maxDepth: depth });
    for (const fragment of cut('[{"a":'.repeat(depth / 2), [6])) json.feed(fragment);
    expect(depthOf(json.value)).toBe(depth);
    for (const fragment of cut('}]'.repeat(depth / 2), [100])) json.feed(fragment);
    expect(json.failure).toMatchObject({ code: 'syntax', position: 3 * depth });
  });
});

// Texts, fragments, and what to check them with.

const pieces = fc.constantFrom(
  ...['a', 'é', '😀', '\ud83d', '\ude00', '/', "'", ' ', '{', ']', ':', '\u2028'],
  ...['\\n', '\\"', '\\\\', '\\/', '\\u0041', '\\ud83d', '\\ude00', '\\u0000', '\\uD83D\\uDE00'],
);
const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r\n  ');
const numberText = fc.constantFrom(
  ...['0', '-0', '7', '-12', '3.25', '-0.5', '1e5', '1E+2', '25e-4', '0e0', '-0.0E-0'],
  ...['12345678901234567890', '1e-999', '1.7976931348623157e308', '0.1e1'],
);
const stringText = fc.array(pieces, { maxLength: 6 }).map((parts) => `"${parts.join('')}"`);
const keyText = fc.oneof(
  fc.constantFrom('"a"', '"b"', '""', '"0"', '"10"', '"__proto__"', '"constructor"', '"toString"'),
  stringText,
);

/** JSON as JSON.stringify would not write it: odd numbers, escapes, duplicate keys, whitespace. */
const { value: oddText } = fc.letrec<{ value: string }>((tie) => {
  const padded = fc.tuple(space, tie('value'), space).map((parts) => parts.join(''));
  const member = fc
    .tuple(space, keyText, space, padded)
    .map(([before, key, after, value]) => `${before}${key}${after}:${value}`);
  return {
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.oneof(numberText, stringText, fc.constantFrom('true', 'false', 'null', '[ ]', '{}')),
      fc.array(padded, { maxLength: 4 }).map((values) => `[${values.join(',')}]`),
      fc.array(member, { maxLength: 5 }).map((members) => `{${members.join(',')}}`),
    ),
  };
});

const anyText = fc.oneof(
  fc.json(),
  fc.jsonValue({ noUnicodeString: false }).map((value) => JSON.stringify(value, null, 1)),
  fc.tuple(space, oddText, space).map((parts) => parts.join('')),
);

/** Sizes of fragments, to be repeated; an empty fragment now and then. */
const anyCuts = fc
  .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 8 })
  .filter((sizes) => sizes.some((size) => size > 0));

/** Of a text so large that a fragment may set more than 1,000 values; cut in strings, numbers, keys. */
const largeFragments = fc
  .record({
    values: fc.array(
      oddText.filter((text) => !text.includes('¦')),
      { maxLength: 4 },
    ),
    blocks: fc.integer({ min: 15, max: 25 }),
    sizes: fc.array(fc.integer({ min: 200, max: 800 }), { minLength: 1, maxLength: 4 }),
  })
  .map(({ values, blocks, sizes }) => {
    const block = Array(25).fill([...values, '2¦5', '"x¦\\n¦y"'].join(','));
    const members = Array.from({ length: blocks }, (_, index) => `"b¦${index}":[[${block}]]`);
    const pieces = `{${members.join(',')}} `.split('¦');
    return grouped(pieces, sizes).map((group) => group.join(''));
  });

interface Mutation {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(),
  remove: fc.integer({ min: 0, max: 2 }),
  insert: fc.constantFrom(
    ...['', '', ',', ':', '"', '\\', '{', '}', '[', ']', '0', '.', 'e', '-', '+', ' ', 'u'],
    ...['\n', '\u0001', 't', 'null', '\ufeff', '1', 'x', "'"],
  ),
});

const mutatedText = fc
  .tuple(anyText, fc.array(mutation, { minLength: 1, maxLength: 3 }))
  .map(([text, mutations]) => mutations.reduce(mutated, text))
  .filter((text) => !/[eE]\+?\d{3}|\d{200}/.test(text));

function mutated(text: string, { at, remove, insert }: Mutation): string {
  const index = at % (text.length + 1);
  return text.slice(0, index) + insert + text.slice(index + remove);
}

function cut(text: string, sizes: readonly number[]): readonly string[] {
  const fragments: string[] = [];
  let start = 0;
  for (let turn = 0; start < text.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    fragments.push(text.slice(start, start + size));
    start += size;
  }
  return fragments;
}

function grouped<T>(pieces: readonly T[], sizes: readonly number[]): readonly (readonly T[])[] {
  const groups: T[][] = [];
  for (let start = 0; start < pieces.length; start += groups.at(-1)?.length ?? 1) {
    const size = sizes[groups.length % sizes.length] ?? 1;
    groups.push(pieces.slice(start, start + size));
  }
  return groups;
}

function feedAll(text: string, sizes: readonly number[], limits?: JsonLimits): PartialJson {
  const json = new PartialJson(limits);
  for (const fragment of cut(text, sizes)) json.feed(fragment);
  return json;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Equal exactly if two values are, down to the order of their keys and the sign of their zeros. */
function exact(value: JsonValue | undefined): string | undefined {
  return JSON.stringify(value, (_, inner) => (Object.is(inner, -0) ? { minus: 0 } : inner));
}

function applied(document: JsonValue | undefined, change: JsonChange): JsonValue {
  return appliedAt(document, change.path, (before) =>
    change.type === 'set' ? change.value : before + change.suffix,
  );
}

function appliedAt(
  document: JsonValue | undefined,
  [key, ...rest]: JsonPath,
  update: (before: JsonValue | undefined) => JsonValue,
): JsonValue {
  if (key === undefined) return update(document);
  if (Array.isArray(document)) {
    return document.toSpliced(Number(key), 1, appliedAt(document[Number(key)], rest, update));
  }
  const entries = new Map(Object.entries(document ?? {}));
  entries.set(String(key), appliedAt(entries.get(String(key)), rest, update));
  return Object.fromEntries(entries);
}

/** Is all that no change touched identical, be it a leaf or a whole tree? */
function isShared(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  changes: readonly JsonChange[],
): boolean {
  if (changes.length === 0) return Object.is(before, after);
  if (changes.some(({ path }) => path.length === 0)) return true;
  return entriesOf(before).every(([key, child]) => {
    const below = changes.filter(({ path }) => String(path[0]) === key);
    const relative = below.map((change) => ({ ...change, path: change.path.slice(1) }));
    return isShared(child, new Map(entriesOf(after)).get(key), relative);
  });
}

function entriesOf(value: JsonValue | undefined): readonly [string, JsonValue][] {
  return Object.entries(value ?? {});
}

function objectsIn(value: JsonValue | undefined): readonly object[] {
  if (typeof value !== 'object' || value === null) return [];
  const within = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? within : [value, ...within];
}

function depthOf(value: JsonValue | undefined): number {
  let depth = 0;
  let inner = value;
  for (; typeof inner === 'object' && inner !== null; depth += 1) inner = Object.values(inner)[0];
  return depth;
}
