import { expect, test } from 'vitest';
import { disguisesInCall } from './call-disguises.ts';
import { disguisesIn, type FindDisguises } from './disguises.ts';

/** Returns the text with codes, as a question shows it. */
function shown(text: string, find: FindDisguises = disguisesInCall): string {
  let [result, through] = ['', 0];
  for (const { index, text: one } of find(text)) {
    result += `${text.slice(through, index)}<${one.codePointAt(0)?.toString(16)}>`;
    through = index + one.length;
  }
  return result + text.slice(through);
}

/** Characters that a font draws like the sign, or almost like it. Many are from the Unicode list of confusables. */
const imitations = {
  "'": '\u00b4\u02b9\u02bb\u02bc\u02bd\u02be\u02c8\u02ca\u02cb\u02f4\u0374\u0384\u055a\u055d\u05f3\u07f4\u07f5\u144a\u16cc\u1fbd\u1fbf\u1fef\u1ffd\u1ffe\u2018\u2019\u201b\u2032\u2035\ua78b\ua78c\uff07\uff40\u{16f51}\u{16f52}',
  '"': '\u02ba\u02dd\u02ee\u02f6\u05f4\u201c\u201d\u201e\u201f\u2033\u2036\u3003\u301d\u301e\uff02',
  '#': '\u266f\ufe5f\uff03',
  '-': '\u02c9\u02d7\u06d4\u2010\u2011\u2012\u2013\u2014\u2015\u203e\u2043\u2212\u2500\u2796\u30a0\u30fc\u3161\u4e00\ufe58\ufe63\uff0d',
  ';|&':
    '\u037e\uff1b\u00a6\u01c0\u01c1\u05c0\u0964\u2016\u2223\u2502\u23fd\u2758\u3163\u4e28\uff5c\uffe8\uff06\u{1f674}',
  '<>(){}[]':
    '\u02c2\u02c3\u1433\u1438\u16b2\u2039\u203a\u2768\u276e\u276f\u2774\u27e8\u3008\u3014\uff08\uff1c\uff1e\uff5b',
  '\\/$~=!*?:.,':
    '\u2044\u2215\u2216\u2571\u2572\u27cb\u29f5\u29f8\u30ce\u4e36\u4e3f\uff04\uff3c\u02dc\u2053\u223c\u301c\u3030\uff5e\u1400\u2e40\u2550\ua4ff\uff1d\u01c3\uff01\u066d\u204e\u2217\uff0a\uff1f\u02d0\u0589\u2236\ua4fd\ua789\u2024\u201a\ua4f8\ua4f9\uff0c',
  'letters and digits': '\uff52\u217d\u{1d41c}\u{1d7d8}\u{1d7f6}\uff11',
  spaces: '\u00a0\u2003\u2800\u3000\ufffc\u{1d159}\u200b\u202e\ufe0f',
};

test.for(Object.entries(imitations))(
  '18.1460: attack: each character that imitates %s is shown as its code in a call',
  ([, characters]) => {
    const hidden = [...characters].filter((char) =>
      [`a ${char}b`, `a${char}b`, `a ${char} b`, `${char}${char}b`].some(
        // A dash between spaces is a dash of an honest text.
        (text) => shown(text) === text && !/^a [–—] b$/.test(text),
      ),
    );
    expect(hidden).toEqual([]);
  },
);

test.for([
  ['git commit -m \ua78cTidy; rm -rf src\ua78c', 'git commit -m <a78c>Tidy; rm -rf src<a78c>'],
  ['npm publish \u2010\u2010dry\u2010run', 'npm publish <2010><2010>dry<2010>run'],
  ['npm test\u3000# log; rm', 'npm test<3000># log; rm'],
  ['\u3000# log; rm', '<3000># log; rm'],
  ['日本\u3000# log; rm', '日本<3000># log; rm'],
  ['sh a\ufe0f.sh 2\ufe0f#\ufe0f*\ufe0f', 'sh a<fe0f>.sh 2<fe0f>#<fe0f>*<fe0f>'],
  ['rm -rf src \u0332old lib \u0335\u0320x', 'rm -rf src <332>old lib <335><320>x'],
  ['\u0323a "\u0331 1\u0332 a\u0335', '<323>a "<331> 1<332> a<335>'],
  ['a\u20e3 \u20e3 1\u20e3 1\ufe0f\u0332 a\u0488', 'a<20e3> <20e3> 1<20e3> 1<fe0f><332> a<488>'],
  ['git log 日志\uff03 log\uff1b rm', 'git log 日志<ff03> log<ff1b> rm'],
] as const)('18.1461: attack: the command %j is shown with codes', ([text, expected]) => {
  expect(shown(text)).toBe(expected);
});

