import { expect, test } from 'vitest';
import { experimentLanguages } from './load-labels.ts';

const all = await Promise.all(
  Object.entries(experimentLanguages).map(async ([tag, load]) => [tag, await load()] as const),
);
const [[, english] = ['', undefined]] = all;

test.each(all)('25.4: the texts in %s have the same keys, kinds and places', (_, labels) => {
  expect(Object.keys(labels)).toEqual(Object.keys(english ?? {}));
  for (const [key, label] of Object.entries(labels)) {
    const other = english?.[key as keyof typeof english];
    expect(typeof label, key).toBe(typeof other);
    if (typeof label !== 'string') continue;
    expect(label.trim(), key).not.toBe('');
    expect(label.match(/\{\d\}/g), key).toEqual(String(other).match(/\{\d\}/g));
  }
  expect(labels.runsOf('3', '9')).toMatch(/3.*9/);
  expect(labels.diffOf('late', 2)).toMatch(/late.*2|2.*late/);
  expect(labels.interval('95 %', '0.1', '0.2')).toMatch(/95 %.*0\.1.*0\.2/);
});
