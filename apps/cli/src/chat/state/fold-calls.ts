import type { AgentEvent } from '@millrace/core';
import type { ChatState, EventOf } from '../contract/chat-state.ts';
import type { ToolCard } from '../contract/tool-card.ts';
import { callEntry, replaceEntry, withEntry } from './entries.ts';
import {
  appendArguments,
  appendTail,
  finishCard,
  isOver,
  newCard,
  rejectCard,
  startCard,
  withResult,
} from './tool-card.ts';
import { addLength, beginPart } from './usage-stats.ts';

type CallEvent = Extract<AgentEvent, { readonly id: ToolCard['id'] }>;

/** Tool calls, from the first letter of their arguments to their results. */
export function foldCalls(state: ChatState, event: AgentEvent): ChatState {
  switch (event.type) {
    case 'tool_call_started':
      return start(state, event);
    case 'tool_call_arguments_delta': {
      const numbers = addLength(state.numbers, event.time, event.delta.length);
      return change({ ...state, numbers }, event, (card) => ({
        ...card,
        draft: appendArguments(card.draft, event.delta),
      }));
    }
    case 'tool_call_ready':
      return change(state, event, (card) => ({ ...card, phase: 'ready', input: event.input }));
    case 'approval_asked':
      return ask(state, event);
    case 'approval_answered':
      return answer(state, event);
    case 'tool_execution_started':
      return execute(state, event);
    case 'tool_execution_update':
      return change(state, event, (card) => ({
        ...card,
        output: appendTail(card.output, event.text),
      }));
    case 'part_finished':
      return event.part?.kind === 'tool_result' ? fill(state, event.part) : state;
    case 'tool_execution_finished':
      return finish(state, event);
    case 'tool_call_rejected':
      return withoutApproval(reject(state, event), event);
    default:
      return state;
  }
}

function change(
  state: ChatState,
  { id }: Pick<CallEvent, 'id'>,
  make: (card: ToolCard) => ToolCard,
): ChatState {
  const entry = callEntry(state, id);
  if (entry === undefined) return state;
  return replaceEntry(state, entry, { ...entry, card: make(entry.card) });
}

/** Those that were not run because all was to stop are told together, when their turn is over. */
function reject(state: ChatState, event: EventOf<'tool_call_rejected'>): ChatState {
  // One that ran has said what became of it.
  if (state.printedCalls.has(event.id)) return state;
  const known = orNew(state, event);
  const entry = callEntry(known, event.id);
  if (entry === undefined || isOver(entry.card)) return state;
  const isLoose = entry.isLoose || event.code === 'aborted';
  return replaceEntry(known, entry, { ...entry, isLoose, card: rejectCard(entry.card, event) });
}

function start(state: ChatState, event: EventOf<'tool_call_started'>): ChatState {
  const { id, name, partId, turn, attempt, itemId, time } = event;
  // A summary has no tools, whatever its model thinks.
  if (state.items.get(itemId) === 'context') return state;
  const card = newCard(id, name, 'writing');
  const begun = { ...state, numbers: beginPart(state.numbers, time) };
  return withEntry(begun, { kind: 'call', at: { turn, attempt }, partId, card, isLoose: false });
}

/** A call that the model made before what is known here: in a turn that was settled, or before a restart. */
function orNew(state: ChatState, event: CallEvent & { readonly name: string }): ChatState {
  if (callEntry(state, event.id) !== undefined) return state;
  const { id, name, turn, attempt } = event;
  const card = newCard(id, name, 'ready');
  const place = { at: { turn, attempt }, partId: undefined };
  return withEntry(state, { kind: 'call', ...place, card, isLoose: true });
}

function ask(state: ChatState, event: EventOf<'approval_asked'>): ChatState {
  const { session, id, name, reason, rule } = event;
  const known = change(orNew(state, event), event, (card) => ({ ...card, phase: 'asking' }));
  const input = callEntry(known, id)?.card.input;
  const others = state.approvals.filter((one) => one.id !== id);
  const asked = { session, id, name, input, reason, rule, isAnswered: false };
  return { ...known, approvals: [...others, asked] };
}

function answer(state: ChatState, event: EventOf<'approval_answered'>): ChatState {
  const { input } = event;
  const changed = change(state, event, (card) => ({
    ...card,
    phase: 'ready',
    ...(input !== undefined && { input }),
  }));
  return withoutApproval({ ...changed, standing: withStanding(changed, event) }, event);
}

/** An answer for the session counts for all that is asked about by its rule. */
function withStanding(
  { approvals, standing }: ChatState,
  { id, decision, until }: EventOf<'approval_answered'>,
): ChatState['standing'] {
  const rule = approvals.find((one) => one.id === id)?.rule;
  const lasts = decision === 'allow' && until === 'session' && rule !== undefined;
  return lasts ? [...standing.filter((one) => one !== rule), rule] : standing;
}

function withoutApproval(state: ChatState, { id }: Pick<CallEvent, 'id'>): ChatState {
  if (!state.approvals.some((one) => one.id === id)) return state;
  return { ...state, approvals: state.approvals.filter((one) => one.id !== id) };
}

function execute(state: ChatState, event: EventOf<'tool_execution_started'>): ChatState {
  return change(orNew(state, event), event, (card) => startCard(card, event));
}

/** What does not count is not shown as a result; its card goes with its attempt. */
function finish(state: ChatState, event: EventOf<'tool_execution_finished'>): ChatState {
  if (event.outcome !== 'discarded')
    return change(state, event, (card) => finishCard(card, event, state.isStopping));
  const entry = callEntry(state, event.id);
  return entry === undefined
    ? state
    : { ...state, entries: state.entries.filter((one) => one !== entry) };
}

function fill(state: ChatState, part: Parameters<typeof withResult>[1]): ChatState {
  const card = callEntry(state, part.toolCallId)?.card;
  if (card === undefined || card.phase === 'rejected' || card.phase === 'unstarted') return state;
  return change(state, { id: part.toolCallId }, (one) => withResult(one, part));
}
