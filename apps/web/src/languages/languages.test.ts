import { expect, test } from 'vitest';
import { languageOf, languages } from './load-language.ts';

const all = await Promise.all(
  Object.entries(languages).map(async ([tag, [, load]]) => [tag, await load()] as const),
);
const [[, english] = ['', undefined]] = all;

test.each(all)('22.8: the file of %s has the same keys in the same order', (_, labels) => {
  expect(Object.keys(labels)).toEqual(Object.keys(english ?? {}));
});

test.each(all)('the file of %s has a text of the same kind for each key', (tag, labels) => {
  expect(labels.locale).toBe(tag);
  for (const [key, label] of Object.entries(labels)) {
    const other = english?.[key as keyof typeof english];
    expect(typeof label, key).toBe(typeof other);
    if (typeof label === 'string') {
      expect(label.trim(), key).not.toBe('');
      // Each place for an element is in each language.
      expect(label.match(/\{\d\}/g)?.toSorted(), key).toEqual(
        String(other)
          .match(/\{\d\}/g)
          ?.toSorted(),
      );
    }
  }
});

test('texts with values contain the values in every language', () => {
  for (const [tag, labels] of all) {
    expect(labels.messageTo('Ada'), tag).toContain('Ada');
    expect(labels.readFiles(3), tag).toContain('3');
    expect(labels.recordOf('4', '9'), tag).toMatch(/4.*9/);
    expect(labels.readFiles(1), tag).toMatch(/1/);
  }
});

test.each([
  [['de-AT', 'en'], 'de'],
  [['fr', 'es-MX', 'en'], 'es'],
  [['zh-Hant-TW'], 'zh'],
  [['fr-FR'], 'en'],
  [[], 'en'],
] as const)('a browser with the languages %j gets %s', (preferred, language) => {
  expect(languageOf(preferred)).toBe(language);
});
