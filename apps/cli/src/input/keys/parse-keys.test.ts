import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chord, type Key, type KeyName, type Modifiers, namedKey, noModifiers } from './key.ts';
import { emptyKeyState, flushKeys, parseKeys } from './parse-keys.ts';

const esc = '\u001b';
const ctrl: Modifiers = { ...noModifiers, ctrl: true };
const alt: Modifiers = { ...noModifiers, alt: true };
const shift: Modifiers = { ...noModifiers, shift: true };
const text = (typed: string): Key => ({ type: 'text', text: typed });
const paste = (pasted: string): Key => ({ type: 'paste', text: pasted });
const named = (name: KeyName, held = noModifiers): Key => namedKey(name, held);

/** The input of real terminals and the expected keys. */
const known: readonly (readonly [string, string, readonly Key[]])[] = [
  ['text', 'héllo 漢字 👩‍👩‍👧', [text('héllo 漢字 👩‍👩‍👧')]],
  ['Enter', '\r', [named('enter')]],
  ['Enter of the keypad', `${esc}OM`, [named('enter')]],
  ['Ctrl-J', '\n', [chord('j', ctrl)]],
  ['Alt-Enter', `${esc}\r`, [named('enter', alt)]],
  ['Alt-Enter of kitty', `${esc}[13;3u`, [named('enter', alt)]],
  ['Shift-Enter of kitty', `${esc}[13;2u`, [named('enter', shift)]],
  ['Shift-Enter of xterm', `${esc}[27;2;13~`, [named('enter', shift)]],
  ['Ctrl-Enter of xterm', `${esc}[27;5;13~`, [named('enter', ctrl)]],
  ['Tab', '\t', [named('tab')]],
  ['Shift-Tab', `${esc}[Z`, [named('tab', shift)]],
  ['Esc of kitty', `${esc}[27u`, [named('escape')]],
  ['Backspace', '\u007f', [named('backspace')]],
  ['Backspace as Ctrl-H', '\b', [named('backspace')]],
  ['Alt-Backspace', `${esc}\u007f`, [named('backspace', alt)]],
  ['Ctrl-Backspace of kitty', `${esc}[127;5u`, [named('backspace', ctrl)]],
  ['Delete', `${esc}[3~`, [named('delete')]],
  ['Ctrl-Delete', `${esc}[3;5~`, [named('delete', ctrl)]],
  ['Ctrl-Delete of rxvt', `${esc}[3^`, [named('delete', ctrl)]],
  ['Shift-Delete of rxvt', `${esc}[3$`, [named('delete', shift)]],
  ['Up', `${esc}[A`, [named('up')]],
  ['Up in application mode', `${esc}OA`, [named('up')]],
  ['Down, again and again', `${esc}[B${esc}[B`, [named('down'), named('down')]],
  ['Ctrl-Right', `${esc}[1;5C`, [named('right', ctrl)]],
  ['Alt-Left', `${esc}[1;3D`, [named('left', alt)]],
  ['Alt-Left by two Esc', `${esc}${esc}[D`, [named('left', alt)]],
  ['Alt-Left in application mode by two Esc', `${esc}${esc}OD`, [named('left', alt)]],
  ['Shift-Up of rxvt', `${esc}[a`, [named('up', shift)]],
  ['Ctrl-Up of rxvt', `${esc}Oa`, [named('up', ctrl)]],
  ['Home', `${esc}[H`, [named('home')]],
  ['Home in application mode', `${esc}OH`, [named('home')]],
  ['Home of the Linux console', `${esc}[1~`, [named('home')]],
  ['Home of rxvt', `${esc}[7~`, [named('home')]],
  ['End', `${esc}[F`, [named('end')]],
  ['End in application mode', `${esc}OF`, [named('end')]],
  ['End of the Linux console', `${esc}[4~`, [named('end')]],
  ['End of rxvt', `${esc}[8~`, [named('end')]],
  ['Ctrl-Home', `${esc}[1;5H`, [named('home', ctrl)]],
  ['Page Up and Page Down', `${esc}[5~${esc}[6~`, [named('page_up'), named('page_down')]],
  ['Up with Num Lock on, of kitty', `${esc}[1;129A`, [named('up')]],
  ['Left of the keypad, of kitty', `${esc}[57417u`, [named('left')]],
  ['7 of the keypad, of kitty', `${esc}[57406u`, [text('7')]],
  ['Ctrl-C', '\u0003', [chord('c', ctrl)]],
  ['Ctrl-C of kitty', `${esc}[99;5u`, [chord('c', ctrl)]],
  ['Ctrl-C of xterm', `${esc}[27;5;99~`, [chord('c', ctrl)]],
  ['Ctrl-C on a keyboard with Cyrillic letters', `${esc}[1089::99;5u`, [chord('c', ctrl)]],
  ['Ctrl-Shift-Z of kitty', `${esc}[122;6u`, [chord('z', { ...ctrl, shift: true })]],
  ['Ctrl-Space', '\u0000', [chord(' ', ctrl)]],
  ['Ctrl-_', '\u001f', [chord('_', ctrl)]],
  ['Alt-b', `${esc}b`, [chord('b', alt)]],
  ['Alt-B', `${esc}B`, [chord('b', { ...alt, shift: true })]],
  ['Alt-漢', `${esc}漢`, [chord('漢', alt)]],
  ['Alt-👩', `${esc}👩`, [chord('👩', alt)]],
  ['Ctrl-Alt-A', `${esc}\u0001`, [chord('a', { ...ctrl, alt: true })]],
  ['Shift and a letter, of kitty', `${esc}[97;2u`, [text('A')]],
  ['Shift and another sign, of kitty', `${esc}[49:33;2u`, [text('!')]],
  ['a letter with its text, of kitty', `${esc}[97;;229u`, [text('å')]],
  ['a paste', `${esc}[200~one\rtwo${esc}[A\u0003${esc}[201~`, [paste(`one\rtwo${esc}[A\u0003`)]],
  ['an empty paste', `${esc}[200~${esc}[201~`, []],
  ['text around a paste', `a${esc}[200~b${esc}[201~c`, [text('a'), paste('b'), text('c')]],
  ['Esc and a key behind it', `${esc}${esc}b`, [named('escape'), chord('b', alt)]],
  ['text and Enter at once', 'hello\r', [text('hello'), named('enter')]],
];

