import type { AgentEvent, ItemKind } from '@millrace/core';
import { endedCommand } from '@millrace/tools';
import { maxAttemptsFor } from '../../agent/agent-options.ts';
import { note } from '../contract/block.ts';
import type { ChatState, EventOf } from '../contract/chat-state.ts';
import type { Entry } from '../contract/entry.ts';
import { isOfAttempt, mapEntries, release, withEntry, withNote } from './entries.ts';
import { foldQueuedCommand } from './fold-commands.ts';
import {
  emptyAnswerNote,
  errorText,
  noSummaryNote,
  problemText,
  reasonSuffix,
  stopNote,
} from './outcome-text.ts';
import { isOver } from './tool-card.ts';
import { finishResponse, reportChildUsage, reportUsage, startResponse } from './usage-stats.ts';

/** Folds the facts around the content: items, responses, turns, runs and commands. */
export function foldFacts(state: ChatState, event: AgentEvent): ChatState {
  const at = { turn: event.turn, attempt: event.attempt };
  switch (event.type) {
    case 'item_started':
      return startItem(state, event);
    case 'item_finished':
      return finishItem(release(state, event.itemId), event);
    case 'response_started':
      return startAttempt(state, event);
    case 'response_finished': {
      const stats = finishResponse(state.stats, event);
      return release({ ...state, stats, isSummarising: false }, event.itemId);
    }
    case 'usage_reported':
      return { ...state, stats: reportUsage(state.stats, event) };
    case 'child_usage_reported':
      return { ...state, stats: reportChildUsage(state.stats, event) };
    case 'attempt_superseded':
      return supersedeAttempt(state, event);
    case 'retry_scheduled': {
      const { error, time, delayMs } = event;
      const tries = { attempt: event.attempt + 1, maxAttempts: maxAttemptsFor(error.code) };
      return {
        ...state,
        retry: { at: time + delayMs, problem: errorText(error.message), ...tries },
      };
    }
    case 'run_started': {
      const run = { id: event.runId, startedAt: event.time };
      const fresh = {
        isStopping: false,
        retry: undefined,
        isStopReported: false,
        hasFailed: false,
      };
      // An open call can hold back the note that the session waits for its approval.
      const left = mapEntries(state, (entry) =>
        entry.kind === 'note' && entry.endsWithWait === true ? undefined : entry,
      );
      return { ...left, run, ...fresh };
    }
    case 'run_finished':
      return finishRun(state, event);
    case 'turn_finished':
      return finishTurn(state, event);
    case 'aborted':
      return { ...state, isStopping: true, retry: undefined };
    case 'error_reported':
      return reportError(state, event);
    case 'command_queued':
      return foldQueuedCommand(state, event);
    case 'command_consumed':
      return { ...state, queued: state.queued.filter(({ key }) => key !== event.key) };
    case 'compacted':
      return reportCompaction(state, event);
    case 'handed_off':
      return withNote(
        state,
        at,
        note('dim', `→ handed over to ${event.to}${reasonSuffix(event.reason)}`),
      );
    case 'item_redacted': {
      const text = `⌫ an earlier message was redacted${reasonSuffix(event.reason)}`;
      return withNote(state, at, note('mark', text));
    }
    default:
      return state;
  }
}

function startItem(state: ChatState, event: EventOf<'item_started'>): ChatState {
  const { itemId, kind, turn, attempt } = event;
  const items = new Map(state.items).set(itemId, kind);
  const known = { ...state, items };
  const ended = kind === 'developer' ? endedCommand(event.metadata) : undefined;
  if (ended !== undefined) {
    const text = `■ background command ${ended.id} ${ended.end}: ${ended.command}`;
    return withNote(known, { turn, attempt }, note('mark', text));
  }
  if (kind !== 'user' && kind !== 'notification') return known;
  const author = event.author?.name;
  const message = { kind: 'message', at: { turn, attempt }, itemId, from: kind, author } as const;
  return withEntry(known, { ...message, text: '', isDone: false });
}

function finishItem(state: ChatState, { itemId, turn }: EventOf<'item_finished'>): ChatState {
  const done = mapEntries(state, (entry) =>
    entry.kind === 'message' && entry.itemId === itemId ? { ...entry, isDone: true } : entry,
  );
  if (turn !== 0) return done;
  const items = new Map([...done.items].filter(([id]) => id !== itemId));
  return { ...done, items };
}

function startAttempt(state: ChatState, event: EventOf<'response_started'>): ChatState {
  const isSummarising = state.items.get(event.itemId) === 'context';
  const stats = startResponse(state.stats, event, isSummarising);
  return { ...state, stats, isSummarising, hasSummary: false, retry: undefined };
}

/**
 * Reports an error. If the context was too long, the error is reported only when the run ends,
 * because compaction may solve the problem before that.
 */
function reportError(state: ChatState, event: EventOf<'error_reported'>): ChatState {
  const { error, turn, attempt } = event;
  const text = `✗ ${errorText(error.message)}`;
  if (error.code === 'context_overflow')
    return { ...state, isStopReported: true, overflowError: text };
  return withNote({ ...state, isStopReported: true }, { turn, attempt }, note('bad', text));
}

