import { expect, test } from 'vitest';
import { importCycles } from './import-cycles.ts';

const cyclesOf = (imports: Readonly<Record<string, readonly string[]>>) =>
  importCycles(new Map(Object.entries(imports)));

test('files without cycles give none', () => {
  expect(cyclesOf({ a: ['b', 'c'], b: ['c'], c: [] })).toEqual([]);
});

test('two files that import each other are a cycle', () => {
  expect(cyclesOf({ a: ['b'], b: ['a'], c: ['a'] })).toEqual([['a', 'b']]);
});

test('a longer cycle is found once, and separate cycles separately', () => {
  const imports = { a: ['b'], b: ['c'], c: ['a', 'd'], d: ['e'], e: ['d'] };
  expect(cyclesOf(imports)).toEqual([
    ['d', 'e'],
    ['a', 'b', 'c'],
  ]);
});

test('a file that imports itself is a cycle, and files outside of the graph are ignored', () => {
  expect(cyclesOf({ a: ['a', 'elsewhere'] })).toEqual([['a']]);
});
