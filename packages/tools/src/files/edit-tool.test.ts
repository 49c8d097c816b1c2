import {
  chmodSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '@millrace/core';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { editTool } from './edit-tool.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const put = (content: string | Uint8Array) => writeFileSync(join(root, 'a.ts'), content);
const held = () => readFileSync(join(root, 'a.ts'), 'utf8');
const edit = (...edits: readonly JsonObject[]) =>
  runTool(editTool(createWorkspace({ root })), { path: 'a.ts', edits });
const change = (old_text: string, new_text: string) => ({ old_text, new_text });
const everywhere = (old_text: string, new_text: string) => ({
  old_text,
  new_text,
  replace_all: true,
});

describe('an edit', () => {
  test('replaces an exact text, and shows the change', async () => {
    put('one\ntwo\nthree\n');
    expect(await edit(change('two', 'TWO\n2'))).toEqual({
      text: 'Edited a.ts: 2 lines added, 1 line removed\n@@ -1,3 +1,4 @@\n one\n-two\n+TWO\n+2\n three',
      value: { path: 'a.ts', replacements: 1, added: 2, removed: 1 },
      isError: false,
      updates: [],
    });
    expect(held()).toBe('one\nTWO\n2\nthree\n');
  });

  test('treats pattern characters literally', async () => {
    put('a.*b $& $1 (x');
    await edit(change('a.*b', '$& $1 \\n'), change('(x', '$$'));
    expect(held()).toBe('$& $1 \\n $& $1 $$');
  });

  test('is applied in order, each to the result of the one before', async () => {
    put('a b');
    await edit(change('a', 'b'), everywhere('b', 'c'), change('c c', 'd'));
    expect(held()).toBe('d');
  });

  test('that fails also undoes the edits before it', async () => {
    put('a b');
    expect(await edit(change('a', 'x'), change('nothing', 'y'))).toMatchObject({
      isError: true,
      text: expect.stringContaining(
        'nothing was changed. Edit 2 of 2, after the edits before it: ',
      ),
    });
    expect(held()).toBe('a b');
    expect(readdirSync(root)).toEqual(['a.ts']);
  });

  test('keeps the mode, and follows links inside', async () => {
    put('a');
    chmodSync(join(root, 'a.ts'), 0o750);
    symlinkSync('a.ts', join(root, 'link'));
    const tool = editTool(createWorkspace({ root }));
    await runTool(tool, { path: 'link', edits: [change('a', 'b')] });
    expect(held()).toBe('b');
    expect(statSync(join(root, 'a.ts')).mode & 0o7777).toBe(0o750);
  });
});

describe('it refuses', () => {
  const refused = async (reason: string | RegExp, ...edits: readonly JsonObject[]) => {
    const before = held();
    expect(await edit(...edits)).toMatchObject({
      isError: true,
      text: expect.stringMatching(reason),
    });
    expect(held()).toBe(before);
  };

  test('a text that occurs more than once, with its lines', async () => {
    put('x\ny\nx\nx');
    await refused(
      /occurs 3 times, at lines 1, 3, 4\. Include more .* or set replace_all/,
      change('x', 'z'),
    );
    put('aaa');
    await refused('occurs 2 times, at lines 1, 1', change('aa', 'b'));
    put('x\n'.repeat(100));
    await refused(/more than 10 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 …/, change('x', 'z'));
  });

  test('to replace too many occurrences', async () => {
    put('x'.repeat(100_001));
    await refused('more than 100000 times', everywhere('x', 'y'));
  });

  test('to make a file too large', async () => {
    put('x'.repeat(20_000));
    await refused('would have 20000000 characters', everywhere('x', 'y'.repeat(1000)));
  });

  test('edits that change nothing', async () => {
    put('a\r\nb');
    await refused('are the same', change('a\r\nb', 'a\nb'));
    await refused('the edits change nothing', change('a', 'b1'), change('b1', 'a'));
  });

  test('a file that is not UTF-8', async () => {
    put(Buffer.from('caf\xe9', 'latin1'));
    await refused('not UTF-8', change('caf', 'x'));
  });

  test('a file that is too large or does not exist', async () => {
    put(Buffer.alloc(4_000_001, 'x'));
    await refused('at most 4000000', change('x', 'y'));
    const tool = editTool(createWorkspace({ root }));
    const absent = await runTool(tool, { path: 'b.ts', edits: [change('x', 'y')] });
    expect(absent).toMatchObject({ isError: true, text: expect.stringContaining('Similar: a.ts') });
  });

  test('an input without edits, with an empty text or with half of a character', async () => {
    const tool = editTool(createWorkspace({ root }));
    for (const edits of [[], [change('', 'x')], [change('\ud83d', 'x')], [change('x', '\ude00')]]) {
      expect(await tool.validate({ path: 'a.ts', edits })).toMatchObject({ ok: false });
    }
  });
});

describe('the error for a text that is not found shows', () => {
  const miss = async (old_text: string, new_text = 'new') =>
    (await edit(change(old_text, new_text))).text;

  test('another indentation', async () => {
    put('function f() {\n\tif (x) {\n\t\treturn 1;\n\t}\n}\n');
    expect(await miss('if (x) {\n    return 1;\n  }')).toBe(
      [
        'Cannot edit a.ts, and nothing was changed. old_text is not in the file. The most similar text is at lines 2 to 4:',
        'line 3 differs in its indentation:',
        '  file:     "\\t\\treturn 1;"',
        '  old_text: "    return 1;"',
        'line 4 differs in its indentation:',
        '  file:     "\\t}"',
        '  old_text: "  }"',
      ].join('\n'),
    );
  });

  test('other spaces at the end or in a line', async () => {
    put('const a = 1;  \nconst b = 2;\n');
    expect(await miss('const a = 1;\nconst b = 2;')).toContain(
      'line 1 differs in the spaces at its end:\n  file:     "const a = 1;  "',
    );
    expect(await miss('const b  =  2;')).toContain('line 2 differs in its spaces');
  });

  test('different words', async () => {
    put('import a;\n\nfunction compute(total) {\n  return total * rate;\n}\n');
    const text = await miss('function compute(sum) {\n  return sum * rate;\n}');
    expect(text).toContain('The most similar text is at lines 3 to 5');
    expect(text).toContain('line 4 differs:\n  file:     "  return total * rate;"');
    expect(text).not.toContain('line 5');
  });

  test('the line numbers of read', async () => {
    put('one\ntwo\n');
    expect(await miss('1\tone\n2\ttwo')).toContain('without line numbers');
  });

  test('the new text, if the edit was already made', async () => {
    put('one\nTWO and more\n');
    expect(await miss('two', 'TWO and more')).toContain('new_text is already there, at line 2');
  });

  test('that nothing is similar', async () => {
    put('abc\n');
    expect(await miss('quite something else\nand more')).toContain('and nothing similar is');
    put('');
    expect(await miss('x')).toContain('the file is empty');
  });

  test('a text of bounded length, for any texts', async () => {
    const line = fc.constantFrom('a b', ' a b', 'a  b', 'abcdef', '\tabcdeg', '', ' ');
    const text = fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n'));
    await fc.assert(
      fc.asyncProperty(text, text, async (content, old) => {
        if (content.includes(old)) return;
        put(content);
        const said = await miss(old);
        expect(said).toContain('old_text is not in the file');
        expect(said.length).toBeLessThan(3000);
        const [, from] = /most similar text is at lines? (\d+)/.exec(said) ?? [];
        if (from !== undefined) expect(said).toMatch(/ differs|ends before it/);
      }),
      { numRuns: runs(300) },
    );
    put(`${'x'.repeat(5000)}y\n`.repeat(500));
    expect((await miss(`${'x'.repeat(5000)}z`)).length).toBeLessThan(1500);
  });

  // For these texts, comparing each position with every other position would take hours.
  test.each([
    ['lines that are all alike', 'a\n'.repeat(1_900_000), `${'a\n'.repeat(40_000)}b`],
    ['more of such lines', 'a\n'.repeat(1_900_000), `${'a\n'.repeat(900_000)}b`],
    [
      'characters that are all alike',
      'a'.repeat(3_900_000),
      `${'a'.repeat(900_000)}b${'a'.repeat(900_000)}`,
    ],
    [
      'such characters but for spaces',
      'a '.repeat(1_900_000),
      `${'a'.repeat(40_000)}b${'a'.repeat(40_000)}`,
    ],
  ])('its result quickly, for %s', async (_what, content, old) => {
    put(content);
    expect(await miss(old)).toContain('old_text is not in the file');
  });
});

describe('line endings', () => {
  test('CRLF is matched by \\n and used for new lines; a byte order mark is kept', async () => {
    put('\ufeffone\r\ntwo\r\nthree\r\n');
    await edit(change('one\ntwo', 'ONE\nand\ntwo'));
    expect(held()).toBe('\ufeffONE\r\nand\r\ntwo\r\nthree\r\n');
  });

  test('LF is matched by \\r\\n and kept', async () => {
    put('one\ntwo\n');
    await edit(change('one\r\ntwo', 'one\r\nmore\r\ntwo'));
    expect(held()).toBe('one\nmore\ntwo\n');
  });

  test('mixed ones are kept, and new lines get the most frequent one', async () => {
    put('a\r\nb\nc\r\nd\r\n');
    await edit(change('a\nb\nc', 'a\nb\nnew\nc'));
    expect(held()).toBe('a\r\nb\nnew\r\nc\r\nd\r\n');
  });

  const words = fc.array(fc.constantFrom('a', 'b', 'cc', '\n', ' '), {
    minLength: 1,
    maxLength: 30,
  });
  const someText = words.map((pieces) => pieces.join(''));

  test('do not change the result of an edit, for any text', async () => {
    await fc.assert(
      fc.asyncProperty(
        someText,
        fc.nat(),
        fc.nat(),
        someText,
        fc.boolean(),
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        async (text, from, length, new_text, replace_all, ending, hasMark) => {
          const start = from % text.length;
          const old_text = text.slice(start, start + 1 + (length % (text.length - start)));
          const inFile = (content: string) =>
            (hasMark ? '\ufeff' : '') + content.replaceAll('\n', ending);
          put(inFile(text));
          const { isError } = await edit({ old_text, new_text, replace_all });
          const isOnce = text.indexOf(old_text) === text.lastIndexOf(old_text);
          const after = text.split(old_text).join(new_text);
          const isDone = (replace_all || isOnce) && after !== text;
          expect(isError).toBe(!isDone);
          // The expected line ending is the ending of the file. A file without a line break gets LF.
          const usual = text.includes('\n') ? ending : '\n';
          const expected = (hasMark ? '\ufeff' : '') + after.replaceAll('\n', usual);
          expect(held()).toBe(isDone ? expected : inFile(text));
        },
      ),
    );
  });

  test('of untouched lines never change', async () => {
    const endings = fc.constantFrom('\n', '\r\n');
    await fc.assert(
      fc.asyncProperty(fc.array(endings, { minLength: 3 }), fc.nat(), async (all, at) => {
        const line = at % all.length;
        put(all.map((ending, index) => `line ${index};${ending}`).join(''));
        await edit(change(`line ${line};\n`, `line ${line};\nnew;\n`));
        const [first, , ...rest] = held()
          .split(/(?<=\n)/)
          .slice(line);
        expect(first).toBe(`line ${line};${all[line]}`);
        expect(rest.join('')).toBe(
          all
            .map((ending, index) => `line ${index};${ending}`)
            .slice(line + 1)
            .join(''),
        );
      }),
      { numRuns: runs(300) },
    );
  });
});

test('concurrent edits of one file are all applied', async () => {
  const count = 100;
  put(Array.from({ length: count }, (_, index) => `<${index}>\n`).join(''));
  const results = await Promise.all(
    Array.from({ length: count }, (_, index) => edit(change(`<${index}>`, `[${index}]`))),
  );
  expect(results.filter(({ isError }) => isError)).toEqual([]);
  expect(held()).toBe(Array.from({ length: count }, (_, index) => `[${index}]\n`).join(''));
  expect(readdirSync(root)).toEqual(['a.ts']);
});

test('the tool declares its name, effects and summary', () => {
  const tool = editTool(createWorkspace({ root }));
  expect(tool).toMatchObject({ name: 'edit', effects: 'external', afterCrash: 'fail' });
  expect(tool.summarize({ path: 'a', edits: [{}, {}] })).toBe('Edit a (2 changes)');
});
