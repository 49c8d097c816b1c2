import type { AgentEvent } from '@millrace/core';
import type { ChatState, EventOf } from '../contract/chat-state.ts';
import type { PendingApproval } from '../contract/dialog.ts';
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

type CallEvent = Extract<AgentEvent, { readonly toolCallId: ToolCard['id'] }>;

/** Folds the events of tool calls, from the first streamed argument to the result. */
export function foldCalls(state: ChatState, event: AgentEvent): ChatState {
  switch (event.type) {
    case 'tool_call_started':
      return startCall(state, event);
    case 'tool_call_arguments_delta': {
      const stats = addLength(state.stats, event.time, event.delta.length);
      return changeCard({ ...state, stats }, event, (card) => ({
        ...card,
        draft: appendArguments(card.draft, event.delta),
      }));
    }
    case 'tool_call_ready':
      return changeCard(state, event, (card) => ({ ...card, phase: 'ready', input: event.input }));
    case 'approval_asked':
      return askApproval(state, event);
    case 'approval_answered':
      return answerApproval(state, event);
    case 'tool_execution_started':
      return startExecution(state, event);
    case 'tool_execution_update':
      return changeCard(state, event, (card) => ({
        ...card,
        output: appendTail(card.output, event.text),
      }));
    case 'part_finished':
      return event.part?.kind === 'tool_result' ? addResult(state, event.part) : state;
    case 'tool_execution_finished':
      return finishExecution(state, event);
    case 'tool_call_rejected':
      return withoutApproval(rejectCall(state, event), event);
    default:
      return state;
  }
}

function changeCard(
  state: ChatState,
  { toolCallId }: Pick<CallEvent, 'toolCallId'>,
  make: (card: ToolCard) => ToolCard,
): ChatState {
  const entry = callEntry(state, toolCallId);
  if (entry === undefined) return state;
  return replaceEntry(state, entry, { ...entry, card: make(entry.card) });
}

/**
 * Marks a call as rejected. Calls that did not start because of a stop get one common note at the
 * end of their turn.
 */
function rejectCall(state: ChatState, event: EventOf<'tool_call_rejected'>): ChatState {
  // The call has run and is already printed, so it stays as it is.
  if (state.printedCalls.has(event.toolCallId)) return state;
  const known = ensureCall(state, event);
  const entry = callEntry(known, event.toolCallId);
  if (entry === undefined || isOver(entry.card)) return state;
  const isUnplaced = entry.isUnplaced || event.code === 'aborted';
  return replaceEntry(known, entry, {
    ...entry,
    isUnplaced: isUnplaced,
    card: rejectCard(entry.card, event),
  });
}

function startCall(state: ChatState, event: EventOf<'tool_call_started'>): ChatState {
  const { toolCallId: id, name, partId, turn, attempt, itemId, time } = event;
  // A summary has no tools, so a call in it is ignored.
  if (state.items.get(itemId) === 'context') return state;
  const card = newCard(id, name, 'writing');
  const begun = { ...state, stats: beginPart(state.stats, time) };
  return withEntry(begun, { kind: 'call', at: { turn, attempt }, partId, card, isUnplaced: false });
}

/**
 * Adds an entry for a call if the events so far do not contain it. The call was made in a settled
 * turn or before a restart.
 */
function ensureCall(state: ChatState, event: CallEvent & { readonly name: string }): ChatState {
  if (callEntry(state, event.toolCallId) !== undefined) return state;
  const { toolCallId: id, name, turn, attempt } = event;
  const card = newCard(id, name, 'ready');
  const place = { at: { turn, attempt }, partId: undefined };
  return withEntry(state, { kind: 'call', ...place, card, isUnplaced: true });
}

function askApproval(state: ChatState, event: EventOf<'approval_asked'>): ChatState {
  const { session, toolCallId: id, name, reason, rule, judged } = event;
  const others = state.approvals.filter((one) => one.id !== id);
  if (event.from !== undefined) {
    const { agents, toolCallId: of, input, itemId, form } = event.from;
    const asker = { session, id, name, input, reason, judged, agents, of, isAnswered: false };
    const about = form === undefined ? asker : { ...asker, form };
    const question = itemId === undefined ? about : { ...about, isGuardrail: true as const };
    const own = rule && withoutAgents(rule, agents);
    return { ...state, approvals: [...others, { ...question, rule: own }] };
  }
  const known = changeCard(ensureCall(state, event), event, (card) => ({
    ...card,
    phase: 'asking',
  }));
  const input = callEntry(known, id)?.card.input;
  const approval = { session, id, name, input, reason, rule, judged, isAnswered: false };
  return { ...known, approvals: [...others, approval] };
}

/**
 * Removes the names of agents from a rule. Each calling agent added the name of its sub-agent as a
 * prefix.
 */
function withoutAgents(rule: string, agents: readonly string[]): string {
  return agents.reduce((text, agent) => {
    const prefix = `${agent}: `;
    return text.startsWith(prefix) ? text.slice(prefix.length) : text;
  }, rule);
}

function answerApproval(state: ChatState, event: EventOf<'approval_answered'>): ChatState {
  const { input } = event;
  const changed = changeCard(state, event, (card) => ({
    ...card,
    phase: 'ready',
    ...(input !== undefined && { input }),
  }));
  return withoutApproval({ ...changed, sessionRules: withSessionRule(changed, event) }, event);
}

/**
 * Returns the rules of the session. If the answer is for the session, the rules include the rule of
 * the approval.
 */
function withSessionRule(
  { approvals, sessionRules }: ChatState,
  { toolCallId: id, decision, until }: EventOf<'approval_answered'>,
): ChatState['sessionRules'] {
  const rule = approvals.find((one) => one.id === id)?.rule;
  const lasts = decision === 'allow' && until === 'session' && rule !== undefined;
  return lasts ? [...sessionRules.filter((one) => one !== rule), rule] : sessionRules;
}

function withoutApproval(
  state: ChatState,
  { toolCallId: id }: Pick<CallEvent, 'toolCallId'>,
): ChatState {
  const isOver = (one: PendingApproval) => one.id === id || one.of === id;
  if (!state.approvals.some(isOver)) return state;
  return { ...state, approvals: state.approvals.filter((one) => !isOver(one)) };
}

function startExecution(state: ChatState, event: EventOf<'tool_execution_started'>): ChatState {
  return changeCard(ensureCall(state, event), event, (card) => startCard(card, event));
}

/** Marks a call as finished. If the execution was discarded, the card is removed. */
function finishExecution(before: ChatState, event: EventOf<'tool_execution_finished'>): ChatState {
  // If a call was parked, or its process died, the open approvals of its sub-agent stay.
  const isOpen = event.outcome === 'parked' || event.outcome === 'lost';
  const state = isOpen ? before : withoutApproval(before, event);
  if (event.outcome !== 'discarded')
    return changeCard(state, event, (card) => finishCard(card, event, state.isStopping));
  const entry = callEntry(state, event.toolCallId);
  return entry === undefined
    ? state
    : { ...state, entries: state.entries.filter((one) => one !== entry) };
}

function addResult(state: ChatState, part: Parameters<typeof withResult>[1]): ChatState {
  const card = callEntry(state, part.toolCallId)?.card;
  if (card === undefined || card.phase === 'rejected' || card.phase === 'unstarted') return state;
  return changeCard(state, part, (one) => withResult(one, part));
}
