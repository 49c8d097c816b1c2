import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { Box, render, Text } from 'ink';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../../../packages/core/src/testing/runs.ts';
import { FakeTerminal } from '../../testing/fake-terminal.ts';
import { FrameOutput } from '../../testing/output-streams.ts';
import type { CompletionItem } from '../completion/completion.ts';
import { edit } from '../editor/edit.ts';
import { createEditor, type EditAction, type EditorState } from '../editor/editor-state.ts';
import { Prompt, type PromptProps, promptHeight } from './prompt.tsx';

function type(...texts: readonly string[]): EditorState {
  return texts.reduce((state, text) => edit(state, { type: 'insert', text }), createEditor());
}

/** The rows of the screen. `▮` marks the cell of the cursor. */
function draw(props: Omit<PromptProps, 'width'> & { readonly width?: number }): readonly string[] {
  const width = props.width ?? 40;
  const stdout = new FrameOutput(width);
  const { unmount } = render(<Prompt {...props} width={width} />, { stdout, debug: true });
  const frame = stdout.frame.replaceAll('\u001b[7m', '▮');
  unmount();
  return stripVTControlCharacters(frame)
    .split('\n')
    .map((row) => row.trimEnd());
}

const commands: readonly CompletionItem[] = Array.from({ length: 12 }, (_, index) => ({
  kind: 'command',
  label: `/command-${index}`,
  description: `does ${'something '.repeat(index + 1)}`,
  insert: '',
  isComplete: true,
}));

describe('the text', () => {
  test('has a mark before it and a cursor at its end', () => {
    expect(draw({ state: type('hello') })).toEqual([
      '> hello▮',
      'Enter sends, Alt-Enter adds a line',
    ]);
  });

  test('has its cursor on the current character, also on a wide one or a tab', () => {
    const left: EditAction = { type: 'move', to: 'left' };
    const state = edit(type('a漢👩‍👩‍👧\tz'), left);
    const rows = [state, edit(state, left), edit(edit(state, left), left)].map(
      (at) => draw({ state: at })[0],
    );
    expect(rows).toEqual(['> a漢👩‍👩‍👧    ▮z', '> a漢👩‍👩‍👧▮    z', '> a漢▮👩‍👩‍👧    z']);
  });

  test('is wrapped between words and scrolls in its rows', () => {
    const state = type(Array.from({ length: 30 }, (_, index) => `word${index}`).join(' '));
    expect(draw({ state, width: 20, maxRows: 4, hint: '' })).toEqual([
      '↑ word23 word24',
      '  word25 word26',
      '  word27 word28',
      '  word29▮',
    ]);
    const top = edit(state, { type: 'move', to: 'text_start' });
    expect(draw({ state: top, width: 20, maxRows: 3, hint: '' })).toEqual([
      '> ▮word0 word1 word2',
      '  word3 word4 word5',
      '↓ word6 word7 word8',
    ]);
  });

  test('shows all lines, including empty ones', () => {
    expect(draw({ state: type('one\n\ntwo\n'), hint: '' })).toEqual(['> one', '', '  two', '  ▮']);
  });

  test('shows a long paste as one label only', () => {
    const text = `${'secret\n'.repeat(119)}end`;
    const state = edit(edit(type('see '), { type: 'paste', text }), { type: 'insert', text: ' !' });
    expect(draw({ state, hint: '' })).toEqual(['> see [pasted 120 lines] !▮']);
  });

  test('shows invisible characters', () => {
    expect(draw({ state: type('a\u200bb\u202ec'), hint: '' })).toEqual(['> a\ufffdb\ufffdc▮']);
  });

  test('has no cursor while it is not active', () => {
    expect(draw({ state: type('hello'), isActive: false, hint: '' })).toEqual(['> hello']);
  });

  test('is replaced by a placeholder if it is empty', () => {
    const placeholder = 'Ask anything';
    expect(draw({ state: createEditor(), placeholder, hint: '' })).toEqual(['> ▮Ask anything']);
    expect(draw({ state: createEditor(), placeholder, hint: '', isActive: false })).toEqual([
      '> Ask anything',
    ]);
    expect(draw({ state: createEditor(), hint: '' })).toEqual(['> ▮']);
  });
});