/**
 * Removes the content of a superseded attempt. Content that is already printed stays in the
 * scrollback, and a note explains that it is no longer part of the answer.
 */
function supersedeAttempt(state: ChatState, event: EventOf<'attempt_superseded'>): ChatState {
  const { turn, attempt, reason } = event;
  const prefix = `${turn}.${attempt}.`;
  const left = mapEntries(state, (entry) => (isOfAttempt(entry, event) ? undefined : entry));
  const isPrinted = [...state.printed].some((id) => id.startsWith(prefix));
  const more = isPrinted ? '. The text above does not count' : '';
  // Only the first retry gets a note. The activity line shows the later ones.
  if (attempt > 1 && !isPrinted) return { ...left, approvals: [] };
  const hasContent = isPrinted || left.entries.length < state.entries.length;
  const noteBlock = note('mark', `↻ ${problemText(reason, hasContent)}${more}`);
  const approvals: ChatState['approvals'] = [];
  return withNote({ ...left, approvals }, { turn, attempt: 0 }, noteBlock);
}

/**
 * Marks all entries of a turn as done, so that they are printed. Also drops the state of the turn.
 */
function finishTurn(state: ChatState, event: EventOf<'turn_finished'>): ChatState {
  const { turn, stop } = event;
  const done = mapEntries(joinUnstartedCalls(state, turn), (entry) => {
    if (entry.at.turn !== turn) return entry;
    // A call that is still unfinished when its turn ends gets no more events. So its entry is
    // removed.
    if (entry.kind === 'call')
      return isOver(entry.card) ? { ...entry, isUnplaced: false } : undefined;
    return 'end' in entry && entry.end !== 'done' ? { ...entry, end: 'done' } : entry;
  });
  const belongsToTurn = (kind: ItemKind) => ['assistant', 'tool', 'context'].includes(kind);
  const items = new Map([...state.items].filter(([, kind]) => !belongsToTurn(kind)));
  const none = new Set<never>();
  const left = { ...done, items, printed: none, printedCalls: none, isSummarising: false };
  const noteBlock = state.isStopReported
    ? undefined
    : (stopNote(stop) ?? emptyAnswerNote(state, event));
  if (noteBlock === undefined) return left;
  return withNote({ ...left, isStopReported: true }, { turn, attempt: 0 }, noteBlock);
}

function finishRun(before: ChatState, { stop }: EventOf<'run_finished'>): ChatState {
  const state = withOverflowNote(before);
  const hasFailed = stop.reason === 'error';
  const over = {
    ...state,
    run: undefined,
    hasFailed,
    isStopping: false,
    isSummarising: false,
    awaitsSummary: false,
    retry: undefined,
    isHeld: stop.reason !== 'stop',
  };
  const noteBlock = state.isStopReported ? undefined : (stopNote(stop) ?? noSummaryNote(state));
  const left = mapEntries(over, (entry) => ('end' in entry ? { ...entry, end: 'done' } : entry));
  if (noteBlock === undefined) return left;
  const endsWithWait = stop.reason === 'parked';
  const at = { turn: 0, attempt: 0 };
  return withEntry(left, { kind: 'note', at, block: noteBlock, endsWithWait });
}

function withOverflowNote(state: ChatState): ChatState {
  const { overflowError } = state;
  if (overflowError === undefined) return state;
  return withNote(
    { ...state, overflowError: undefined },
    { turn: 0, attempt: 0 },
    note('bad', overflowError),
  );
}

function reportCompaction(
  state: ChatState,
  { itemIds, clipped = [], turn, attempt }: EventOf<'compacted'>,
): ChatState {
  const count = itemIds.length === 1 ? '1 item' : `${itemIds.length} items`;
  const summarized = `≡ ${count} of the conversation are now sent as a summary`;
  const shortened = '≡ long messages are now sent shortened, to fit the context of the model';
  const noteBlock = note(
    'dim',
    itemIds.length === 0 && clipped.length > 0 ? shortened : summarized,
  );
  const stats = { ...state.stats, contextTokens: undefined };
  const compacted = {
    ...state,
    stats,
    overflowError: undefined,
    isCompacted: true,
    awaitsSummary: false,
  };
  return withNote(compacted, { turn, attempt }, noteBlock);
}

/** A stop can prevent several calls of a turn. This function replaces their entries by one note. */
function joinUnstartedCalls(state: ChatState, turn: number): ChatState {
  const isUnstarted = (entry: Entry) =>
    entry.kind === 'call' && entry.at.turn === turn && entry.card.phase === 'unstarted';
  const [first, ...others] = state.entries.filter(isUnstarted);
  if (first === undefined || others.length === 0) return state;
  const noteBlock = note('mark', `✗ ${others.length + 1} calls were not run`);
  const entries = state.entries.flatMap((entry): readonly Entry[] => {
    if (entry === first) return [{ kind: 'note', at: first.at, block: noteBlock }];
    return isUnstarted(entry) ? [] : [entry];
  });
  return { ...state, entries };
}
