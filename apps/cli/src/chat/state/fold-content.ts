import type { AgentEvent, Attempt, Part } from '@millrace/core';
import { MarkdownStream } from '@millrace/markdown';
import { isModeNote, planNote } from '../../agent/session-mode.ts';
import { promptOfPart, startOfPrompt, startOfText } from '../../extensions/slash-prompts.ts';
import { attachmentOfPart } from '../../input/attachments/attached-resource.ts';
import { note } from '../contract/block.ts';
import type { ChatState, EventOf } from '../contract/chat-state.ts';
import type { Entry, EntryEnd, MessageEntry, TextEntry, ThoughtEntry } from '../contract/entry.ts';
import { commandOfPart } from '../session/user-commands.ts';
import { mapEntries, partEntry, replaceEntry, withEntry, withNote } from './entries.ts';
import { addLength, beginPart } from './usage-stats.ts';

/** Folds the content of messages, answers and reasoning. */
export function foldContent(state: ChatState, event: AgentEvent): ChatState {
  switch (event.type) {
    case 'part_started':
      return startPart(state, event);
    case 'assistant_text_delta':
    case 'reasoning_delta':
      return appendDelta(
        { ...state, stats: addLength(state.stats, event.time, event.text.length) },
        event,
      );
    case 'text_delta':
      if (state.items.get(event.itemId) === 'context') return withSummary(state, event.text);
      return appendMessage(state, event.itemId, event.text);
    case 'part_finished':
      return finishPart(state, event);
    case 'part_retracted':
      return retractPart(state, event);
    default:
      return state;
  }
}

function startPart(state: ChatState, event: EventOf<'part_started'>): ChatState {
  if (state.items.get(event.itemId) !== 'assistant') return state;
  const begun = { ...state, stats: beginPart(state.stats, event.time) };
  if (event.kind === 'text') return withEntry(begun, newText(event));
  if (event.kind !== 'reasoning') return begun;
  return withEntry(begun, newThought(event, event.form));
}

interface PartLocation extends Attempt {
  readonly partId: TextEntry['partId'];
  readonly itemId: TextEntry['itemId'];
  readonly time: number;
}

function newText({ partId, itemId, turn, attempt }: PartLocation): TextEntry {
  const location = { partId, itemId, at: { turn, attempt } };
  return {
    kind: 'text',
    ...location,
    stream: new MarkdownStream(),
    text: '',
    ready: [],
    end: 'open',
  };
}

function newThought(event: PartLocation, form: ThoughtEntry['form']): ThoughtEntry {
  const { partId, itemId, turn, attempt, time: startedAt } = event;
  const location = { partId, itemId, at: { turn, attempt } };
  return {
    kind: 'thought',
    ...location,
    form,
    text: '',
    startedAt,
    finishedAt: undefined,
    end: 'open',
  };
}

function appendDelta(
  state: ChatState,
  event: EventOf<'assistant_text_delta' | 'reasoning_delta'>,
): ChatState {
  const entry = partEntry(state, event.partId);
  if (entry?.kind === 'text') return replaceEntry(state, entry, appendText(entry, event.text));
  if (entry?.kind !== 'thought') return state;
  return replaceEntry(state, entry, { ...entry, text: entry.text + event.text });
}

function appendText(entry: TextEntry, more: string): TextEntry {
  entry.stream.push(more);
  const finished = entry.stream.take();
  const ready = finished.length === 0 ? entry.ready : [...entry.ready, ...finished];
  return { ...entry, text: entry.text + more, ready };
}

/** Stores that a summary has text. The text itself is not shown. */
export function withSummary(state: ChatState, text: string): ChatState {
  return text === '' || state.hasSummary ? state : { ...state, hasSummary: true };
}

/** Appends text to a streaming item that does not come from the model. */
function appendMessage(state: ChatState, itemId: MessageEntry['itemId'], text: string): ChatState {
  const entry = state.entries.find((one) => one.kind === 'message' && one.itemId === itemId);
  if (entry?.kind !== 'message') return state;
  return replaceEntry(state, entry, { ...entry, text: entry.text + text });
}

