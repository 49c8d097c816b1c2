import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { edit } from './edit.ts';
import { createEditor, type EditAction, type EditorState, type Target } from './editor-state.ts';

/** The reference model is an array of cursor steps, and the number of steps before the cursor. */
interface Step {
  readonly text: string;
  readonly isFold: boolean;
}

interface Model {
  readonly steps: readonly Step[];
  readonly passed: number;
}

const segmenter = new Intl.Segmenter();

/**
 * Joins the text on both sides of the cursor. The adjacent characters may form one grapheme. The
 * cursor is then after it.
 */
function model(left: readonly Step[], right: readonly Step[]): Model {
  const runs: Step[] = [];
  for (const step of [...left, ...right]) {
    const last = runs.at(-1);
    if (last === undefined || last.isFold || step.isFold) runs.push(step);
    else runs[runs.length - 1] = { text: last.text + step.text, isFold: false };
  }
  const steps = runs.flatMap((run): readonly Step[] =>
    run.isFold
      ? [run]
      : [...segmenter.segment(run.text)].map(({ segment }) => ({ text: segment, isFold: false })),
  );
  const length = left.reduce((sum, { text }) => sum + text.length, 0);
  let passed = 0;
  for (let at = 0; at < length; passed++) at += steps[passed]?.text.length ?? length;
  return { steps, passed };
}

function cut({ steps, passed }: Model) {
  return { left: steps.slice(0, passed), right: steps.slice(passed) };
}

const isWord = ({ text, isFold }: Step) => isFold || /^[\p{L}\p{N}_]/u.test(text);
const isLineEnd = ({ text, isFold }: Step) => !isFold && text === '\n';

function modelTarget(before: Model, to: Target): number {
  const { left, right } = cut(before);
  switch (to) {
    case 'left':
      return Math.max(0, left.length - 1);
    case 'right':
      return Math.min(before.steps.length, left.length + 1);
    case 'word_left':
      return left.length - wordLength(left.toReversed());
    case 'word_right':
      return left.length + wordLength(right);
    case 'line_start':
      return left.findLastIndex(isLineEnd) + 1;
    case 'line_end':
      return left.length + [...right, { text: '\n', isFold: false }].findIndex(isLineEnd);
    case 'text_start':
      return 0;
    case 'text_end':
      return before.steps.length;
  }
}

function wordLength(steps: readonly Step[]): number {
  const start = steps.findIndex(isWord);
  if (start === -1) return steps.length;
  if (steps[start]?.isFold) return start + 1;
  const end = steps.findIndex((step, index) => index > start && (!isWord(step) || step.isFold));
  return end === -1 ? steps.length : end;
}

function modelled(before: Model, action: EditAction): Model {
  const { left, right } = cut(before);
  switch (action.type) {
    case 'insert':
      return model([...left, { text: action.text, isFold: false }], right);
    case 'paste':
      return model([...left, { text: action.text, isFold: action.text.length > 1000 }], right);
    case 'move':
      return { ...before, passed: modelTarget(before, action.to) };
    case 'erase':
    case 'kill': {
      const there = modelTarget(before, action.to);
      const isLine = action.to === 'line_start' || action.to === 'line_end';
      const isNewline = action.type === 'kill' && isLine && there === before.passed;
      const beyond = action.to === 'line_start' ? there - 1 : there + 1;
      const end = Math.max(0, isNewline ? beyond : there);
      const [from, to] = [Math.min(end, before.passed), Math.max(end, before.passed)];
      return model(before.steps.slice(0, from), before.steps.slice(to));
    }
    default:
      throw new Error(`The model does not know ${action.type}`);
  }
}

const targets: readonly Target[] = [
  'left',
  'right',
  'word_left',
  'word_right',
  'line_start',
  'line_end',
  'text_start',
  'text_end',
];

const long = 'pasted '.repeat(200);
/** Without the fold, its first and last characters would combine with the text around it. */
const joining = `\u0301${long}👩\u200d`;
const tame = ['a', 'Zß', '9', '_', ' ', '.', '\n', 'é', '漢字', '👩‍👩‍👧', '🇨🇭', 'नि', '@', '\t'];
/** Characters that combine with their neighbors: marks, joiners, halves of flags, jamo. */
const nasty = [...tame, '\u0301', '\u200d', '🇩', '\ufe0f', 'ᄀ', 'ᅡ', '👩', '\u200b'];

function actions(letters: readonly string[], to: readonly Target[]): fc.Arbitrary<EditAction> {
  const text = fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 4 });
  return fc.oneof(
    {
      weight: 4,
      arbitrary: text.map((some) => ({ type: 'insert', text: some.join('') }) as const),
    },
    { weight: 1, arbitrary: fc.constant({ type: 'paste', text: joining } as const) },
    { weight: 4, arbitrary: fc.record({ type: fc.constant('move'), to: fc.constantFrom(...to) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('erase'), to: fc.constantFrom(...to) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('kill'), to: fc.constantFrom(...to) }) },
  );
}