test.for([
  'git commit -m "修复：登录（测试）！"',
  'echo "→ done ✓ 🎉 👍🏽 🇩🇪 1️⃣ ❤️ … – end — x"',
  '# Größe naïve café ñ ¿qué? tiếng Việt e\u0301\u0323 €5 £3 ½ ℃ 1º ① x² ©',
  'サーバー「テスト」、。\u3000日本\u3000語 一つ カレーとノート',
  '\u3000\u3000你好\n\n\u3000\u3000你好',
  'नमस्ते। ठीक مرحبا؟ نعم، לא צה״ל བོད་སྐད། Բարեւ։ አማርኛ። ภาษาไทยๆ კარგი',
  'Привет — мир; слово—слово; пн–пт; Ελλάδα καλημέρα; 修复——登录; 한국어 API입니다',
])('the honest text %j stays readable in a call', (text) => {
  expect(shown(text)).toBe(text);
  expect(shown(text, disguisesIn)).toBe(text);
});

test('the content of a file keeps its quotation marks and signs', () => {
  const text = '“It’s” ‘a’ „b“ «c» 3–5 └─ a │ b ♯ ′ ″ ½ ＃；';
  expect(shown(text, disguisesIn)).toBe(text);
  expect(shown('p\u0430ss a\u00a0b\u200b \u0332', disguisesIn)).toBe('p<430>ss a<a0>b<200b> <332>');
});

test('18.1656: attack: each letter that looks like a sign is shown as its code without a letter of its script', () => {
  const ranges = ['\u141d-\u142f', '\u144a\u144b', '\u1540\u1541', '\u157d', '\ua78f', '\ua7f7'];
  const more = [
    '\u2d4f\u2d51\u2d67',
    '\u16c1',
    '\u07ca',
    '\u3021\u3022',
    '\u{11d46}',
    'ヽヾゝゞ々〻',
    'ـ',
  ];
  const all = new RegExp(`[${[...ranges, ...more].join('')}]`, 'u');
  const letters = Array.from({ length: 0x12000 }, (_, code) => code)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
    .filter((char) => all.test(char));
  expect(letters).toHaveLength(41);
  const hidden = letters.filter((char) => {
    const code = `<${char.codePointAt(0)?.toString(16)}>`;
    return [
      shown(`a ${char}b`) !== `a ${code}b`,
      shown(`a${char}b`) !== `a${code}b`,
      shown(`a ${char} b`) !== `a ${code} b`,
      shown(`${char}${char}b`) !== `${code}${code}b`,
    ].some(Boolean);
  });
  expect(hidden).toEqual([]);
});

test.for([
  ['git commit -m ᐟTidy; rm -rf srcᐟ', 'git commit -m <141f>Tidy; rm -rf src<141f>'],
  ['npm publish 一ヽdry', 'npm publish <4e00><30fd>dry'],
  ['npm publish ヽ一dry ヽ日', 'npm publish <30fd><4e00>dry <30fd>日'],
  ['npm publish ーーdry', 'npm publish <30fc><30fc>dry'],
  ['cat a ⵏ sh ᛁ sh ߊ sh ⵏⵏ', 'cat a <2d4f> sh <16c1> sh <7ca> sh <2d4f><2d4f>'],
] as const)('18.1656: attack: the command %j is shown with codes', ([text, expected]) => {
  expect(shown(text)).toBe(expected);
});

test.for([
  'ᓀᐦᐃᔭᐍᐏᐣ ᐃᓄᒃᑎᑐᑦ ᑖᓂᓯ',
  'ⵜⴰⵎⴰⵣⵉⵖⵜ ⵏⵜⵜⴰ ⴰⵏⵏⴰ',
  'ߒߞߏ ߊߟߎ ߓߊ',
  'ᚱᛁᚾ ᛁᛋ',
  'عـــربي هـ',
  '人々 佐々木 いすゞ バナヽ 各々の 一々の カード',
])('18.1656: the honest text %j stays readable in a call', (text) => {
  expect(shown(text)).toBe(text);
});

test('18.1718: attack: a mark on a letter looks like an apostrophe or another sign', () => {
  const marks = [
    '\u0305\u030d\u030e\u0312-\u0315\u031a\u031b\u031f\u0321\u0322\u0326-\u032c\u0332-\u0341',
    '\u0343\u0346-\u036f\u1abb\u1ac0\u1dc4\u1dd3\u1dfe\u20d0-\u20f0\ufe20-\ufe2f',
  ];
  const all = new RegExp(`[${marks.join('')}]`, 'u');
  const codes = Array.from({ length: 0x10000 }, (_, code) => code);
  const chars = codes.map((code) => String.fromCodePoint(code)).filter((char) => all.test(char));
  expect(chars.length).toBeGreaterThan(120);
  const hidden = chars.filter((char) => {
    const code = `<${char.codePointAt(0)?.toString(16)}>`;
    // No letter of these texts has a form with one of the marks.
    return ['q', 'q\u0301', 'W\u0323', 'ъ', '日'].some(
      (letter) => shown(`${letter}${char}; rm`) !== `${letter}${code}; rm`,
    );
  });
  expect(hidden.map((char) => char.codePointAt(0)?.toString(16))).toEqual([]);
});

