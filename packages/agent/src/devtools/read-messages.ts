import {
  fromBase64,
  isId,
  type MediaPart,
  type Part,
  type Stop,
  type StopReason,
  toolCallId,
} from '@millrace/core';
import type { TracedItem } from './contract.ts';

// Other libraries write messages in similar forms: a role, and a content of typed parts. This reader accepts the
// forms of OpenTelemetry's conventions, of the AI SDK, and of OpenAI's two APIs. Unknown parts become JSON in a
// custom part, so that nothing is lost. The reader never throws.

type Fields = Readonly<Record<string, unknown>>;

/** Maximum length of a text. The end of a longer text is removed. */
const maxTextLength = 2 ** 20;
/** Maximum length of inline bytes, as base64. Longer bytes are left out. */
const maxBase64Length = 2 ** 23;
/** Maximum number of messages of one request, and of parts of one message. Further ones are left out. */
const [maxMessages, maxParts] = [4096, 500];

/** Returns the fields of an object, or no fields for any other value. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {};
}

/** Returns the elements of a list, or none for any other value. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, maxMessages) : [];
}

/** Returns a text if the value is a text that is not empty. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Returns a count if the value is one, or 0. */
export function countIn(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

/** Returns any value as text: a text as it is, and other values as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    // The value refers to itself, or has a number that JSON does not have.
    return '';
  }
}

/** Removes the end of a text that is too long for a part. */
export function clipText(text: string, most: number = maxTextLength): string {
  if (text.length <= most) return text.toWellFormed();
  const removed = text.length - most;
  return `${text.slice(0, most)}… (${removed} characters were removed)`.toWellFormed();
}

/** Reads a list of messages, or one text as a message of the user. */
export function readMessages(value: unknown): readonly TracedItem[] {
  if (typeof value === 'string') return itemOf('user', [textPart(value)]);
  return listOf(value).flatMap(readMessage);
}

/** Reads the parts of the messages of a model. */
export function readAnswer(value: unknown): readonly Part[] {
  return readMessages(value)
    .flatMap(({ parts }) => parts)
    .slice(0, maxParts);
}

/** Reads instructions: a text, messages, or parts. */
export function readInstructions(value: unknown): readonly TracedItem[] {
  const listed = Array.isArray(value) ? value : value === undefined ? [] : [value];
  const parts = listed.flatMap((one) =>
    fieldsOf(one)['role'] === undefined
      ? readPart(one)
      : readMessage(one).flatMap(({ parts: own }) => own),
  );
  return itemOf('system', parts);
}

const kinds: Readonly<Record<string, TracedItem['kind']>> = {
  ...{ system: 'system', developer: 'developer', user: 'user', assistant: 'assistant' },
  ...{ tool: 'tool', model: 'assistant', function: 'tool' },
};

function itemOf(kind: TracedItem['kind'], parts: readonly Part[]): readonly TracedItem[] {
  return parts.length === 0 ? [] : [{ kind, parts }];
}

function readMessage(value: unknown): readonly TracedItem[] {
  const { role, content, parts, tool_calls: calls, refusal, ...rest } = fieldsOf(value);
  // An item of the Responses API that is not a message has a type, but no role.
  if (typeof role !== 'string') {
    const own = readPart(value);
    const isResult = own.some(({ kind }) => kind === 'tool_result');
    return itemOf(isResult ? 'tool' : 'assistant', own);
  }
  const kind = Object.hasOwn(kinds, role) ? (kinds[role] ?? 'user') : 'user';
  const callId = textIn(rest['tool_call_id']);
  if (kind === 'tool' && callId !== undefined)
    return itemOf(kind, [resultPart(callId, textIn(rest['name']), contentText(content), false)]);
  const listed = typeof content === 'string' ? [content] : listOf(content ?? parts);
  const given = [...listed, ...listOf(calls), ...(textIn(refusal) === undefined ? [] : [refusal])];
  return itemOf(kind, given.slice(0, maxParts).flatMap(readPart));
}

/** Returns the content of a message or of a tool result as text. */
function contentText(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content ?? '');
  const texts = content.map((one) => textIn(fieldsOf(one)['text']));
  return texts.every((text) => text !== undefined) ? texts.join('\n') : textOf(content);
}

function textPart(text: string): Part {
  return { kind: 'text', text: clipText(text) };
}

function readPart(value: unknown): readonly Part[] {
  if (typeof value === 'string') return value === '' ? [] : [textPart(value)];
  const part = fieldsOf(value);
  switch (part['type']) {
    case 'text':
    case 'input_text':
    case 'output_text':
    case 'refusal': {
      const text = textIn(part['text'] ?? part['content'] ?? part['refusal']);
      return text === undefined ? [] : [textPart(text)];
    }
    case 'reasoning':
    case 'thinking':
      return readReasoning(part);
    case 'tool_call':
    case 'tool-call':
    case 'function':
    case 'function_call':
      return [callPart(part)];
    case 'tool_call_response':
    case 'tool-result':
    case 'tool-error':
    case 'function_call_result':
    case 'function_call_output':
      return [readResult(part)];
    case 'blob':
    case 'uri':
    case 'image':
    case 'image_url':
    case 'input_image':
    case 'file':
      return [mediaPart(part) ?? customPart(part)];
    default:
      return Object.keys(part).length === 0 ? [] : [customPart(part)];
  }
}

