import {
  type AgentEvent,
  attemptOf,
  type ItemId,
  type Part,
  type PartId,
  type ToolCallPart,
} from '@millrace/core';
import { MarkdownStream } from '../../text/markdown/markdown-stream.ts';
import { note } from '../contract/block.ts';
import type { ChatState, EventOf } from '../contract/chat-state.ts';
import type { Entry } from '../contract/entry.ts';
import type { ToolCard } from '../contract/tool-card.ts';
import { shownText } from './fold-content.ts';
import { newCard, withResult } from './tool-card.ts';

/** A turn whose deltas were settled comes in one piece, after all that was told about its calls. */
export function foldSettled(state: ChatState, event: AgentEvent): ChatState {
  if (event.type !== 'turn_settled') return state;
  const others = state.entries.filter(({ at }) => at.turn !== event.turn);
  const cards = state.entries.flatMap((entry) => (entry.kind === 'call' ? [entry.card] : []));
  const items = event.items.filter(({ itemId }) => state.items.get(itemId) !== 'context');
  const entries = items.flatMap(({ itemId, parts }) =>
    parts.flatMap(({ partId, part }): readonly Entry[] => {
      if (part.kind !== 'tool_call') return entryOf({ partId, itemId }, part);
      const card = settledCard(part, cards, event);
      return [{ kind: 'call', at: attemptOf(partId), partId, card, isLoose: false }];
    }),
  );
  return { ...state, entries: [...others, ...entries] };
}

/** As much as was told of it before, with its input and its result. */
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

interface PartPlace {
  readonly partId: PartId;
  readonly itemId: ItemId;
}

function entryOf(place: PartPlace, part: Part): readonly Entry[] {
  const at = attemptOf(place.partId);
  switch (part.kind) {
    case 'text':
    case 'structured': {
      const stream = new MarkdownStream();
      const text = shownText(part);
      stream.push(text);
      const ready = stream.take();
      return [{ kind: 'text', at, ...place, stream, text, ready, end: 'done' }];
    }
    case 'reasoning': {
      const { form, text } = part;
      // How long it took went with the deltas.
      const times = { startedAt: 0, finishedAt: 0 };
      return [{ kind: 'thought', at, ...place, form, text, ...times, end: 'done' }];
    }
    case 'media':
    case 'file':
    case 'custom':
      return [{ kind: 'note', at, block: note('dim', `[${shownText(part)}]`) }];
    case 'tool_call':
    case 'tool_result':
      return [];
  }
}
