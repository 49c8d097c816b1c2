import type { FoldState } from '../fold/fold-state.ts';
import { findItem } from '../fold/lookup.ts';
import { toItem } from '../fold/transcript.ts';
import type { Fact } from '../protocol/fact.ts';
import type { Item } from '../protocol/item.ts';
import type { AgentEvent, EventHead, FactEvent, OrdinaryFact } from './agent-event.ts';
import { contentEvents } from './content-events.ts';
import type { View } from './view.ts';

/** The main view: records as agent events. */
export const agentEvents: View<AgentEvent> = (before, record, after) => {
  const { offset, time, turn, attempt, delta, fact } = record;
  const head: EventHead = { session: before.session, offset, time, turn, attempt };
  return delta === undefined
    ? [factEvent(head, fact, after)]
    : contentEvents(head, delta, before, after);
};

function factEvent(head: EventHead, fact: Fact, after: FoldState): AgentEvent {
  switch (fact.type) {
    case 'turn_finished':
      return { ...head, ...fact, message: messageOf(after, fact) };
    case 'snapshot':
      return { ...head, ...fact, type: 'turn_settled' };
    default:
      return { ...head, ...factAsTold(fact) };
  }
}

/** A fact under its own name, with the tool call's id in the field where every tool event has it. */
export function factAsTold(fact: OrdinaryFact): FactEvent {
  if (!('toolCallId' in fact)) return fact;
  const { toolCallId: id, ...rest } = fact;
  return { ...rest, id };
}

function messageOf(
  state: FoldState,
  { itemId }: Extract<Fact, { type: 'turn_finished' }>,
): Item | null {
  const item = itemId === undefined ? undefined : findItem(state, itemId);
  return item === undefined ? null : toItem(item);
}