const ignored: readonly (readonly [string, string])[] = [
  ['a mouse report', `${esc}[<0;12;7M${esc}[<0;12;7m`],
  ['an old mouse report', `${esc}[M !!`],
  ['a mouse report of rxvt', `${esc}[32;12;7M`],
  ['the window in and out of focus', `${esc}[I${esc}[O`],
  ['where the cursor is', `${esc}[24;80R`],
  ['what the terminal can do', `${esc}[?62;22c${esc}[?1u${esc}[?2026;2$y`],
  ['its colours', `${esc}]11;rgb:1e1e/1e1e/1e1e\u0007${esc}]10;rgb:0/0/0${esc}\\`],
  ['its name', `${esc}P>|XTerm(390)${esc}\\`],
  ['function keys', `${esc}OP${esc}[15~${esc}[[A${esc}[1;2P`],
  ['a key let go, of kitty', `${esc}[97;1:3u${esc}[1;1:3A`],
  ['a key with Super, of kitty', `${esc}[99;9u`],
  ['modifiers by themselves, of kitty', `${esc}[57441;2u`],
  ['the end of a paste that did not begin', `${esc}[201~`],
  ['a code point that is none', `${esc}[1114112u${esc}[55296u`],
  ['C1 controls', '\u009b\u0085'],
];

/** Parses all chunks and joins adjacent texts. */
function parse(chunks: readonly string[]): readonly Key[] {
  let state = emptyKeyState;
  const keys: Key[] = [];
  for (const chunk of chunks) {
    const parsed = parseKeys(state, chunk);
    state = parsed.state;
    keys.push(...parsed.keys);
  }
  keys.push(...flushKeys(state).keys);
  for (const key of keys) if (key.type === 'text') expect(key.text.isWellFormed()).toBe(true);
  return joined(keys);
}

function joined(keys: readonly Key[]): readonly Key[] {
  const all: Key[] = [];
  for (const key of keys) {
    const last = all.at(-1);
    if (last?.type === 'text' && key.type === 'text')
      all[all.length - 1] = text(last.text + key.text);
    else all.push(key);
  }
  return all;
}

