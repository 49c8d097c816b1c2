import { expect, test } from 'vitest';
import { ArgumentValue, parsePath } from './argument-value.ts';

test.each([
  ['$.location', ['location']],
  ['$.recipe.ingredients[0].amount', ['recipe', 'ingredients', 0, 'amount']],
  ['$.grid[1][20]', ['grid', 1, 20]],
  ["$['a.b']", ['a.b']],
  ['$["a[0]"].c', ['a[0]', 'c']],
  [String.raw`$['it\'s'].x`, ["it's", 'x']],
  [String.raw`$["\u00e9\n\\"]`, ['é\n\\']],
  ['$.odd-name_1 2', ['odd-name_1 2']],
  ['location', ['location']],
  ['$.__proto__.x', ['__proto__', 'x']],
  ["$['']", ['']],
])('%s leads through %j', (path, steps) => {
  expect(parsePath(path)).toEqual(steps);
});

test.each(['', '$', '$.', '$..a', '$.a[', '$.a[*]', '$.a[-1]', "$['a", '$.a]', '$.a[99999999999]'])(
  '%s is no path',
  (path) => {
    expect(parsePath(path)).toBeUndefined();
  },
);

test('a path deeper than arguments may be is none', () => {
  expect(parsePath(`$${'.a'.repeat(128)}`)).toHaveLength(128);
  expect(parsePath(`$${'.a'.repeat(129)}`)).toBeUndefined();
});

const hostilePaths: Readonly<Record<string, (at: number) => string>> = {
  'skips elements': (at) => `$.x[${(at + 1) * 1024}]`,
  'skips elements on its way': (at) => `$.x[${(at + 1) * 1024}].a`,
  'makes many containers': (at) => `$.x${at}${'.a'.repeat(127)}`,
};

test.each(Object.keys(hostilePaths))(
  '18.946: attack: a call whose short paths need much memory is refused: each one %s',
  (name) => {
    const value = new ArgumentValue();
    let bytes = 0;
    let count = 0;
    for (; bytes < 10_000_000; count++) {
      const path = hostilePaths[name]?.(count) ?? '';
      if (!value.setOrAppend(parsePath(path) ?? [], true)) break;
      bytes += path.length;
    }
    expect(count).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(1_000_000);
    expect(value.json.length).toBeLessThan(20_000_000);
  },
);