describe('the hint', () => {
  const state = createEditor();

  test('describes the keys as far as there is room', () => {
    const hint = (width: number, isBusy: boolean) => draw({ state, width, isBusy }).at(-1);
    expect(hint(80, true)).toBe('Enter steers, Alt-Enter queues, Esc stops');
    expect(hint(30, true)).toBe('Enter steers, Esc stops');
    expect(hint(20, true)).toBe('Esc stops');
    expect(hint(20, false)).toBe('Enter sends');
  });

  test('can be replaced or removed', () => {
    expect(draw({ state, hint: 'Press Ctrl-C again to leave', width: 20 })).toEqual([
      '> ▮',
      'Press Ctrl-C again …',
    ]);
    expect(draw({ state, hint: '' })).toHaveLength(1);
  });

  test('is replaced by a notice', () => {
    const refused = edit(state, { type: 'paste', text: 'x'.repeat(2 ** 22 + 1) });
    expect(draw({ state: refused, hint: '' }).at(-1)).toMatch(/^Too long for the prompt: .*…$/);
  });
});

describe('the completion list', () => {
  test('has at most 8 rows, including the selected one', () => {
    const rows = draw({ state: type('/'), menu: { items: commands, selected: 9 }, width: 60 });
    expect(rows).toHaveLength(10);
    expect(rows.slice(1, 3)).toEqual([
      '  /command-4   does something something something something…',
      '  /command-5   does something something something something…',
    ]);
    expect(rows[6]).toBe('> /command-9   does something something something something…');
    expect(rows.at(-1)).toBe('Tab completes, Up and Down choose, Esc closes (10 of 12)');
  });

  test('shows items before and after the selected one', () => {
    const rows = draw({ state: type('/'), menu: { items: commands, selected: 5 }, maxMenuRows: 3 });
    expect(rows.slice(1, 4).map((row) => row.slice(0, 12))).toEqual([
      '  /command-4',
      '> /command-5',
      '  /command-6',
    ]);
  });

  test('shows the end of a long path, without control sequences', () => {
    const label = `a/${'very/'.repeat(10)}deep/file\u001b[2J\n.ts`;
    const item: CompletionItem = { kind: 'file', label, insert: '', isComplete: false };
    expect(draw({ state: type('@'), menu: { items: [item], selected: 0 }, width: 30 })[1]).toBe(
      '> …very/very/deep/file␛[2J .ts',
    );
  });
});

describe('at any width', () => {
  const letters = [
    'word ',
    'a',
    ' ',
    '\n',
    '漢字',
    '👩‍👩‍👧',
    '🇨🇭',
    'é',
    'नि',
    '\t',
    '\u200b',
    '✔️',
    'ｶﾞ',
    '각',
  ];
  const texts = fc.array(fc.constantFrom(...letters, 'x\n'.repeat(30)), { maxLength: 40 });

  test('no line is wider, and the height equals promptHeight', () => {
    const menu = { items: commands, selected: 3 };
    fc.assert(
      fc.property(
        texts,
        fc.integer({ min: 20, max: 300 }),
        fc.integer({ min: 1, max: 12 }),
        fc.nat(60),
        fc.boolean(),
        (some, width, maxRows, back, hasMenu) => {
          let state = some.reduce(
            (now, text) => edit(now, { type: 'paste', text }),
            createEditor(),
          );
          for (let step = 0; step < back; step++) state = edit(state, { type: 'move', to: 'left' });
          const props = { state, width, maxRows, ...(hasMenu ? { menu } : {}) };
          const rows = draw(props);
          expect(rows).toHaveLength(promptHeight(props));
          for (const row of rows)
            expect(stringWidth(row.replace('▮', ''))).toBeLessThanOrEqual(width);
          expect(rows.filter((row) => row.includes('▮'))).toHaveLength(1);
        },
      ),
      { numRuns: runs(100) },
    );
  });

  test('the whole text is visible if there are enough rows', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 20, max: 300 }), (some, width) => {
        const state = type(...some.filter((text) => !text.includes('\u200b')));
        const rows = draw({ state, width, maxRows: 10_000, hint: '' });
        const shown = rows
          .map((row) => row.slice(2))
          .join('')
          .replaceAll(/[▮\s]/g, '');
        expect(shown).toBe(state.text.replaceAll(/\s/g, ''));
      }),
      { numRuns: runs(100) },
    );
  });
});

test("the terminal's own cursor is moved to the prompt if its position is known", async () => {
  const stdout = new FakeTerminal({ columns: 40, rows: 10 });
  const { unmount, waitUntilRenderFlush } = render(
    <Box flexDirection="column">
      <Text>above</Text>
      <Prompt state={type('ab\n漢字')} width={40} top={1} />
    </Box>,
    { stdout: stdout as unknown as NodeJS.WritableStream, interactive: true, patchConsole: false },
  );
  await waitUntilRenderFlush();
  const { cursor, isCursorShown, written } = stdout;
  unmount();
  expect({ cursor, isCursorShown }).toEqual({ cursor: { row: 2, column: 6 }, isCursorShown: true });
  expect(written).not.toContain('\u001b[7m');
});
