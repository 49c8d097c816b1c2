import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { visibleRows } from '../prompt/text-lines.ts';
import { edit } from './edit.ts';
import { createEditor, type EditorState } from './editor-state.ts';
import { columnOf, cursorRow, type Row, rowsOfLine } from './rows.ts';

const long = `${'x\n'.repeat(50)}y`;
const words = [
  'word',
  ' ',
  '  ',
  'a',
  '漢字仮名',
  '👩‍👩‍👧',
  'é',
  '\t',
  '\u200b',
  'supercalifragilistic',
];

const states = fc
  .array(
    fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom(...words, '\n') },
      { weight: 1, arbitrary: fc.constant(long) },
    ),
    { maxLength: 60 },
  )
  .map((texts) =>
    texts.reduce((state, text) => edit(state, { type: 'paste', text }), createEditor()),
  );

/** The rows of all lines, in order. */
function allRows(state: EditorState, width: number): readonly Row[] {
  const { folds } = state;
  const isFolded = (at: number) => folds.some(({ start, end }) => start <= at && at < end);
  const ends = [...state.text].length === 0 ? [] : [...state.text.matchAll(/\n/g)];
  const lines = ends.map(({ index }) => index).filter((index) => !isFolded(index));
  return [...lines, state.text.length].flatMap((end, index) => {
    const start = index === 0 ? 0 : (lines[index - 1] ?? 0) + 1;
    return rowsOfLine(state, start, end, width);
  });
}

const widthOf = ({ atoms }: Row) => atoms.reduce((sum, { width }) => sum + width, 0);
const widths = fc.integer({ min: 5, max: 60 });

describe('rows', () => {
  test('contain the whole text in order, and a cell for the cursor at the end', () => {
    fc.assert(
      fc.property(states, widths, (state, width) => {
        let at = 0;
        for (const row of allRows(state, width)) {
          expect(row.start).toBe(at);
          expect(widthOf(row)).toBeLessThanOrEqual(row.isWrapped ? width : width - 1);
          at = row.isWrapped ? row.end : row.end + 1;
        }
        expect(at).toBe(state.text.length + 1);
      }),
    );
  });

  test('break between words, and inside words that are longer than a row', () => {
    const wrapped = (text: string, width: number) =>
      rowsOfLine({ text, folds: [] }, 0, text.length, width).map(({ start, end }) =>
        text.slice(start, end),
      );
    expect(wrapped('the quick brown fox', 11)).toEqual(['the quick ', 'brown fox']);
    expect(wrapped('the quick  brown', 11)).toEqual(['the quick  ', 'brown']);
    expect(wrapped('the quick   brown', 11)).toEqual(['the quick  ', ' brown']);
    expect(wrapped('the quick  ', 11)).toEqual(['the quick ', ' ']);
    expect(wrapped('supercalifragilistic', 11)).toEqual(['supercalif', 'ragilistic']);
    expect(wrapped('a supercalifragilistic', 11)).toEqual(['a ', 'supercalif', 'ragilistic']);
    expect(wrapped('漢字仮名交じり', 8)).toEqual(['漢字仮', '名交じ', 'り']);
    expect(wrapped('', 8)).toEqual(['']);
    expect(wrapped('1234567', 8)).toEqual(['1234567']);
  });

  test('a fold wider than the screen is clipped', () => {
    const state = edit(createEditor(), { type: 'paste', text: long });
    const [row] = rowsOfLine(state, 0, state.text.length, 11);
    expect(row?.atoms.map(({ shown }) => shown)).toEqual(['[pasted 5…']);
  });
});

describe('up and down', () => {
  test('move to the row above or below, near the column where they started', () => {
    const moves = fc.array(fc.constantFrom('up', 'down'), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(states, widths, fc.nat(200), moves, (typed, width, back, some) => {
        let state = typed;
        for (let step = 0; step < back; step++) state = edit(state, { type: 'move', to: 'left' });
        const rows = allRows(state, width);
        let here = cursorRow(rows, state.cursor);
        const goal = columnOf(rows[here] as Row, state.cursor);
        for (const type of some) {
          state = edit(state, { type, width });
          here = Math.max(0, Math.min(rows.length - 1, here + (type === 'up' ? -1 : 1)));
          const row = rows[here] as Row;
          expect(cursorRow(rows, state.cursor)).toBe(here);
          const column = columnOf(row, state.cursor);
          const next = row.atoms.find(({ start }) => start === state.cursor);
          const isLast = row.isWrapped && next === row.atoms.at(-1);
          expect(column).toBeLessThanOrEqual(goal);
          if (next !== undefined && !isLast) expect(column + next.width).toBeGreaterThan(goal);
        }
      }),
    );
  });

  test('move by lines without a width', () => {
    const text = `${'x'.repeat(100)}\nshort`;
    const state = edit(createEditor(), { type: 'insert', text });
    expect(edit(state, { type: 'up' }).cursor).toBe(5);
    expect(edit(state, { type: 'up', width: 21 }).cursor).toBe(85);
  });
});

describe('visible rows', () => {
  test('are the largest possible window of rows around the cursor', () => {
    fc.assert(
      fc.property(
        states,
        widths,
        fc.nat(200),
        fc.integer({ min: 1, max: 12 }),
        (typed, width, back, max) => {
          let state = typed;
          for (let step = 0; step < back; step++) state = edit(state, { type: 'move', to: 'left' });
          const rows = allRows(state, width);
          const seen = visibleRows(state, width, max);
          const start = rows.findIndex(
            (row) => row.start === seen.rows[0]?.start && row.end === seen.rows[0].end,
          );
          expect(seen.rows.length).toBe(Math.min(max, rows.length));
          expect(seen.rows).toEqual(rows.slice(start, start + seen.rows.length));
          expect(start + seen.cursor.row).toBe(cursorRow(rows, state.cursor));
          expect(seen.isCutAbove).toBe(start > 0);
          expect(seen.isCutBelow).toBe(start + seen.rows.length < rows.length);
        },
      ),
    );
  });
});
