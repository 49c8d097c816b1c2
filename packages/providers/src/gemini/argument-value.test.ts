import { expect, test } from 'vitest';
import { parsePath } from './argument-value.ts';

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
