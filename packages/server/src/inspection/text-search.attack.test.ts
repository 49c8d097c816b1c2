import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { TextSearch } from './text-search.ts';

/** Finds a text with a regular expression, whose time is length × words. */
function reference(text: string, wanted: string) {
  const words = wanted.trim().split(/\s+/u);
  const escaped = words.map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  const found = new RegExp(escaped.join('\\s+'), 'iu').exec(text);
  return found === null ? undefined : { at: found.index, length: found[0].length };
}

test('22.search: a search finds the same place as a regular expression', async () => {
  const texts = fc.string({ unit: fc.constantFrom(...'aAbBäÄ$( \n\t\u00a0'), maxLength: 60 });
  const wanted = fc
    .string({ unit: fc.constantFrom(...'aabBÄ$( \n'), minLength: 1, maxLength: 6 })
    .filter((text) => text.trim() !== '');
  await fc.assert(
    fc.asyncProperty(texts, wanted, async (text, part) => {
      expect(await new TextSearch(part).find(text)).toEqual(reference(text, part));
    }),
    { numRuns: runs(20_000) },
  );
});

test('18.416: attack: a repeated word does not block the process while a text is searched', async () => {
  const text = 'a '.repeat(2 ** 21);
  let turns = 0;
  let isDone = false;
  const others = (async () => {
    for (; !isDone; turns++) await new Promise((resolve) => setImmediate(resolve));
  })();
  const found = await new TextSearch(`${'a '.repeat(127)}b`).find(`${text}b`);
  isDone = true;
  await others;
  expect(found).toEqual({ at: text.length - 254, length: 255 });
  expect(turns).toBeGreaterThanOrEqual(16);
});