test.for([
  ['git log --grep=It\u0315s; rm; echo it\u0315s', 'git log --grep=It<315>s; rm; echo it<315>s'],
  ['echo It\u0313s o\u031b t\u031b; rm', 'echo It<313>s o\u031b t<31b>; rm'],
  ['echo з\u0313їзд o\u0358', 'echo з<313>їзд o<358>'],
] as const)('18.1718: attack: the command %j is shown with codes', ([text, expected]) => {
  expect(shown(text)).toBe(expected);
});

test.for([
  'Tiếng Việt, čeština, žluťoučký kůň, ľúbosť, română și ț, türkçe, ģimene, lietuvių, ȟ',
  'ẹ\u0301 ọ\u0300 ė\u0303 ą\u0301 ɔ\u0303 ɛ\u0301 ŋ\u030c x\u0302',
  'Москва\u0301 й ё їжак, ἀρχή ᾠδή ᾧ, ガ ば',
])('18.1718: the honest text %j stays readable in a call, also with separate marks', (text) => {
  expect(shown(text)).toBe(text);
  expect(shown(text.normalize('NFD'))).toBe(text.normalize('NFD'));
});

test.each(['s', 'ж', 'α', '日', 'か'])(
  '18.1793: attack: a mark of another script on %s looks like a quotation mark',
  (letter) => {
    const accent = /^[\u0300-\u0304\u0306-\u030c\u030f\u0311\u0323-\u0325\u032d\u0330\u0331]$/;
    const codes = Array.from({ length: 0x20000 }, (_, at) => at).filter((at) => at >> 11 !== 0x1b);
    const marks = [...codes.map((code) => String.fromCodePoint(code)), '\u{e0100}'].filter((one) =>
      /\p{M}/u.test(one),
    );
    expect(marks.length).toBeGreaterThan(2000);
    const hidden = marks.filter((mark) => {
      const isPart = [...(letter + mark).normalize('NFC')].length === 1;
      return (
        !isPart && !accent.test(mark) && shown(`${letter}${mark}; rm`) === `${letter}${mark}; rm`
      );
    });
    expect(hidden.map((mark) => mark.codePointAt(0)?.toString(16))).toEqual([]);
  },
);

test.for([
  [
    'git log --grep=It\u059cs | head; echo it\u059es',
    'git log --grep=It<59c>s | head; echo it<59e>s',
  ],
  [
    'echo It\u0486s It\u0485s слово\u0486 слово\u0483 слово\ua67d',
    'echo It<486>s It<485>s слово<486> слово<483> слово<a67d>',
  ],
  ['echo It\u064es It\u0f39s שלום\u064e कम\u05b0', 'echo It<64e>s It<f39>s שלום<64e> कम<5b0>'],
  ['echo s\u0903rm 한\u302e 日\u302a か\u05b0', 'echo s<903>rm 한<302e> 日<302a> か<5b0>'],
] as const)('18.1793: attack: the command %j is shown with codes', ([text, expected]) => {
  expect(shown(text)).toBe(expected);
});

test.for([
  'Tiếng Việt Đặng Thị Hường, Москва\u0301 й ё, ἀρχή ᾠδή, ガギグ ぱぴぷ',
  'בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵ֥ת הַשָּׁמַ֖יִם',
  'بِسْمِ ٱللَّهِ ٱلرَّحْمَـٰنِ ٱلرَّحِيمِ مُحَمَّدٌ هـَـ',
  'हिन्दी क्षमा ज़रूर বাংলা ਪੰਜਾਬੀ ગુજરાતી ଓଡ଼ିଆ தமிழ் తెలుగు ಕನ್ನಡ മലയാളം සිංහල',
  'ภาษาไทย น้ำ ที่นี่ ພາສາລາວ မြန်မာဘာသာ ខ្មែរ བོད་ཡིག ދިވެހި ܐܳܒ ꦧꦱꦗꦮ ᬩᬮᬶ ߒߞߏ߫',
])('18.1793: the honest text %j keeps the marks of its own script', (text) => {
  expect(shown(text)).toBe(text);
  expect(shown(text.normalize('NFD'))).toBe(text.normalize('NFD'));
});