function seen({ text, cursor, folds }: EditorState) {
  return { text, cursor, folds: folds.map(({ start, end }) => [start, end]) };
}

function expected({ steps, passed }: Model) {
  const starts = steps.map((_, index) => lengthOf(steps.slice(0, index)));
  return {
    text: steps.map(({ text }) => text).join(''),
    cursor: lengthOf(steps.slice(0, passed)),
    folds: steps.flatMap(({ text, isFold }, index) => {
      const start = starts[index] ?? 0;
      return isFold ? [[start, start + text.length]] : [];
    }),
  };
}

const lengthOf = (steps: readonly Step[]) => steps.reduce((sum, { text }) => sum + text.length, 0);

function type(...texts: readonly string[]): EditorState {
  return texts.reduce((state, text) => edit(state, { type: 'insert', text }), createEditor());
}

function run(state: EditorState, ...some: readonly EditAction[]): EditorState {
  return some.reduce(edit, state);
}

describe('edit', () => {
  test.each([
    ['words and lines', tame, targets],
    ['characters that join with others', nasty, targets.filter((name) => !name.startsWith('word'))],
  ])('does what an array of graphemes would, with %s', (_, letters, to) => {
    fc.assert(
      fc.property(fc.array(actions(letters, to), { maxLength: 40 }), (some) => {
        let state = createEditor();
        let reference: Model = { steps: [], passed: 0 };
        for (const action of some) {
          state = edit(state, action);
          reference = modelled(reference, action);
          expect(seen(state)).toEqual(expected(reference));
        }
      }),
    );
  });

  test('undo returns to the start, and redo to the end', () => {
    const any = fc.oneof(
      actions(nasty, targets),
      fc.constant<EditAction>({ type: 'yank' }),
      fc.constant<EditAction>({ type: 'set', text: 'another' }),
      fc.constant<EditAction>({ type: 'replace', start: 0, end: 1, text: 'x' }),
    );
    fc.assert(
      fc.property(fc.array(any, { maxLength: 40 }), (some) => {
        const end = run(createEditor(), ...some);
        const undone = run(end, ...some.map(() => ({ type: 'undo' }) as const));
        expect(seen(undone)).toEqual({ text: '', cursor: 0, folds: [] });
        const redone = run(undone, ...some.map(() => ({ type: 'redo' }) as const));
        expect({ ...seen(redone), cursor: end.cursor }).toEqual(seen(end));
      }),
    );
  });

  test('makes one undo step of a word, of a paste and of consecutive deletions', () => {
    const undo = { type: 'undo' } as const;
    const erase = { type: 'erase', to: 'left' } as const;
    const typed = type('o', 'n', 'e', ' ', 't', 'w', 'o');
    expect(run(typed, undo).text).toBe('one ');
    expect(run(typed, undo, undo).text).toBe('');
    const pasted = run(typed, { type: 'paste', text: ' and three' });
    expect(run(pasted, undo).text).toBe('one two');
    expect(run(pasted, erase, erase, erase, undo)).toMatchObject({ text: 'one two and three' });
    expect(
      run(typed, { type: 'move', to: 'left' }, { type: 'insert', text: '!' }, undo),
    ).toMatchObject({
      text: 'one two',
      cursor: 6,
    });
  });

  test('drops redo steps after new typing', () => {
    const state = run(
      type('one'),
      { type: 'undo' },
      { type: 'insert', text: 'x' },
      { type: 'redo' },
    );
    expect(state.text).toBe('x');
  });

  test('keeps no more than 200 steps, the newest', () => {
    const steps = Array.from({ length: 300 }, (_, index) => `${index} `);
    let state = type(...steps);
    for (let count = 0; count < 300; count++) state = edit(state, { type: 'undo' });
    expect(state.text).toBe(steps.slice(0, 100).join(''));
  });

  test('yanks consecutive kills as one text with its folds', () => {
    const word = { type: 'kill', to: 'word_left' } as const;
    const state = run(type('one two three'), word, word, { type: 'move', to: 'text_start' });
    expect(run(state, { type: 'yank' })).toMatchObject({ text: 'two threeone ', cursor: 9 });
    const forward = run(type('ab cd'), { type: 'move', to: 'text_start' });
    const right = { type: 'kill', to: 'word_right' } as const;
    expect(run(forward, right, right, { type: 'yank' }).text).toBe('ab cd');
    const folded = run(
      type('x'),
      { type: 'paste', text: long },
      { type: 'kill', to: 'line_start' },
    );
    expect(folded.text).toBe('');
    expect(seen(run(folded, { type: 'yank' }))).toEqual({
      text: `x${long}`,
      cursor: 1 + long.length,
      folds: [[1, 1 + long.length]],
    });
    const apart = run(type('one two'), word, { type: 'move', to: 'left' }, word, { type: 'yank' });
    expect(apart.text).toBe('one ');
  });

  test('folds pastes of more than 10 lines or 1,000 characters, and keeps their text', () => {
    const lines = Array.from({ length: 12 }, (_, index) => `line ${index}`).join('\n');
    const state = run(createEditor(), { type: 'paste', text: lines });
    expect(state).toMatchObject({
      text: lines,
      folds: [{ start: 0, end: lines.length, lines: 12 }],
    });
    expect(run(createEditor(), { type: 'paste', text: 'a\nb' }).folds).toEqual([]);
    expect(run(createEditor(), { type: 'paste', text: 'x'.repeat(1001) }).folds).toHaveLength(1);
  });

  test('normalises line ends and removes control sequences', () => {
    const text = 'a\r\nb\rc\u001b[31md\u0007\u0000e\ud800\u0085f';
    expect(run(createEditor(), { type: 'paste', text }).text).toBe('a\nb\ncde\ufffd\nf');
  });

  test('rejects a text that is too long, with a notice until the next action', () => {
    const state = run(type('x'), { type: 'paste', text: 'y'.repeat(2 ** 22) });
    expect(state.text).toBe('x');
    expect(state.notice).toMatch(/^Too long for the prompt: at most 4,194,304 characters/);
    expect(run(state, { type: 'move', to: 'left' }).notice).toBeUndefined();
  });

  test('replaces the typed text with a completion', () => {
    const state = run(type('see @sr and'), {
      type: 'replace',
      start: 4,
      end: 7,
      text: '@src/a.ts ',
    });
    expect(state).toMatchObject({ text: 'see @src/a.ts  and', cursor: 14 });
  });
});