/** Splits the input into chunks. A split can be inside a surrogate pair. */
function cut(input: string, places: readonly number[]): readonly string[] {
  const characters = input.split('');
  const at = [...new Set(places.map((place) => place % (characters.length + 1)))].sort(
    (a, b) => a - b,
  );
  return [...at, characters.length].map((end, index) =>
    characters.slice(index === 0 ? 0 : at[index - 1], end).join(''),
  );
}

const pieces = fc.array(
  fc.constantFrom(...known.map(([, sent]) => sent), ...ignored.map(([, sent]) => sent)),
  {
    maxLength: 12,
  },
);
const places = fc.array(fc.nat(), { maxLength: 30 });

describe('parseKeys', () => {
  test.each(known)('parses %s', (_, sent, keys) => {
    expect(parse([sent])).toEqual(keys);
  });

  test.each(ignored)('ignores %s', (_, sent) => {
    expect(parse([`a${sent}b`])).toEqual([text('ab')]);
  });

  test('returns the same keys for any split of the input', () => {
    fc.assert(
      fc.property(pieces, places, (sent, at) => {
        const input = sent.join('');
        expect(parse(cut(input, at))).toEqual(parse([input]));
      }),
    );
  });

  test('returns the same keys for any split of random input, without control characters in texts', () => {
    const bytes = fc.constantFrom(
      ...`${esc}${esc}${esc}[[[OP]012;:?<~~uAMmZ$ \r\n\t\u0003\u007f\u0007a漢👩\\`,
    );
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 40 }), places, (sent, at) => {
        const input = sent.join('');
        const keys = parse([input]);
        expect(parse(cut(input, at))).toEqual(keys);
        for (const key of keys) if (key.type === 'text') expect(key.text).not.toMatch(/\p{Cc}/u);
      }),
    );
  });

  test('round-trips random text and keys', () => {
    const some = known.filter(([, , keys]) => keys.length === 1 && keys[0]?.type !== 'text');
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...some), { maxLength: 20 }), (all) => {
        expect(parse([all.map(([, sent]) => `${sent}.`).join('')])).toEqual(
          all.flatMap(([, , keys]) => [...keys, text('.')]),
        );
      }),
    );
  });

  test('a control character ends a sequence and is read as a key', () => {
    expect(parse([`${esc}[1;\u0003`])).toEqual([chord('c', ctrl)]);
    expect(parse([`${esc}[1;${esc}[A`])).toEqual([named('up')]);
  });

  test('drops a sequence that does not end', () => {
    const endless = parse([`${esc}[${'1;'.repeat(100)}A`, 'x\r']);
    expect(endless.at(-1)).toEqual(named('enter'));
    const answer = parse([`${esc}]11;${'x'.repeat(70_000)}`, '\r']);
    expect(answer.at(-1)).toEqual(named('enter'));
  });

  test('a long paste in many chunks is one paste', () => {
    const chunks = Array.from({ length: 20_000 }, (_, index) => `line ${index}\r`);
    expect(parse([`${esc}[200~`, ...chunks, `${esc}[201`, '~'])).toEqual([paste(chunks.join(''))]);
  });

  test("a huge paste is cut just above the editor's limit", () => {
    const chunk = 'x'.repeat(2 ** 20);
    const [key] = parse([`${esc}[200~`, ...Array(6).fill(chunk), `${esc}[201~`]);
    expect(key?.type === 'paste' && key.text.length).toBe(2 ** 22 + 1);
  });
});

describe('flushKeys', () => {
  test.each([
    [esc, [named('escape')]],
    [`${esc}${esc}`, [named('escape'), named('escape')]],
    [`${esc}[`, [chord('[', alt)]],
    [`${esc}O`, [chord('O', alt)]],
    [`${esc}]`, [chord(']', alt)]],
    [`${esc}[1;5`, []],
    [`${esc}[M!`, []],
  ])('%j is what it is when nothing follows', (sent, keys) => {
    const { state, keys: before } = parseKeys(emptyKeyState, sent);
    expect(before).toEqual([]);
    expect(flushKeys(state)).toMatchObject({ state: emptyKeyState, keys });
  });
});
