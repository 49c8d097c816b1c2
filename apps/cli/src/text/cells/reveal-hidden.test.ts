import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cellWidth } from './cell-width.ts';
import { controlCharacter } from './printable.ts';
import { revealHidden, revealInContent } from './reveal-hidden.ts';

test.for([
  ['plain text', 'git log --oneline', 'git log --oneline'],
  ['a bidi override', 'ls \u202etxt', 'ls ‹U+202E›txt'],
  ['a zero-width space', 'r\u200bm', 'r‹U+200B›m'],
  ['a tag character', 'a\u{e0041}b', 'a‹U+E0041›b'],
  ['a space that is none', 'rm\u00a0-rf', 'rm‹U+00A0›-rf'],
  ['a carriage return', 'evil\rls', 'evil␍ls'],
  ['an escape', '\u001b[2J', '␛[2J'],
  ['a tab', 'a\tb', 'a⇥b'],
  ['a Cyrillic letter in a Latin word', 'c\u0430t x', 'c‹U+0430›t x'],
  ['a Cyrillic word', 'кот', 'кот'],
  ['a long run of spaces', `a${' '.repeat(90)}b`, 'a‹90 spaces›b'],
  ['spaces at the end', 'rm a\\  ', 'rm a\\··'],
  ['many empty lines', `a${'\n'.repeat(50)}b`, 'a\n‹49 empty lines›\nb'],
  ['an emoji', '👍 ❤️', '👍 ❤️'],
  ['joined emoji', '👩\u200d💻', '👩‹U+200D›💻'],
  ['an emoji with a skin tone', '👍🏽', '👍‹U+1F3FD›'],
  ['a line with a mark only', 'a\n\u0301', 'a\n‹U+0301›'],
  ['a flag', '🇩🇪', '‹U+1F1E9›‹U+1F1EA›'],
  ['18.79: letters from right to left', 'cp \u05d0/../b \u05d1', 'cp \u05d0‹rtl›/../b \u05d1‹rtl›'],
  ['18.79: digits of Arabic', '\u0664-\u0665', '\u0664‹rtl›-\u0665‹rtl›'],
  ['18.79: a word with marks', '\u05e9\u05b8\u05dc a', '\u05e9\u05b8\u05dc‹rtl› a'],
  ['18.786: Roman numerals', '\u217d\u2170\u217e', '‹U+217D›‹U+2170›‹U+217E›'],
  ['18.786: letters in another font', '\uff43d \u{1d41c}d', '‹U+FF43›d ‹U+1D41C›d'],
  ['18.786: characters without a picture', 'a\ufffcb\u{1d159}c', 'a‹U+FFFC›b‹U+1D159›c'],
  ['ordinals', '1\u00ba 2\u00aa', '1\u00ba 2\u00aa'],
  ['a key', '1\ufe0f\u20e3', '1‹U+FE0F›‹U+20E3›'],
] as const)('shows %s', ([, text, shown]) => {
  expect(revealHidden(text)).toBe(shown);
});

test('files keep their tabs, and their unusual spaces are shown', () => {
  expect(revealInContent('\ta\u00a0b\u200b')).toBe('\ta‹U+00A0›b‹U+200B›');
});

test.for([
  'printf("\\nОшибка: %s\\tфайл", "Привет, world");',
  "const имя = 'Ελλάδα'; // καλημέρα κόσμε, 5 km",
  '变量 = "你好,世界"; 名前 = \'カタカナ Tシャツ\'; // 한국어 API입니다',
])('a file with honest text in another alphabet is shown as it is: %s', (text) => {
  expect(revealInContent(text)).toBe(text);
  expect(revealHidden(text)).toBe(text);
});

test('every line of any text has visible characters only, and nothing is removed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => {
      const shown = revealHidden(text);
      expect(shown).not.toMatch(controlCharacter);
      const hasContent = text.split('\n').some((line) => line.trim() !== '');
      if (hasContent) expect(cellWidth(shown.replaceAll('\n', ''))).toBeGreaterThan(0);
    }),
  );
});