function readReasoning(part: Fields): readonly Part[] {
  const texts = [...listOf(part['content']), ...listOf(part['summary'])].flatMap(
    (one) => textIn(fieldsOf(one)['text']) ?? [],
  );
  const text = textIn(part['text'] ?? part['content']) ?? texts.join('\n');
  return text === '' ? [] : [{ kind: 'reasoning', text: clipText(text), form: 'full' }];
}

function callPart(part: Fields): Part {
  const of = { ...fieldsOf(part['function']), ...part };
  const name = of['name'] ?? of['toolName'];
  const id = of['callId'] ?? of['call_id'] ?? of['toolCallId'] ?? of['id'];
  const args = clipText(textOf(of['arguments'] ?? of['input'] ?? {}));
  return {
    ...{ kind: 'tool_call', toolCallId: toolCallId(idOf(id, 'call')) },
    ...{ name: idOf(name, 'tool'), arguments: args === '' ? '{}' : args },
  };
}

function readResult(part: Fields): Part {
  const id = part['toolCallId'] ?? part['callId'] ?? part['call_id'] ?? part['id'];
  const output = part['response'] ?? part['result'] ?? part['output'] ?? part['error'] ?? '';
  const { type, value, text } = fieldsOf(output);
  const isError = part['type'] === 'tool-error' || String(type).startsWith('error');
  // The AI SDK wraps a result in an object with a type and a value. The Agents SDK has a type and a text.
  const plain = typeof type === 'string' ? (value ?? text ?? output) : output;
  const name = textIn(part['toolName'] ?? part['name']);
  return resultPart(idOf(id, 'call'), name, contentText(errorText(plain)), isError);
}

/** Returns the message of an error, because JSON of an error is an empty object. */
export function errorText(value: unknown): unknown {
  return value instanceof Error ? value.message : value;
}

function resultPart(id: string, name: string | undefined, text: string, isError: boolean): Part {
  const about = { toolCallId: toolCallId(idOf(id, 'call')), name: idOf(name, 'tool') };
  return { kind: 'tool_result', ...about, text: clipText(text), isError };
}

/** Returns a text if it can be an id or a name, or else the given word. */
export function idOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value.length <= 512 && isId(value) ? value : otherwise;
}

const modalities: Readonly<Record<string, string>> = {
  ...{ image: 'image/png', audio: 'audio/wav', video: 'video/mp4' },
};

/** Reads a picture or another file. Returns undefined if it has no bytes and no URL. */
function mediaPart(part: Fields): MediaPart | undefined {
  const file = { ...fieldsOf(part['file']), ...part };
  const given =
    file['uri'] ?? file['data'] ?? file['image'] ?? file['image_url'] ?? file['base64'] ?? '';
  const data = textIn(fieldsOf(given)['url'] ?? fieldsOf(given)['data']) ?? given;
  const named = file['mime_type'] ?? file['mediaType'] ?? modalities[String(file['modality'])];
  const mimeType = idOf(named, 'application/octet-stream');
  const bytes = data instanceof URL ? data.href : (textIn(data) ?? textIn(file['content']));
  if (data instanceof Uint8Array && data.length <= maxBase64Length)
    return { kind: 'media', mimeType, source: { type: 'bytes', bytes: data.slice() } };
  if (bytes === undefined || bytes.length > maxBase64Length) return undefined;
  if (/^https?:/.test(bytes))
    return { kind: 'media', mimeType, source: { type: 'url', url: bytes } };
  const [, inline, encoded = bytes] = /^data:([^;,]*)[^,]*,(.*)$/s.exec(bytes) ?? [];
  const decoded = fromBase64(encoded);
  if (decoded === undefined) return undefined;
  return {
    ...{ kind: 'media', mimeType: idOf(inline, mimeType) },
    source: { type: 'bytes', bytes: decoded },
  };
}

/** Keeps an unknown part as JSON text, without inline bytes. */
function customPart(part: Fields): Part {
  const value = clipText(textOf(part), 2 ** 16);
  return { kind: 'custom', name: idOf(part['type'], 'part'), value };
}

const reasons: Readonly<Record<string, StopReason>> = {
  ...{ stop: 'stop', end_turn: 'stop', completed: 'stop', other: 'unknown' },
  ...{ length: 'length', max_tokens: 'length', incomplete: 'length' },
  ...{
    tool_calls: 'tool_use',
    tool_call: 'tool_use',
    'tool-calls': 'tool_use',
    tool_use: 'tool_use',
  },
  ...{ content_filter: 'content_filter', 'content-filter': 'content_filter', refusal: 'refusal' },
  ...{ error: 'error', failed: 'error', cancelled: 'aborted' },
};

/** Returns the stop of a response with these parts, from the reason that the library reported. */
export function stopOf(reason: unknown, parts: readonly Part[]): Stop {
  const raw = textIn(reason)?.slice(0, 200).toWellFormed();
  const hasCalls = parts.some(({ kind }) => kind === 'tool_call');
  const known = raw !== undefined && Object.hasOwn(reasons, raw) ? reasons[raw] : undefined;
  if (hasCalls && (known === 'stop' || known === undefined || known === 'unknown'))
    return { reason: 'tool_use', ...(raw !== undefined && { raw }) };
  if (raw === undefined) return { reason: 'stop' };
  return { reason: known ?? 'unknown', raw };
}
