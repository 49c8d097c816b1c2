import { toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import type { Entry } from '../contract/entry.ts';
import type { CardPhase } from '../contract/tool-card.ts';
import { newCard } from '../state/tool-card.ts';
import { foldIdleCalls } from './live-lines.ts';

const entries = (...phases: readonly CardPhase[]): readonly Entry[] =>
  phases.map((phase, at) => ({
    ...({ kind: 'call', at: { turn: 1, attempt: 1 }, partId: undefined } as const),
    ...{ card: newCard(toolCallId(`c${at}`), 'bash', phase), isUnplaced: false },
  }));
const many = (count: number, phase: CardPhase) => Array.from({ length: count }, () => phase);

test('shows all calls if there are few', () => {
  const few = entries('running', 'asking', 'ready', 'done');
  expect(foldIdleCalls(few)).toEqual({ shown: few, folded: [] });
});

test('shows running calls and counts the others if there are many', () => {
  const all = entries(...many(22, 'asking'), 'running', ...many(5, 'done'), 'running');
  const { shown, folded } = foldIdleCalls(all);
  expect(shown.map((entry) => entry.kind === 'call' && entry.card.phase)).toEqual([
    'running',
    'running',
  ]);
  expect(folded).toEqual(['+ 5 done, 22 waiting']);
});
