import type { AgentEvent, Attempt, Part } from '@millrace/core';
import { MarkdownStream } from '../../text/markdown/markdown-stream.ts';
import { note } from '../contract/block.ts';
import type { ChatState, EventOf } from '../contract/chat-state.ts';
import type { End, Entry, SaidEntry, TextEntry, ThoughtEntry } from '../contract/entry.ts';
import { mapEntries, partEntry, replaceEntry, withEntry, withNote } from './entries.ts';
import { addLength, beginPart } from './usage-stats.ts';

/** What is said: by people, by the model, and what it thinks. */
export function foldContent(state: ChatState, event: AgentEvent): ChatState {
  switch (event.type) {
    case 'part_started':
      return startPart(state, event);
    case 'assistant_text_delta':
    case 'reasoning_delta':
      return grow(
        { ...state, numbers: addLength(state.numbers, event.time, event.text.length) },
        event,
      );
    case 'text_delta':
      return say(state, event.itemId, event.text);
    case 'part_finished':
      return finishPart(state, event);
    case 'part_retracted':
      return retract(state, event);
    default:
      return state;
  }
}

function startPart(state: ChatState, event: EventOf<'part_started'>): ChatState {
  if (state.items.get(event.itemId) !== 'assistant') return state;
  const begun = { ...state, numbers: beginPart(state.numbers, event.time) };
  if (event.kind === 'text') return withEntry(begun, newText(event));
  if (event.kind !== 'reasoning') return begun;
  return withEntry(begun, newThought(event, event.form));
}

interface PartPlace extends Attempt {
  readonly partId: TextEntry['partId'];
  readonly itemId: TextEntry['itemId'];
  readonly time: number;
}

function newText({ partId, itemId, turn, attempt }: PartPlace): TextEntry {
  const place = { partId, itemId, at: { turn, attempt } };
  return { kind: 'text', ...place, stream: new MarkdownStream(), text: '', ready: [], end: 'open' };
}

function newThought(event: PartPlace, form: ThoughtEntry['form']): ThoughtEntry {
  const { partId, itemId, turn, attempt, time: startedAt } = event;
  const place = { partId, itemId, at: { turn, attempt } };
  return {
    kind: 'thought',
    ...place,
    form,
    text: '',
    startedAt,
    finishedAt: undefined,
    end: 'open',
  };
}

function grow(
  state: ChatState,
  event: EventOf<'assistant_text_delta' | 'reasoning_delta'>,
): ChatState {
  const entry = partEntry(state, event.partId);
  if (entry?.kind === 'text') return replaceEntry(state, entry, said(entry, event.text));
  if (entry?.kind !== 'thought') return state;
  return replaceEntry(state, entry, { ...entry, text: entry.text + event.text });
}

function said(entry: TextEntry, more: string): TextEntry {
  entry.stream.push(more);
  const finished = entry.stream.take();
  const ready = finished.length === 0 ? entry.ready : [...entry.ready, ...finished];
  return { ...entry, text: entry.text + more, ready };
}

/** Of an item that streams and is not the model's. */
function say(state: ChatState, itemId: SaidEntry['itemId'], text: string): ChatState {
  const entry = state.entries.find((one) => one.kind === 'said' && one.itemId === itemId);
  if (entry?.kind !== 'said') return state;
  return replaceEntry(state, entry, { ...entry, text: entry.text + text });
}

function finishPart(state: ChatState, event: EventOf<'part_finished'>): ChatState {
  const { itemId, part } = event;
  const kind = state.items.get(itemId);
  if (kind === 'user' || kind === 'notification') return say(state, itemId, shownText(part));
  if (kind !== 'assistant') return state;
  const entry = partEntry(state, event.partId);
  if (entry === undefined) return part === undefined ? state : comeWhole(state, event, part);
  return part === undefined ? close(state, entry, event) : replaced(state, entry, event, part);
}

/** What was cut off waits until it is known whether it counts. */
function close(state: ChatState, entry: Entry, event: EventOf<'part_finished'>): ChatState {
  const end: End = event.partial ? 'held' : 'done';
  if (entry.kind === 'text') return replaceEntry(state, entry, { ...entry, end });
  if (entry.kind !== 'thought') return state;
  return replaceEntry(state, entry, { ...entry, end, finishedAt: event.time });
}

/** A part that did not stream. */
function comeWhole(state: ChatState, event: EventOf<'part_finished'>, part: Part): ChatState {
  const at = { turn: event.turn, attempt: event.attempt };
  switch (part.kind) {
    case 'text':
    case 'structured': {
      const entry = said(newText(event), shownText(part));
      return close(withEntry(state, entry), entry, event);
    }
    case 'reasoning': {
      const entry = { ...newThought(event, part.form), text: part.text };
      return close(withEntry(state, entry), entry, event);
    }
    case 'media':
    case 'file':
    case 'custom':
      return withNote(state, at, note('dim', `[${shownText(part)}]`));
    case 'tool_call':
    case 'tool_result':
      return state;
  }
}

/** What streamed is not what it was meant to be. Of what was printed it is said that it does not count. */
function replaced(
  state: ChatState,
  entry: Entry,
  event: EventOf<'part_finished'>,
  part: Part,
): ChatState {
  // JSON that streamed as text is the same thing as a value.
  const isSame = part.kind === 'structured' || ('text' in entry && entry.text === shownText(part));
  if (isSame || entry.kind === 'call') return close(state, entry, event);
  return comeWhole(takeBack(state, entry, 'replaced by what follows'), event, part);
}

function retract(state: ChatState, event: EventOf<'part_retracted'>): ChatState {
  const entry = partEntry(state, event.partId);
  if (entry !== undefined) return takeBack(state, entry, event.reason);
  if (event.id !== undefined || !state.printed.has(event.partId)) return state;
  const at = { turn: event.turn, attempt: event.attempt };
  return withNote(state, at, note('mark', `⌫ taken back: ${event.reason}`));
}

function takeBack(state: ChatState, entry: Entry, reason: string): ChatState {
  const left = mapEntries(state, (one) => (one === entry ? undefined : one));
  const isPrinted =
    'partId' in entry && entry.partId !== undefined && state.printed.has(entry.partId);
  return isPrinted ? withNote(left, entry.at, note('mark', `⌫ taken back: ${reason}`)) : left;
}

/** In words, where there are some. */
export function shownText(part: Part | undefined): string {
  switch (part?.kind) {
    case undefined:
      return '';
    case 'text':
    case 'reasoning':
    case 'tool_result':
      return part.text;
    case 'structured':
      return `\`\`\`json\n${JSON.stringify(part.value, null, 2)}\n\`\`\`\n`;
    case 'media':
      return part.mimeType;
    case 'file':
    case 'custom':
    case 'tool_call':
      return part.name;
  }
}
