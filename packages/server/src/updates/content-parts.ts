import {
  type FilePart,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MediaPart,
  type Metadata,
  type Part,
  parseJson,
  type ReasoningForm,
  type ReasoningPart,
  type Source,
  type ToolCallPart,
  type ToolResultPart,
  toBase64,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import type { Content, ContentOf } from '../contract/content.ts';

export type ContentAuthor = Content['author'];

export const jsonType = 'application/json';

/** Converts a part of the log to the content of a message. */
export function partToContent(part: Part, author: ContentAuthor): Content {
  const head = { author, style: styleOf(part.metadata) };
  switch (part.kind) {
    case 'text': {
      const value = part.mimeType === jsonType ? parseObject(part.text) : undefined;
      if (value !== undefined) return { type: 'data', ...head, data: value };
      return { type: 'text', ...head, content: part.text, ...textFields(part.metadata) };
    }
    case 'reasoning':
      return reasoningContent([part], author);
    case 'tool_call':
      return {
        ...{ type: 'tool_request', ...head, tool_call_id: part.toolCallId, name: part.name },
        arguments: argumentsOf(part),
      };
    case 'tool_result':
      return {
        ...{ type: 'tool_response', ...head, tool_call_id: part.toolCallId, name: part.name },
        content: resultContent(part),
        is_error: part.isError ? true : null,
      };
    case 'structured':
      return { type: 'data', ...head, data: toObject(part.value) };
    case 'custom':
      return { type: 'data', ...head, data: { name: part.name, value: part.value } };
    case 'media':
    case 'file':
      return { type: 'data', ...head, data: fileData(part) };
  }
}

/**
 * Converts the parts of one reasoning block to one content. Each part becomes one entry, except redacted
 * parts.
 */
export function reasoningContent(
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

/**
 * Returns the arguments of a tool call as an object. The format allows only objects, so any other value is
 * wrapped in an object.
 */
function argumentsOf({ arguments: text, input }: ToolCallPart): JsonObject {
  return input === undefined ? { invalid_json: text } : toObject(input);
}

function toObject(value: JsonValue): JsonObject {
  return isJsonObject(value) ? value : { value };
}

/** Parses JSON text. Returns undefined if the value is not an object. */
export function parseObject(text: string): JsonObject | undefined {
  const parsed = parseJson(text);
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}

function resultContent({ text, value, attachments = [] }: ToolResultPart): JsonValue {
  const result = value === undefined ? text : value;
  return attachments.length === 0 ? result : { result, attachments: attachments.map(fileData) };
}

function fileData(part: MediaPart | FilePart): JsonObject {
  const name = part.kind === 'file' ? { name: part.name } : {};
  return { kind: part.kind, ...name, mime_type: part.mimeType, ...sourceData(part) };
}

/**
 * Converts the source of a media part to data. Clients can show a URL directly, and they download a blob by
 * its hash.
 */
function sourceData({ source, mimeType }: { source: Source; mimeType: string }): JsonObject {
  switch (source.type) {
    case 'bytes':
      return { url: `data:${mimeType};base64,${toBase64(source.bytes)}` };
    case 'blob':
      return { blob: source.hash, length: source.length };
    case 'url':
      return { url: source.url };
    case 'provider_file':
      return { provider: source.provider, file_id: source.id };
  }
}

/**
 * Converts the content of a message to parts. A reasoning block becomes one part per entry. Any other content
 * becomes one part. `extra` is metadata for the first part.
 */
export function contentToParts(
  content: Content,
  extra: JsonObject = {},
): readonly [Part, ...Part[]] {
  const all: JsonObject = { ...contentMetadata(content), ...extra };
  const metadata = Object.keys(all).length === 0 ? {} : { metadata: all };
  switch (content.type) {
    case 'text':
      return [{ kind: 'text', text: content.content, ...metadata }];
    case 'data':
      return [{ kind: 'structured', value: content.data, ...metadata }];
    case 'tool_request': {
      const id = toolCallId(content.tool_call_id);
      return [{ ...toolCallPart(id, content.name, content.arguments), ...metadata }];
    }
    case 'tool_response':
      return [{ ...resultPart(content), ...metadata }];
    case 'reasoning': {
      const [first, ...others] = reasoningParts(content);
      return [{ ...first, ...metadata }, ...others];
    }
  }
}

function resultPart({ tool_call_id, name, content, is_error }: ContentOf<'tool_response'>): Part {
  const head = { kind: 'tool_result', toolCallId: toolCallId(tool_call_id), name } as const;
  const isError = is_error ?? false;
  if (typeof content === 'string') return { ...head, text: content, isError };
  return { ...head, text: JSON.stringify(content), value: content, isError };
}

/**
 * Converts a reasoning block to parts. A block without entries becomes one redacted part, which records that
 * the model reasoned without a visible text.
 */
function reasoningParts({
  summary,
  content,
}: Pick<ContentOf<'reasoning'>, 'summary' | 'content'>): readonly [Part, ...Part[]] {
  const entry = (form: ReasoningForm) => (text: string) =>
    ({ kind: 'reasoning', form, text }) as const;
  const [first, ...others] = [
    ...summary.map(entry('summary')),
    ...(content ?? []).map(entry('full')),
  ];
  return [first ?? entry('redacted')(''), ...others];
}

type TextFields = Pick<ContentOf<'text'>, 'format' | 'attachments'>;

/**
 * Returns the metadata that stores the style, the format and the attachments of a content. It omits default
 * values.
 */
export function contentMetadata(content: Content): JsonObject {
  const style = content.style === 'static' ? {} : { style: content.style };
  if (content.type !== 'text') return style;
  const format = content.format === 'plain' ? {} : { format: content.format };
  const attachments = content.attachments === null ? {} : { attachments: content.attachments };
  return { ...style, ...format, ...attachments };
}

export function styleOf(metadata: Metadata | undefined): Content['style'] {
  return metadata?.['style'] === 'active' ? 'active' : 'static';
}

export function textFields(metadata: Metadata | undefined): TextFields {
  const format = metadata?.['format'];
  return {
    format: format === 'markdown' || format === 'code' ? format : 'plain',
    attachments: attachmentsIn(metadata?.['attachments']),
  };
}

/**
 * Returns the attachments in metadata. Returns null for any other value, because a provider may use the same
 * key for different data.
 */
function attachmentsIn(value: unknown): TextFields['attachments'] {
  return Array.isArray(value) && value.every(isAttachment) ? value : null;
}

function isAttachment(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { file_id, name, type, size } = value as Readonly<Record<string, unknown>>;
  return [file_id, name, type].every((text) => typeof text === 'string') && Number.isInteger(size);
}

/** Returns whether the content has no text or data yet. */
export function isEmptyContent(content: Content): boolean {
  switch (content.type) {
    case 'text':
      return content.content === '';
    case 'data':
      return Object.keys(content.data).length === 0;
    case 'tool_request':
      return Object.keys(content.arguments).length === 0;
    case 'tool_response':
      return content.content === '' || content.content === null;
    case 'reasoning':
      return content.summary.length === 0 && (content.content ?? []).length === 0;
  }
}
