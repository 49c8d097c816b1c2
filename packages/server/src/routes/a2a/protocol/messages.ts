import { createHash } from 'node:crypto';
import {
  type FilePart,
  fromBase64,
  isId,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MediaPart,
  type TextPart,
} from '@millrace/core';
import { field } from '../../mcp/protocol/rpc-message.ts';
import { assertInputParts, type NewItem } from '../../openai/input-items.ts';
import { a2aError, invalidParams } from './a2a-error.ts';

/** A message of a client. */
export interface SentMessage {
  readonly id: string;
  readonly contextId: string | undefined;
  readonly taskId: string | undefined;
  readonly parts: readonly (TextPart | MediaPart | FilePart)[];
  /** The values of the data parts. Answers to questions are data. */
  readonly data: readonly JsonObject[];
  /** The texts of the text parts. */
  readonly text: string;
  /** A hash of the content. With the id, it recognizes a repeated message. */
  readonly hash: string;
  readonly metadata: JsonObject | undefined;
}

/** Options of `SendMessage`. */
export interface SendOptions {
  readonly historyLength: number | undefined;
  readonly returnsAtOnce: boolean;
  readonly pushConfig: JsonObject | undefined;
}

/** Maximum length of the metadata of a message as JSON. The history of the task repeats it. */
const maxMetadataLength = 8192;

/** Reads the message of a request. */
export function readSentMessage(params: JsonObject): SentMessage {
  const message = field(params, 'message');
  if (!isJsonObject(message)) throw invalidParams('Cannot send: message is missing');
  const { messageId, role, parts, metadata } = message;
  if (typeof messageId !== 'string' || messageId === '' || messageId.length > 200)
    throw invalidParams('Cannot send: message.messageId is not a text of 1 to 200 characters');
  if (role !== 'ROLE_USER') throw invalidParams('Cannot send: message.role is not ROLE_USER');
  if (!Array.isArray(parts) || parts.length === 0)
    throw invalidParams('Cannot send: message.parts is empty');
  assertInputParts(parts.length, 'message.parts');
  const read = parts.map(readPart);
  const kept =
    isJsonObject(metadata) && JSON.stringify(metadata).length <= maxMetadataLength
      ? metadata
      : undefined;
  return {
    ...{ id: messageId, metadata: kept },
    contextId: textField(message, 'contextId'),
    taskId: textField(message, 'taskId'),
    parts: read,
    data: parts.flatMap((part) => {
      const data = field(part, 'data');
      return isJsonObject(data) ? [data] : [];
    }),
    text: parts.flatMap((part) => field(part, 'text') ?? []).join('\n'),
    hash: createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22),
  };
}

/** Reads a text. An empty text counts as missing, as in all formats of Protocol Buffers. */
export function textField(value: JsonValue | undefined, name: string): string | undefined {
  const text = field(value, name) ?? '';
  if (typeof text !== 'string' || text.length > 2048)
    throw invalidParams(`Cannot read ${name}: it is not a text of at most 2048 characters`);
  return text === '' ? undefined : text;
}

/** Reads a count. In the HTTP+JSON binding it is a text. */
export function countField(
  value: JsonValue | undefined,
  name: string,
  [least, most]: readonly [number, number],
): number | undefined {
  const given = field(value, name);
  if (given === undefined || given === null || given === '') return undefined;
  const count = typeof given === 'string' && /^\d{1,9}$/.test(given) ? Number(given) : given;
  if (typeof count !== 'number' || !Number.isInteger(count) || count < least || count > most)
    throw invalidParams(`Cannot read ${name}: it is not an integer from ${least} to ${most}`);
  return count;
}

export const historyRange = [0, 2 ** 31 - 1] as const;

/** Reads the options of `SendMessage`. */
export function readSendOptions(params: JsonObject): SendOptions {
  const configuration = field(params, 'configuration');
  const push = field(configuration, 'taskPushNotificationConfig');
  return {
    historyLength: countField(configuration, 'historyLength', historyRange),
    returnsAtOnce: field(configuration, 'returnImmediately') === true,
    pushConfig: isJsonObject(push) ? push : undefined,
  };
}

/** The media types that agents accept. Tools can read files that the model cannot. */
const acceptedTypes =
  /^(?:text|image|audio|video)\/|^application\/(?:json|pdf|xml|yaml|zip|rtf|msword|octet-stream|vnd\.)/;

/** The media types that the agent card lists. */
export const inputModes = ['text/plain', 'application/json', 'image/*', 'application/pdf'];

function readPart(part: JsonValue, index: number): TextPart | MediaPart | FilePart {
  const place = `message.parts[${index}]`;
  const [text, data, url, raw] = ['text', 'data', 'url', 'raw'].map((name) => field(part, name));
  if ([text, data, url, raw].filter((one) => one !== undefined).length !== 1)
    throw invalidParams(`Cannot use ${place}: it needs one of text, data, url and raw`);
  const mimeType = textField(part, 'mediaType');
  if (text !== undefined) {
    if (typeof text !== 'string') throw invalidParams(`Cannot use ${place}: text is not a text`);
    return { kind: 'text', text };
  }
  if (data !== undefined)
    return { kind: 'text', text: JSON.stringify(data), mimeType: 'application/json' };
  return readFile(part, mimeType ?? 'application/octet-stream', place);
}

function readFile(part: JsonValue, mimeType: string, place: string): MediaPart | FilePart {
  if (!acceptedTypes.test(mimeType) || !/^[\w.+-]+\/[\w.+*-]+$/.test(mimeType)) {
    const shown = JSON.stringify(mimeType.slice(0, 64));
    throw a2aError(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `Cannot use ${place}: agents do not accept the media type ${shown}`,
    );
  }
  const source = readSource(part, place);
  if (/^(?:image|audio|video)\//.test(mimeType)) return { kind: 'media', mimeType, source };
  const filename = textField(part, 'filename');
  const name = filename !== undefined && isId(filename) ? filename : 'file';
  return { kind: 'file', name, mimeType, source };
}

function readSource(part: JsonValue, place: string): MediaPart['source'] {
  const [url, raw] = [field(part, 'url'), field(part, 'raw')];
  if (url !== undefined) {
    if (typeof url === 'string' && url.length <= 8192 && /^https?:\/\//.test(url))
      return { type: 'url', url };
    throw invalidParams(`Cannot use ${place}: url is not an http or https URL`);
  }
  const bytes = typeof raw === 'string' ? fromBase64(raw) : undefined;
  if (bytes === undefined) throw invalidParams(`Cannot use ${place}: raw is not Base64`);
  return { type: 'bytes', bytes };
}

/** Returns the item of a message. Its metadata contains the id, so that the history of the task has it. */
export function itemOf({ id, parts, metadata }: SentMessage): NewItem {
  const a2a = { messageId: id, ...(metadata && { metadata }) };
  return { kind: 'user', parts: [...parts], metadata: { a2a } };
}
