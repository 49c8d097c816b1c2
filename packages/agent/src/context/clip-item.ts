import {
  type FilePart,
  type Item,
  type JsonValue,
  type MediaPart,
  type Part,
  parseJson,
  type TextPart,
  type ToolCallPart,
  toolCallPart,
} from '@millrace/core';
import { isForModel } from '../calls/clipped-result.ts';

/**
 * The shortest length to which an item is clipped, in characters. The note about the clipping needs this much
 * space.
 */
export const minClippedLength = 200;

/** The number of characters that a picture counts for, independent of its size in bytes. */
const mediaLength = 4000;

/** Returns the length that an item has in a request, in characters. A picture counts as `mediaLength`. */
export function itemLength({ parts }: Item): number {
  return parts.reduce((total, part) => total + partLength(part), 0);
}

function partLength(part: Part): number {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return part.text.length;
    case 'tool_call':
      return part.name.length + part.arguments.length;
    case 'tool_result': {
      const sent = part.attachments?.filter((one) => isForModel(one, part)) ?? [];
      return part.text.length + sent.reduce((total, one) => total + partLength(one), 0);
    }
    case 'structured':
    case 'custom':
      return jsonLength(part.value);
    case 'media':
      return mediaLength;
    case 'file':
      return fileLength(part);
  }
}

function fileLength({ source }: FilePart): number {
  switch (source.type) {
    case 'bytes':
      return source.bytes.length;
    case 'blob':
      return source.length;
    case 'url':
    case 'provider_file':
      return mediaLength;
  }
}

/**
 * Shortens an item to about `maxLength` characters. Long texts, arguments and results lose their middle.
 * Notes replace attachments. Reasoning and blocks of hosted tools are removed, because a provider rejects
 * these parts if they are changed.
 */
export function clipItem(item: Item, maxLength: number): Item {
  const lengths = item.parts.map(partLength);
  if (lengths.reduce((total, length) => total + length, 0) <= maxLength) return item;
  const most = fairShare(lengths, maxLength);
  const parts = item.parts.flatMap((part, index) =>
    (lengths[index] ?? 0) <= most ? [part] : clipPart(part, most),
  );
  return { ...item, parts };
}

/**
 * Returns the largest length that each entry may keep so that all entries fit into `total`. Short entries
 * stay complete, and the long entries share the remaining space. Returns Infinity if all entries already fit.
 */
export function fairShare(lengths: readonly number[], total: number): number {
  let left = Math.max(0, total);
  const ascending = lengths.toSorted((a, b) => a - b);
  for (const [index, length] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (length > share) return share;
    left -= length;
  }
  return Number.POSITIVE_INFINITY;
}

function clipPart(part: Part, maxLength: number): readonly Part[] {
  switch (part.kind) {
    case 'text':
      return [{ kind: 'text', text: clipText(part.text, maxLength) }];
    case 'tool_call':
      return [clipCall(part, maxLength)];
    case 'tool_result': {
      const { attachments = [], value: _value, ...rest } = part;
      const sent = attachments.filter((one) => isForModel(one, part));
      const notes = sent.map((one) => attachmentNote(one)).join('\n');
      const text = [part.text, notes].filter((one) => one !== '').join('\n');
      return [{ ...rest, text: clipText(text, maxLength) }];
    }
    case 'structured':
      return [{ kind: 'text', text: clipText(JSON.stringify(part.value), maxLength) }];
    case 'media':
    case 'file':
      return [textPart(attachmentNote(part))];
    case 'reasoning':
    case 'custom':
      return [];
  }
}

function textPart(text: string): TextPart {
  return { kind: 'text', text };
}

function attachmentNote(part: MediaPart | FilePart): string {
  const name = part.kind === 'file' ? `The file ${part.name.slice(0, 100)}` : 'An attachment';
  return `[… ${name} (${part.mimeType.slice(0, 50)}) is left out to fit the model's context …]`;
}

/**
 * Removes the middle of a text and inserts a note with the number of removed characters. The result has at
 * most `maxLength` characters, if `maxLength` leaves space for the note.
 */
export function clipText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const note = (omitted: number) =>
    `\n[… ${omitted} characters are left out to fit the model's context …]\n`;
  const room = Math.max(0, maxLength - note(text.length).length);
  const start = text.slice(0, Math.ceil(room / 2));
  const end = text.slice(text.length - Math.floor(room / 2));
  return (start + note(text.length - room) + end).toWellFormed();
}

/** Clips the texts inside the arguments of a call. The arguments stay valid JSON. */
function clipCall(part: ToolCallPart, maxLength: number): ToolCallPart {
  const { toolCallId, name, providerState } = part;
  const parsed = parseJson(part.arguments);
  const kept = providerState === undefined ? {} : { providerState };
  for (
    let most = maxLength;
    parsed.ok && most >= minClippedLength / 2;
    most = Math.floor(most / 2)
  ) {
    const value = clipStrings(parsed.value, most);
    if (name.length + jsonLength(value) <= maxLength)
      return { ...toolCallPart(toolCallId, name, value), ...kept };
  }
  return { ...toolCallPart(toolCallId, name, {}), ...kept };
}

function clipStrings(value: JsonValue, maxLength: number): JsonValue {
  if (typeof value === 'string') return clipText(value, maxLength);
  if (Array.isArray(value)) return value.map((one: JsonValue) => clipStrings(one, maxLength));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, clipStrings(one, maxLength)]),
  );
}

function jsonLength(value: JsonValue): number {
  return JSON.stringify(value)?.length ?? 0;
}
