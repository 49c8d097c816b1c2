import { type Attempt, attemptOf, type ItemId } from '../ids.ts';
import type { Fact } from '../protocol/fact.ts';
import { applyFact } from './apply-fact.ts';
import type { FoldState } from './fold-state.ts';
import type { Verdict } from './judge.ts';
import { isSuperseded, takesPartsOf } from './judge-from-outside.ts';
import { findItem } from './lookup.ts';

/** The rows of PROTOCOL.md's table for facts: what the fold refuses, and what only a writer can get wrong. */
export function judgeFact(state: FoldState, fact: Fact, tried: Attempt): Verdict {
  const next = applyFact(state, { ...tried, fact });
  if (typeof next === 'string') return next;
  switch (fact.type) {
    case 'item_started':
      return judgeStart(state, fact.itemId, tried);
    case 'item_finished':
      if (isSuperseded(state, tried)) return 'wrong_attempt';
      if (findItem(state, fact.itemId)?.turn !== tried.turn) return 'wrong_attempt';
      return hasOpenParts(state, fact.itemId) ? 'open_parts' : 'apply';
    case 'response_finished': {
      const item = findItem(state, fact.itemId);
      const isItsOwn = item !== undefined && takesPartsOf(item, tried);
      if (!isItsOwn || tried.attempt === 0 || isSuperseded(state, tried)) return 'wrong_attempt';
      return hasOpenParts(state, fact.itemId) ? 'open_parts' : 'apply';
    }
    case 'item_redacted':
      return hasOpenParts(state, fact.itemId) ? 'open_parts' : 'apply';
    case 'turn_finished': {
      const isStreaming = state.open.some((part) => attemptOf(part.id).turn === tried.turn);
      return isStreaming ? 'open_parts' : 'apply';
    }
    default:
      return 'apply';
  }
}

function judgeStart(state: FoldState, id: ItemId, tried: Attempt): Verdict {
  const isGone = state.superseded.some(({ itemIds }) => itemIds.includes(id));
  const isUsed = isGone || findItem(state, id) !== undefined;
  if (isUsed) return 'conflict';
  return isSuperseded(state, tried) ? 'wrong_attempt' : 'apply';
}

function hasOpenParts(state: FoldState, id: ItemId): boolean {
  return state.open.some((part) => part.begin.itemId === id);
}
