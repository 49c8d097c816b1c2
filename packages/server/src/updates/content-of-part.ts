import {
  type FilePart,
  type JsonObject,
  type JsonValue,
  type MediaPart,
  type Part,
  parseJson,
  type ReasoningPart,
  type Source,
  type ToolCallPart,
  type ToolResultPart,
  toBase64,
} from '@millrace/core';
import type { Content, ContentOf } from '../contract/content.ts';
import { styleOf, textHeadOf } from './content-head.ts';

export type ContentAuthor = Content['author'];

export const jsonType = 'application/json';

/** What a part is to those who know messages only. */
export function contentOfPart(part: Part, author: ContentAuthor): Content {
  const head = { author, style: styleOf(part.metadata) };
  switch (part.kind) {
    case 'text': {
      const value = part.mimeType === jsonType ? objectIn(part.text) : undefined;
      if (value !== undefined) return { type: 'data', ...head, data: value };
      return { type: 'text', ...head, content: part.text, ...textHeadOf(part.metadata) };
    }
    case 'reasoning':
      return reasoningOf([part], author);
    case 'tool_call':
      return {
        ...{ type: 'tool_request', ...head, tool_call_id: part.toolCallId, name: part.name },
        arguments: argumentsOf(part),
      };
    case 'tool_result':
      return {
        ...{ type: 'tool_response', ...head, tool_call_id: part.toolCallId, name: part.name },
        content: resultOf(part),
        is_error: part.isError ? true : null,
      };
    case 'structured':
      return { type: 'data', ...head, data: asObject(part.value) };
    case 'custom':
      return { type: 'data', ...head, data: { name: part.name, value: part.value } };
    case 'media':
    case 'file':
      return { type: 'data', ...head, data: shownFile(part) };
  }
}

/** The parts of one block: an entry each. What nobody may read has none. */
export function reasoningOf(
  parts: readonly ReasoningPart[],
  author: ContentAuthor,
): ContentOf<'reasoning'> {
  const texts = (form: ReasoningPart['form']) =>
    parts.filter((part) => part.form === form).map(({ text }) => text);
  const content = texts('full');
  return {
    ...{ type: 'reasoning', author, style: styleOf(parts[0]?.metadata) },
    summary: texts('summary'),
    content: content.length > 0 ? content : null,
  };
}

/** Arguments that are no object have a name here, because the wire takes objects only. */
function argumentsOf({ arguments: text, input }: ToolCallPart): JsonObject {
  return input === undefined ? { invalid_json: text } : asObject(input);
}

function asObject(value: JsonValue): JsonObject {
  return isObject(value) ? value : { value };
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object that a text means, if it does. */
export function objectIn(text: string): JsonObject | undefined {
  const parsed = parseJson(text);
  return parsed.ok && isObject(parsed.value) ? parsed.value : undefined;
}

function resultOf({ text, value, attachments = [] }: ToolResultPart): JsonValue {
  const result = value === undefined ? text : value;
  return attachments.length === 0 ? result : { result, attachments: attachments.map(shownFile) };
}

function shownFile(part: MediaPart | FilePart): JsonObject {
  const name = part.kind === 'file' ? { name: part.name } : {};
  return { kind: part.kind, ...name, mime_type: part.mimeType, ...shownSource(part) };
}

/** A page can show an address as it is, and asks for a blob by its hash. */
function shownSource({ source, mimeType }: { source: Source; mimeType: string }): JsonObject {
  switch (source.type) {
    case 'bytes':
      return { url: `data:${mimeType};base64,${toBase64(source.bytes)}` };
    case 'blob':
      return { blob: source.hash, length: source.length };
    case 'url':
      return { url: source.url };
  }
}
