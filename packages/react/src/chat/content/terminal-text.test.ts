import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isTerminalText, styledRuns, type TerminalStyle } from './terminal-text.ts';

const esc = '\u001b';

/** Formats runs as text, each with the names of its styles. */
const shown = (text: string) =>
  styledRuns(text)
    .map(({ text: run, style }) => `${stateOf(style)}${run}`)
    .join('');

function stateOf(style: TerminalStyle): string {
  const parts = Object.entries(style).flatMap(([name, value]) =>
    value === undefined || value === false ? [] : value === true ? name : `${name} ${value}`,
  );
  return parts.length === 0 ? '' : `<${parts.join(', ')}>`;
}

test.each([
  ['plain', 'plain'],
  [
    `${esc}[31mred${esc}[0m, ${esc}[1;92mbold green${esc}[m`,
    '<color 1>red, <isBold, color 2>bold green',
  ],
  [`${esc}[41;97m FAIL ${esc}[49;39m a`, '<background 1, color 7> FAIL  a'],
  [`${esc}[38;5;196mred${esc}[48;5;21m on blue`, '<color 1>red<color 1, background 4> on blue'],
  [`${esc}[38;2;250;200;10myellow${esc}[38;2;90;90;90m gray`, '<color 3>yellow gray'],
  [`${esc}[38:2:0:0:255mblue`, '<color 4>blue'],
  [`${esc}[8mhidden`, 'hidden'],
  [`${esc}[2J${esc}[1;1H${esc}]0;title\u0007${esc}]8;;x${esc}\\link${esc}(B${esc}=`, 'link'],
  ['10 %\r50 %\r100 %\ndone\r\n', '100 %\ndone\n'],
  ['kept\r', 'kept'],
  [`a ${esc}[31`, `a ${esc}[31`],
])('%j', (text, expected) => {
  expect(shown(text)).toBe(expected);
});

test('text without escape sequences is not for terminals, and keeps each character', () => {
  const words = fc
    .string({ unit: 'grapheme' })
    .filter((text) => !text.includes('\r') && !text.includes(esc));
  fc.assert(
    fc.property(words, (text) => {
      expect(isTerminalText(text)).toBe(false);
      expect(shown(text)).toBe(text);
    }),
  );
});

test('random sequences fail nowhere, and no visible character is lost', () => {
  const sign = fc.constantFrom(
    `${esc}[`,
    `${esc}]`,
    esc,
    ';',
    '38;5;',
    '48;2;1',
    'm',
    '\u0007',
    '[',
  );
  fc.assert(
    fc.property(fc.array(sign, { maxLength: 40 }), (signs) => {
      const last = styledRuns(`${signs.join('')}\u001b\\ end`).at(-1);
      expect(last?.text.endsWith('end')).toBe(true);
    }),
  );
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(110), fc.constantFrom('w', 'ö')), { maxLength: 40 }),
      (all) => {
        const text = all.map(([code, word]) => `${esc}[${code}m${word}`).join('');
        const words = styledRuns(text).map(({ text: run }) => run);
        expect(words.join('')).toBe(all.map(([, word]) => word).join(''));
      },
    ),
  );
});
