import { findLast, type ItemId, type ItemState } from '@millrace/core';
import { isFromClient } from '../calls/tool-result.ts';
import { isReplacement } from '../context/changed-items.ts';
import { getLayered } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import { loopMetadata } from '../run/output.ts';

/**
 * Returns true if a result must not bring the content of an item to the model. The input guardrails of the agent have
 * refused or changed the item, or they have not checked it.
 */
export function isWithheld(
  { guardrails }: RunContext['settings'],
  { state, loop }: RunContext['journal'],
  id: ItemId,
): boolean {
  const { turn, inputs, compacted, handedAtTurn } = loop;
  if (inputs.withheld.has(id) || getLayered(inputs.replaced, id) || getLayered(inputs.late, id))
    return true;
  const last = findLast(state.items, (item) => item.id === id || item.id === turn?.itemId);
  // The guardrails check what stands after the answer, such as results of this turn, before the next request.
  if (last?.id === id) return true;
  // After a hand-off, the guardrails of the new agent do not check the items that a summary covers.
  const isUnchecked = handedAtTurn > 0 && compacted.covered.has(id);
  return isUnchecked && guardrails.some(({ on }) => on === 'input');
}

/**
 * Returns true if an item can contain a text of a client. Items outside of turns are inputs, except those of the loop.
 * Items of turns were written by the loop, so they contain such a text only in marked results.
 */
export function hasClientText(item: ItemState | undefined): boolean {
  if (item === undefined) return false;
  const isOwn = item.metadata?.['by'] === loopMetadata.by || isReplacement(item);
  return item.turn === 0 ? !isOwn : item.parts.some(({ part }) => isFromClient(part));
}