describe('history', () => {
  const history = [{ text: 'first' }, { text: 'second\nline' }, { text: 'third' }];
  const up = { type: 'up' } as const;
  const down = { type: 'down' } as const;

  test('moves through the history at the first and last line, and keeps the draft with its cursor', () => {
    let state = run(createEditor(history), { type: 'insert', text: 'my draft' });
    state = run(state, { type: 'move', to: 'word_left' });
    const texts = [up, up, up, up, up].map((action) => {
      state = edit(state, action);
      return `${state.text}|${state.cursor}`;
    });
    // The second entry has two lines, and the cursor moves through both.
    expect(texts).toEqual(['third|5', 'second\nline|11', 'second\nline|4', 'first|5', 'first|5']);
    state = run(state, down, down, down, down);
    expect(state).toMatchObject({ text: 'my draft', cursor: 3 });
    expect(run(state, down)).toMatchObject({ text: 'my draft', cursor: 3 });
    expect(run(state, { type: 'undo' }).text).toBe('');
  });

  test('keeps an edited entry until the next send', () => {
    const changed = run(createEditor(history), up, { type: 'insert', text: '!' }, up);
    expect(run(changed, down).text).toBe('third!');
    const sent = run(changed, down, { type: 'sent' });
    expect(sent).toMatchObject({ text: '', historyIndex: 4 });
    expect([run(sent, up).text, run(sent, up, up).text]).toEqual(['third!', 'third']);
  });

  test('keeps equal entries once, as the newest, and none with a leading space', () => {
    const sent = run(createEditor(history), { type: 'insert', text: 'first' }, { type: 'sent' });
    expect(sent.history.map(({ text }) => text)).toEqual(['second\nline', 'third', 'first']);
    const secret = run(sent, { type: 'insert', text: ' hidden' }, { type: 'sent' });
    expect(secret.history).toEqual(sent.history);
  });

  test('has at most 1,000 entries', () => {
    const many = Array.from({ length: 1000 }, (_, index) => ({ text: `${index}` }));
    const sent = run(createEditor(many), { type: 'insert', text: 'new' }, { type: 'sent' });
    expect([sent.history.length, sent.history[0]?.text]).toEqual([1000, '1']);
  });

  test('brings a long paste back folded', () => {
    const sent = run(createEditor(), { type: 'paste', text: long }, { type: 'sent' });
    expect(seen(run(sent, up))).toMatchObject({ text: long, folds: [[0, long.length]] });
  });

  test('that is loaded late keeps the draft', () => {
    const typed = run(createEditor([{ text: 'old' }]), { type: 'insert', text: 'draft' }, up);
    const state = run(typed, { type: 'history', entries: history });
    expect(state).toMatchObject({ text: 'draft', historyIndex: 3 });
    expect(run(state, up).text).toBe('third');
  });
});
