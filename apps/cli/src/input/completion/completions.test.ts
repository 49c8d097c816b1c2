import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { edit } from '../editor/edit.ts';
import { createEditor, type EditorState } from '../editor/editor-state.ts';
import type { Command, CompletionSources } from './completion.ts';
import { completions } from './completions.ts';
import { mentionOf, mentionsIn } from './file-completions.ts';

const commands: readonly Command[] = [
  { name: '/help', description: 'What there is' },
  {
    name: '/model',
    description: 'Another model',
    choices: () => [
      { value: 'gpt-large', description: 'the large one' },
      { value: 'gpt-small' },
      { value: 'other' },
    ],
  },
  { name: '/new', description: 'A new session' },
  { name: '/compact', description: 'Shorten the context', takesText: true },
];

const files = [
  'README.md',
  'src/main.ts',
  'src/main.test.ts',
  'src/input/editor-state.ts',
  'src/input/edit.ts',
  'src/domain/names.ts',
  'docs/my notes.md',
  'docs/remains.txt',
];

function typed(text: string): EditorState {
  return edit(createEditor(), { type: 'insert', text });
}

function offered(text: string, sources: CompletionSources = { commands, files }) {
  return completions(typed(text), sources)?.items.map(({ label }) => label);
}

/** Returns the text after the first completion is accepted. */
function taken(text: string): string | undefined {
  const state = typed(text);
  const found = completions(state, { commands, files });
  const item = found?.items[0];
  if (found === undefined || item === undefined) return undefined;
  const { start, end } = found;
  return edit(state, { type: 'replace', start, end, text: item.insert }).text;
}

describe('commands', () => {
  test('are offered at the start of the prompt, prefix matches first', () => {
    expect(offered('/')).toEqual(['/help', '/model', '/new', '/compact']);
    expect(offered('/n')).toEqual(['/new']);
    expect(offered('/m')).toEqual(['/model', '/compact']);
    expect(offered('/NE')).toEqual(['/new']);
    expect(offered('/xyz')).toBeUndefined();
    expect(offered('say /h')).toBeUndefined();
    expect(offered('first\n/h')).toBeUndefined();
  });

  test('have a description and tell whether an argument follows', () => {
    expect(completions(typed('/'), { commands })?.items.slice(0, 2)).toEqual([
      {
        kind: 'command',
        label: '/help',
        description: 'What there is',
        insert: '/help',
        isComplete: true,
      },
      {
        kind: 'command',
        label: '/model',
        description: 'Another model',
        insert: '/model ',
        isComplete: false,
      },
    ]);
    expect(completions(typed('/com'), { commands })?.items[0]?.isComplete).toBe(false);
  });

  test('offer their arguments by value, or by description if no value matches', () => {
    expect(offered('/model ')).toEqual(['gpt-large', 'gpt-small', 'other']);
    expect(offered('/model small')).toEqual(['gpt-small']);
    expect(offered('/model the la')).toEqual(['gpt-large']);
    expect(offered('/model  g')).toEqual(['gpt-large', 'gpt-small']);
    expect(offered('/help ')).toBeUndefined();
    expect(offered('/unknown ')).toBeUndefined();
    expect(taken('/model sma')).toBe('/model gpt-small');
  });

  test('offer nothing when the only choice is typed', () => {
    expect(offered('/model other')).toBeUndefined();
  });
});

describe('files', () => {
  test('are offered after an @ at the start of a word', () => {
    expect(offered('see @READ')).toEqual(['README.md']);
    expect(offered('(@READ')).toEqual(['README.md']);
    expect(offered('first\n@READ')).toEqual(['README.md']);
    expect(offered('me@READ')).toBeUndefined();
    expect(offered('@READ ')).toBeUndefined();
    expect(offered('@nothing-like-it')).toBeUndefined();
  });

  test('are ranked by name, prefix, word, path and letters in order', () => {
    expect(offered('@main')).toEqual([
      'src/main.ts',
      'src/main.test.ts',
      'src/domain/',
      'docs/remains.txt',
      'src/domain/names.ts',
    ]);
    expect(offered('@state')?.[0]).toBe('src/input/editor-state.ts');
    expect(offered('@input/ed')).toEqual(['src/input/edit.ts', 'src/input/editor-state.ts']);
    expect(offered('@sies')?.[0]).toBe('src/input/edit.ts');
  });

  test('start at the root if nothing is typed, including folders', () => {
    expect(offered('@')?.slice(0, 3)).toEqual(['README.md', 'docs/', 'src/']);
  });

  test('are quoted if their names contain a space or a quote', () => {
    expect(taken('see @notes')).toBe('see @"docs/my notes.md" ');
    expect(taken('see @"docs/my n')).toBe('see @"docs/my notes.md" ');
    expect(taken('@src/main.ts')).toBe('@src/main.ts ');
  });

  test('of a folder are offered after the folder is accepted', () => {
    expect(taken('@inpu')).toBe('@src/input/');
    expect(offered('@src/input/')).toEqual([
      'src/input/',
      'src/input/edit.ts',
      'src/input/editor-state.ts',
    ]);
  });

  test('match when they are fully typed, whatever their names', () => {
    const path = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(path, fc.nat(), fc.nat(), (name, a, b) => {
        fc.pre(!/[\s"/\\\p{Cc}]|^\.$/u.test(name) && name.toLowerCase() === name);
        const [start, end] = [a % name.length, b % (name.length + 1)].sort((x, y) => x - y);
        fc.pre(name.isWellFormed() && name.slice(start, end).isWellFormed());
        expect(offered(`@${name.slice(start, end)}`, { files: [name] })).toContain(name);
      }),
    );
  });

  test('are at most 50 of 20,000, found quickly enough for each key', () => {
    const many = Array.from(
      { length: 20_000 },
      (_, index) => `packages/p${index % 50}/src/file-${index}.ts`,
    );
    const found = completions(typed('@file19999'), { files: many });
    expect(found?.items.map(({ label }) => label)).toEqual(['packages/p49/src/file-19999.ts']);
    expect(completions(typed('@src'), { files: many })?.items).toHaveLength(50);
  });

  test('are not offered inside a folded paste', () => {
    const pasted = edit(typed('x '), { type: 'paste', text: `${'line\n'.repeat(20)}@READ` });
    expect(completions(pasted, { files })).toBeUndefined();
  });
});

describe('mentions', () => {
  test('are the paths in a text', () => {
    const text = 'Compare @src/a.ts, (@"my notes.md") and me@home.org with @b. Thanks!';
    expect(mentionsIn(text).map(({ path }) => path)).toEqual(['src/a.ts', 'my notes.md', 'b']);
    expect(mentionsIn(text).map(({ start, end }) => text.slice(start, end))).toEqual([
      '@src/a.ts',
      '@"my notes.md"',
      '@b',
    ]);
  });

  test('round-trip', () => {
    const path = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((name) => /^[^\n\r]+$/.test(name));
    fc.assert(
      fc.property(path, (name) => {
        fc.pre(!/[,.;:!?()[\]{}<>`]$/.test(name));
        const text = `see ${mentionOf(name)} there`;
        expect(mentionsIn(text).map((mention) => mention.path)).toEqual([name]);
      }),
    );
  });
});
