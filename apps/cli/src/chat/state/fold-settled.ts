import {
  type AgentEvent,
  attemptOf,
  type ItemId,
  type Part,
  type PartId,
  type ToolCallPart,
} from '@millrace/core';
import { MarkdownStream } from '@millrace/markdown';
import { note } from '../contract/block.ts';
import type { ChatState, EventOf } from '../contract/chat-state.ts';
import type { Entry } from '../contract/entry.ts';
import type { ToolCard } from '../contract/tool-card.ts';
import { textOfPart, withSummary } from './fold-content.ts';
import { newCard, withResult } from './tool-card.ts';

/** Folds a settled turn. It arrives as one event, after the facts about its calls. */
export function foldSettled(state: ChatState, event: AgentEvent): ChatState {
  if (event.type !== 'turn_settled') return state;
  const others = state.entries.filter(({ at }) => at.turn !== event.turn);
  const cards = state.entries.flatMap((entry) => (entry.kind === 'call' ? [entry.card] : []));
  const isSummary = ({ itemId }: { readonly itemId: ItemId }) =>
    state.items.get(itemId) === 'context';
  const items = event.items.filter((item) => !isSummary(item));
  const summary = event.items.filter(isSummary).flatMap(({ parts }) => parts);
  const entries = items.flatMap(({ itemId, parts }) =>
    parts.flatMap(({ partId, part }): readonly Entry[] => {
      if (part.kind !== 'tool_call') return settledEntries({ partId, itemId }, part);
      const card = settledCard(part, cards, event);
      return [{ kind: 'call', at: attemptOf(partId), partId, card, isUnplaced: false }];
    }),
  );
  const text = summary.map(({ part }) => textOfPart(part)).join('');
  return withSummary({ ...state, entries: [...others, ...entries] }, text);
}

/** Returns the card of a call with the input and the result from the settled turn. */
function settledCard(
  { toolCallId: id, name, input }: ToolCallPart,
  cards: readonly ToolCard[],
  { items }: EventOf<'turn_settled'>,
): ToolCard {
  const known = cards.find((card) => card.id === id) ?? newCard(id, name, 'done');
  const parts = items.flatMap((item) => item.parts).map(({ part }) => part);
  const result = parts.find((part) => part.kind === 'tool_result' && part.toolCallId === id);
  const card = { ...known, input };
  return result?.kind === 'tool_result' ? withResult(card, result) : card;
}

interface PartLocation {
  readonly partId: PartId;
  readonly itemId: ItemId;
}

function settledEntries(location: PartLocation, part: Part): readonly Entry[] {
  const at = attemptOf(location.partId);
  switch (part.kind) {
    case 'text':
    case 'structured': {
      const stream = new MarkdownStream();
      const text = textOfPart(part);
      stream.push(text);
      const ready = stream.take();
      return [{ kind: 'text', at, ...location, stream, text, ready, end: 'done' }];
    }
    case 'reasoning': {
      const { form, text } = part;
      // The log of a settled turn has no deltas, so the duration is unknown.
      const times = { startedAt: 0, finishedAt: 0 };
      return [{ kind: 'thought', at, ...location, form, text, ...times, end: 'done' }];
    }
    case 'media':
    case 'file':
    case 'custom':
      return [{ kind: 'note', at, block: note('dim', `[${textOfPart(part)}]`) }];
    case 'tool_call':
    case 'tool_result':
      return [];
  }
}
