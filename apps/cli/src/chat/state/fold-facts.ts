import type { AgentEvent, ItemKind } from '@millrace/core';
import { attemptsAt } from '../../agent/agent-options.ts';
import { note } from '../contract/block.ts';
import type { ChatState, EventOf } from '../contract/chat-state.ts';
import type { Entry } from '../contract/entry.ts';
import { isOfAttempt, mapEntries, release, withEntry, withNote } from './entries.ts';
import { queue } from './fold-commands.ts';
import { because, emptyEnd, endOf, errorWords, problemWords } from './outcome-text.ts';
import { isOver } from './tool-card.ts';
import { finishResponse, reportUsage, startResponse } from './usage-stats.ts';

/** What happens around the words: items, responses, turns, runs, commands. */
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
      const numbers = finishResponse(state.numbers, event);
      return release({ ...state, numbers, isAside: false }, event.itemId);
    }
    case 'usage_reported':
      return { ...state, numbers: reportUsage(state.numbers, event) };
    case 'attempt_superseded':
      return supersede(state, event);
    case 'retry_scheduled': {
      const { error, time, delayMs } = event;
      const tries = { attempt: event.attempt + 1, most: attemptsAt(error.code) };
      return {
        ...state,
        retry: { at: time + delayMs, problem: errorWords(error.message), ...tries },
      };
    }
    case 'run_started': {
      const run = { id: event.runId, startedAt: event.time };
      const fresh = { isStopping: false, retry: undefined, isEndTold: false, hasFailed: false };
      return { ...state, run, ...fresh };
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
      return queue(state, event);
    case 'command_consumed':
      return { ...state, queued: state.queued.filter(({ key }) => key !== event.key) };
    case 'compacted':
      return compact(state, event);
    case 'handed_off':
      return withNote(
        state,
        at,
        note('dim', `→ handed over to ${event.to}${because(event.reason)}`),
      );
    case 'item_redacted': {
      const text = `⌫ something that was said before was taken out${because(event.reason)}`;
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
  if (kind !== 'user' && kind !== 'notification') return known;
  const author = event.author?.name;
  const said = { kind: 'said', at: { turn, attempt }, itemId, by: kind, author } as const;
  return withEntry(known, { ...said, text: '', isDone: false });
}

function finishItem(state: ChatState, { itemId, turn }: EventOf<'item_finished'>): ChatState {
  const done = mapEntries(state, (entry) =>
    entry.kind === 'said' && entry.itemId === itemId ? { ...entry, isDone: true } : entry,
  );
  if (turn !== 0) return done;
  const items = new Map([...done.items].filter(([id]) => id !== itemId));
  return { ...done, items };
}

function startAttempt(state: ChatState, event: EventOf<'response_started'>): ChatState {
  const isAside = state.items.get(event.itemId) === 'context';
  const numbers = startResponse(state.numbers, event, isAside);
  return { ...state, numbers, isAside, retry: undefined };
}

/** A request that was too long may be made shorter: until that is known, nothing is said of it. */
function reportError(state: ChatState, event: EventOf<'error_reported'>): ChatState {
  const { error, turn, attempt } = event;
  const text = `✗ ${errorWords(error.message)}`;
  if (error.code === 'context_overflow') return { ...state, isEndTold: true, overflow: text };
  return withNote({ ...state, isEndTold: true }, { turn, attempt }, note('bad', text));
}

/** What it had said is replaced by what follows. What is in the scrollback stays there, and is said not to count. */
function supersede(state: ChatState, event: EventOf<'attempt_superseded'>): ChatState {
  const { turn, attempt, reason } = event;
  const prefix = `${turn}.${attempt}.`;
  const left = mapEntries(state, (entry) => (isOfAttempt(entry, event) ? undefined : entry));
  const isPrinted = [...state.printed].some((id) => id.startsWith(prefix));
  const more = isPrinted ? '. What it had said above does not count' : '';
  // Once is enough: that it is tried again, and how often, is seen while it waits.
  if (attempt > 1 && !isPrinted) return { ...left, approvals: [] };
  const told = note('mark', `↻ ${problemWords(reason)}${more}`);
  const approvals: ChatState['approvals'] = [];
  return withNote({ ...left, approvals }, { turn, attempt: 0 }, told);
}

/** All that is left of a turn is printed, and forgotten. */
function finishTurn(state: ChatState, event: EventOf<'turn_finished'>): ChatState {
  const { turn, stop } = event;
  const done = mapEntries(joinUnstarted(state, turn), (entry) => {
    if (entry.at.turn !== turn) return entry;
    // Of one that has not come to anything by now, nothing more comes.
    if (entry.kind === 'call') return isOver(entry.card) ? { ...entry, isLoose: false } : undefined;
    return 'end' in entry && entry.end !== 'done' ? { ...entry, end: 'done' } : entry;
  });
  const isOfTurn = (kind: ItemKind) => ['assistant', 'tool', 'context'].includes(kind);
  const items = new Map([...state.items].filter(([, kind]) => !isOfTurn(kind)));
  const none = new Set<never>();
  const left = { ...done, items, printed: none, printedCalls: none, isAside: false };
  const told = state.isEndTold ? undefined : (endOf(stop) ?? emptyEnd(state, event));
  if (told === undefined) return left;
  return withNote({ ...left, isEndTold: true }, { turn, attempt: 0 }, told);
}

function finishRun(before: ChatState, { stop }: EventOf<'run_finished'>): ChatState {
  const state = withOverflow(before);
  const hasFailed = stop.reason === 'error';
  const over = {
    ...state,
    run: undefined,
    hasFailed,
    isStopping: false,
    isAside: false,
    retry: undefined,
  };
  const told = state.isEndTold ? undefined : endOf(stop);
  const left = mapEntries(over, (entry) => ('end' in entry ? { ...entry, end: 'done' } : entry));
  return told === undefined ? left : withNote(left, { turn: 0, attempt: 0 }, told);
}

function withOverflow(state: ChatState): ChatState {
  const { overflow } = state;
  if (overflow === undefined) return state;
  return withNote(
    { ...state, overflow: undefined },
    { turn: 0, attempt: 0 },
    note('bad', overflow),
  );
}

function compact(state: ChatState, { itemIds, turn, attempt }: EventOf<'compacted'>): ChatState {
  const count = itemIds.length === 1 ? '1 item' : `${itemIds.length} items`;
  const told = note('dim', `≡ ${count} of the conversation are now sent as a summary`);
  const numbers = { ...state.numbers, contextTokens: undefined };
  return withNote({ ...state, numbers, overflow: undefined }, { turn, attempt }, told);
}

/** Of calls of a turn that were not run because all was to stop, one line for all of them is enough. */
function joinUnstarted(state: ChatState, turn: number): ChatState {
  const isUnstarted = (entry: Entry) =>
    entry.kind === 'call' && entry.at.turn === turn && entry.card.phase === 'unstarted';
  const [first, ...others] = state.entries.filter(isUnstarted);
  if (first === undefined || others.length === 0) return state;
  const told = note('mark', `✗ ${others.length + 1} calls were not run`);
  const entries = state.entries.flatMap((entry): readonly Entry[] => {
    if (entry === first) return [{ kind: 'note', at: first.at, block: told }];
    return isUnstarted(entry) ? [] : [entry];
  });
  return { ...state, entries };
}