function finishPart(state: ChatState, event: EventOf<'part_finished'>): ChatState {
  const { itemId, part } = event;
  const kind = state.items.get(itemId);
  if (kind === 'user' && part?.kind === 'text' && isModeNote(part.text))
    return { ...state, isPlanning: part.text === planNote };
  if (kind === 'user' || kind === 'notification')
    return appendMessage(state, itemId, textOfMessagePart(part));
  if (kind === 'context' && part !== undefined) return withSummary(state, textOfPart(part));
  if (kind !== 'assistant') return state;
  const entry = partEntry(state, event.partId);
  if (entry === undefined) return part === undefined ? state : addWholePart(state, event, part);
  return part === undefined
    ? closePart(state, entry, event)
    : replacePart(state, entry, event, part);
}

/** Closes a part. An incomplete part is `held`. A later event decides whether it is printed. */
function closePart(state: ChatState, entry: Entry, event: EventOf<'part_finished'>): ChatState {
  const end: EntryEnd = event.partial ? 'held' : 'done';
  if (entry.kind === 'text') return replaceEntry(state, entry, { ...entry, end });
  if (entry.kind !== 'thought') return state;
  return replaceEntry(state, entry, { ...entry, end, finishedAt: event.time });
}

/** Adds a part that arrived complete, without streaming. */
function addWholePart(state: ChatState, event: EventOf<'part_finished'>, part: Part): ChatState {
  const at = { turn: event.turn, attempt: event.attempt };
  switch (part.kind) {
    case 'text':
    case 'structured': {
      const entry = appendText(newText(event), textOfPart(part));
      return closePart(withEntry(state, entry), entry, event);
    }
    case 'reasoning': {
      const entry = { ...newThought(event, part.form), text: part.text };
      return closePart(withEntry(state, entry), entry, event);
    }
    case 'media':
    case 'file':
    case 'custom':
      return withNote(state, at, note('dim', `[${textOfPart(part)}]`));
    case 'tool_call':
    case 'tool_result':
      return state;
  }
}

/**
 * Replaces streamed content with a different part. If the content is already printed, a note
 * reports that it is retracted.
 */
function replacePart(
  state: ChatState,
  entry: Entry,
  event: EventOf<'part_finished'>,
  part: Part,
): ChatState {
  // A structured part contains the JSON that was streamed as text. So the content did not change.
  const isSame = part.kind === 'structured' || ('text' in entry && entry.text === textOfPart(part));
  if (isSame || entry.kind === 'call') return closePart(state, entry, event);
  return addWholePart(retractEntry(state, entry, 'replaced by the text below'), event, part);
}

function retractPart(state: ChatState, event: EventOf<'part_retracted'>): ChatState {
  const entry = partEntry(state, event.partId);
  if (entry !== undefined) return retractEntry(state, entry, event.reason);
  if (event.toolCallId !== undefined || !state.printed.has(event.partId)) return state;
  const at = { turn: event.turn, attempt: event.attempt };
  return withNote(state, at, note('mark', `⌫ retracted: ${event.reason}`));
}

function retractEntry(state: ChatState, entry: Entry, reason: string): ChatState {
  const left = mapEntries(state, (one) => (one === entry ? undefined : one));
  const isPrinted =
    'partId' in entry && entry.partId !== undefined && state.printed.has(entry.partId);
  return isPrinted ? withNote(left, entry.at, note('mark', `⌫ retracted: ${reason}`)) : left;
}

/**
 * Returns the text of a message part. For pictures it returns a name, and for attached texts a name and
 * the first lines.
 */
function textOfMessagePart(part: Part | undefined): string {
  if (part?.kind === 'media') return `\n[picture: ${part.mimeType}]`;
  const prompt = part?.kind === 'text' ? promptOfPart(part.text) : undefined;
  if (prompt !== undefined) return `\n[text of ${prompt}]\n${startOfPrompt(textOfPart(part))}`;
  const attached = part?.kind === 'text' ? attachmentOfPart(part.text) : undefined;
  // In a session of another person, the text need not be the content of the file or the output of the command.
  if (attached !== undefined) return `\n[attached: ${attached.uri}]\n${startOfText(attached.text)}`;
  const text = textOfPart(part);
  const command = part?.kind === 'text' ? commandOfPart(text) : undefined;
  return command === undefined ? text : `\n[output of !${command}]\n${startOfOutput(text)}`;
}

/** Returns the start of the output of a command that the user ran. The command is in the first two lines. */
function startOfOutput(text: string): string {
  return startOfText(
    text
      .split('\n')
      .slice(2)
      .join('\n')
      .replace(/<\/user_command>\s*$/, ''),
  );
}

/** Returns the text of a part. For a part without text, it returns a name. */
export function textOfPart(part: Part | undefined): string {
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
