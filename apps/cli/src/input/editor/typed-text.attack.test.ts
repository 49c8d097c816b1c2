import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../../packages/core/src/testing/runs.ts';
import { historyLine, parseHistoryLine } from '../history/history-entry.ts';
import { edit, editFrom } from './edit.ts';
import { createEditor, type EditAction, type EditorState, type Target } from './editor-state.ts';

// The prompt runs a command only if the user typed its first character. No edit makes a pasted text a typed one.

const targets: readonly Target[] = ['left', 'right', 'word_left', 'line_start', 'line_end'];
const typedText = fc.constantFrom('a', 'bc', ' ', '/', 'd\n');
/** A text of another person has only capital letters, so that it can be recognized. */
const otherText = fc.constantFrom('A', 'BC', 'D\nE', 'F'.repeat(1001));

const ownEdit: fc.Arbitrary<EditAction> = fc.oneof(
  typedText.map((text) => ({ type: 'insert', text }) as const),
  fc.constantFrom(...targets).map((to) => ({ type: 'move', to }) as const),
  fc.constantFrom(...targets).map((to) => ({ type: 'erase', to }) as const),
  fc.constantFrom(...targets).map((to) => ({ type: 'kill', to }) as const),
  fc.constantFrom('yank', 'undo', 'redo', 'up', 'down', 'sent').map((type) => ({ type }) as const),
);
const otherEdit: fc.Arbitrary<EditAction> = fc.oneof(
  otherText.map((text) => ({ type: 'paste', text }) as const),
  otherText.map((text) => ({ type: 'put_back', text }) as const),
  otherText.map((text) => ({ type: 'set', text, typed: 0 }) as const),
);

function expectTyped({ text, typed }: EditorState): void {
  expect(text.slice(0, typed)).not.toMatch(/[A-Z]/);
  expect(typed).toBeLessThanOrEqual(text.length);
}

test('18.1327: attack: edits make a text of another person a typed one', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: ownEdit.map((action) => ({ action, isOwn: true })) },
    { weight: 1, arbitrary: ownEdit.map((action) => ({ action, isOwn: false })) },
    otherEdit.map((action) => ({ action, isOwn: true })),
    otherText.map((text) => ({ action: { type: 'insert', text } as const, isOwn: false })),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let state = createEditor();
      for (const { action, isOwn } of steps) {
        state = editFrom(state, action, isOwn);
        expectTyped(state);
        for (const entry of state.history) {
          const { text, typed = text.length } = parseHistoryLine(historyLine(entry)) ?? entry;
          expectTyped({ ...state, text, typed });
        }
      }
    }),
    { numRuns: runs(2000) },
  );
});

test('a text stays typed if the user typed all of it', () => {
  fc.assert(
    fc.property(fc.array(ownEdit, { maxLength: 40 }), (actions) => {
      const { text, typed } = actions.reduce(
        (state, action) => edit(state, action),
        createEditor(),
      );
      expect(typed).toBe(text.length);
    }),
    { numRuns: runs(500) },
  );
});
