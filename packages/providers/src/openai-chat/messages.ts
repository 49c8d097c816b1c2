import { isJsonObject, type JsonObject, type JsonValue, type ToolResultPart } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { type Attachment, describeAttachment } from '../history/attachment.ts';
import type {
  AssistantMessage,
  AssistantPart,
  ContentPart,
  Message,
  SentToolCall,
  ToolMessage,
} from '../history/message.ts';
import { countIn, objectIn, objectsIn, textIn } from '../json/fields.ts';
import { attachmentPart, nativeAttachment } from './content.ts';
import type { ChatDialect, ReasoningEchoStyle } from './options.ts';

interface ChatMessageOptions {
  /** The field that marks a cache point. Undefined if the model does not accept cache points. */
  readonly cacheControl: JsonObject | undefined;
  /** The current time. It is compared with the time at which the provider deletes an audio file. */
  readonly nowMs: number;
}

/** Converts messages to the format of this API. */
export function chatMessages(
  messages: readonly Message[],
  dialect: ChatDialect,
  { cacheControl, nowMs }: ChatMessageOptions,
): readonly JsonObject[] {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  const sent = messages.map((message, index) => {
    const at = { isSinceUser: index > lastUser, next: messages[index + 1]?.role, nowMs };
    return chatMessage(message, dialect, at);
  });
  if (cacheControl === undefined) return sent.flat();
  const ends = messages.flatMap(({ isCachePoint }, index) =>
    isCachePoint ? sent.slice(0, index + 1).flat().length : [],
  );
  return withMarks(sent.flat().map(asParts), ends, { cache_control: cacheControl });
}

/**
 * Converts the text of instructions and user messages to a list of parts, even if the message has no cache
 * mark. If only marked messages were lists, a message would change when its mark moves, and the cache would
 * not match.
 */
function asParts(message: JsonObject): JsonObject {
  const { role, content } = message;
  const isText = typeof content === 'string' && role !== 'assistant' && role !== 'tool';
  return isText ? { ...message, content: [{ type: 'text', text: content }] } : message;
}

/**
 * Adds the cache mark `control` to messages. `ends` contains positions between messages. For each position,
 * the mark goes to the last message before the position that can have a mark.
 */
function withMarks(
  messages: readonly JsonObject[],
  ends: readonly number[],
  control: JsonObject,
): readonly JsonObject[] {
  const points = new Set(ends.map((end) => messages.slice(0, end).findLastIndex(canHaveMark)));
  return messages.map((message, index) => {
    const { role, content } = message;
    if (!points.has(index)) return message;
    // In a tool result, the cache mark is a field beside the text.
    if (role === 'tool' || !Array.isArray(content)) return { ...message, ...control };
    const at = content.findLastIndex(isVisible);
    return { ...message, content: content.with(at, { ...Object(content[at]), ...control }) };
  });
}

function canHaveMark({ role, content }: JsonObject): boolean {
  if (role === 'tool') return typeof content === 'string' && content.trim() !== '';
  return role !== 'assistant' && Array.isArray(content) && content.some(isVisible);
}

/**
 * Returns whether a part has visible content. Claude rejects a cache mark on a text without visible
 * characters.
 */
function isVisible(part: JsonValue): boolean {
  return (
    isJsonObject(part) && (part['type'] !== 'text' || (textIn(part, 'text') ?? '').trim() !== '')
  );
}

interface MessagePlace {
  readonly isSinceUser: boolean;
  /** The role of the message that follows. */
  readonly next: Message['role'] | undefined;
  readonly nowMs: number;
}

function chatMessage(
  message: Message,
  dialect: ChatDialect,
  place: MessagePlace,
): readonly JsonObject[] {
  switch (message.role) {
    case 'system':
    case 'developer': {
      const role = dialect.hasDeveloperRole ? message.role : 'system';
      const instructions = message.parts.map((part) => instruction(part, message.role));
      return [{ role, content: instructions.join('') }];
    }
    case 'user':
      return [{ role: 'user', content: userContent(message.parts, dialect) }];
    case 'assistant':
      return assistantMessages(message, dialect, place);
    case 'tool':
      return toolMessages(message, dialect, place.next);
  }
}

function instruction(part: ContentPart, role: string): string {
  if (part.kind === 'text' || part.kind === 'structured') return textOf(part);
  throw fault('invalid_request', `a ${role} item has a ${part.kind} part; put it into a user item`);
}

/**
 * Returns the text of a part, or the JSON text of structured output. For an image or file, returns only the
 * media type, because assistant messages of this API cannot contain media. For all other parts, returns an
 * empty text.
 */
function textOf(part: AssistantPart): string {
  if (part.kind === 'text') return part.text;
  if (part.kind === 'media' || part.kind === 'file') return `[${part.mimeType}]`;
  return part.kind === 'structured' ? JSON.stringify(part.value) : '';
}

function userContent(parts: readonly ContentPart[], dialect: ChatDialect): JsonValue {
  const [first] = parts;
  if (parts.length === 1 && first?.kind === 'text') return first.text;
  return parts.map((part) =>
    part.kind === 'media' || part.kind === 'file'
      ? attachmentPart(part, dialect)
      : { type: 'text', text: textOf(part) },
  );
}

/**
 * Converts an assistant message. Its text is sent as one string, because some models imitate lists of parts
 * in the history.
 */
function assistantMessages(
  message: AssistantMessage,
  dialect: ChatDialect,
  { isSinceUser, nowMs }: MessagePlace,
): readonly JsonObject[] {
  const audio = message.parts.map((part) => audioReference(part, nowMs)).find(isJsonObject);
  const said = audio === undefined ? message.parts : message.parts.filter((part) => !isAudio(part));
  const content = said.map(textOf).join('');
  const calls = message.parts.flatMap((part) => (part.kind === 'tool_call' ? part : []));
  // The API rejects a message that contains only reasoning.
  if (content === '' && calls.length === 0 && audio === undefined) return [];
  return [
    {
      role: 'assistant',
      ...(content === '' && audio !== undefined
        ? {}
        : { content: content === '' ? dialect.emptyContent : content }),
      ...(audio === undefined ? {} : { audio }),
      ...reasoningFields(message.parts, dialect.echoReasoning, isSinceUser),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(toolCall) }),
    },
  ];
}

/** If audio expires within this number of seconds, a request contains its transcript instead of its id. */
const audioMarginS = 5;

/**
 * Returns the provider's id for audio that the model created. Returns undefined if the provider has deleted
 * the audio.
 */
function audioReference(part: AssistantPart, nowMs: number): JsonObject | undefined {
  const data = part.kind === 'media' ? part.providerState?.data : undefined;
  const audio = isJsonObject(data) ? objectIn(data, 'audio') : undefined;
  const id = textIn(audio, 'id');
  if (id === undefined) return undefined;
  const expiresAt = countIn(audio, 'expires_at') ?? Number.POSITIVE_INFINITY;
  return nowMs / 1000 < expiresAt - audioMarginS ? { id } : undefined;
}

/**
 * Returns whether a part is audio or the transcript of audio. In a request, the id of the audio replaces
 * both.
 */
function isAudio(part: AssistantPart): boolean {
  return part.kind === 'media'
    ? part.mimeType.startsWith('audio/')
    : part.metadata?.['transcript'] === true;
}

function toolCall(call: SentToolCall): JsonObject {
  const extra = call.providerState?.data;
  const own = { ...(isJsonObject(extra) ? extra : {}), id: call.toolCallId };
  const { name } = call;
  if (textIn(own, 'type') === 'custom')
    return { ...own, custom: { name, input: textIn(call.input, 'input') ?? '' } };
  return { ...own, type: 'function', function: { name, arguments: call.arguments } };
}

function toolMessages(
  { results }: ToolMessage,
  dialect: ChatDialect,
  next: Message['role'] | undefined,
): readonly JsonObject[] {
  const messages: JsonObject[] = [];
  const content: JsonObject[] = [];
  for (const result of results) {
    const { attachments = [] } = result;
    const native = attachments.map((part) => nativeAttachment(part, dialect));
    const undisplayed = attachments.filter((_, index) => native[index] === undefined);
    messages.push(toolMessage(result, undisplayed, dialect));
    content.push(...native.filter((part) => part !== undefined));
  }
  // Only user messages can contain images, so the images follow in a user message.
  const shows = content.length === 0 ? [] : [{ role: 'user', content }];
  const isBridged = dialect.needsMessageAfterToolResults && (shows.length > 0 || next === 'user');
  return [...messages, ...(isBridged ? [bridgeMessage] : []), ...shows];
}

const bridgeMessage: JsonObject = { role: 'assistant', content: 'I have the results.' };

/** Converts a tool result. If an attachment cannot be sent, the text describes it. */
function toolMessage(
  { toolCallId, name, text, attachments }: ToolResultPart,
  undisplayed: readonly Attachment[],
  dialect: ChatDialect,
): JsonObject {
  const texts = [text, ...undisplayed.map(describeAttachment)].filter((words) => words !== '');
  const empty = attachments === undefined ? '(no output)' : '(see the attachment)';
  return {
    role: 'tool',
    tool_call_id: toolCallId,
    ...(dialect.namesToolResults ? { name } : {}),
    content: texts.length === 0 ? empty : texts.join('\n\n'),
  };
}

const defaultField = 'reasoning_content';

/** Returns the reasoning of a message, in the form that the server expects. */
function reasoningFields(
  parts: readonly AssistantPart[],
  style: ReasoningEchoStyle,
  isSinceUser: boolean,
): JsonObject {
  switch (style) {
    case 'none':
      return {};
    case 'details':
      return detailsOf(parts);
    case 'field_since_user':
      return isSinceUser ? fieldOf(parts) : {};
    case 'field_always':
      return { [defaultField]: '', ...fieldOf(parts) };
    case 'field':
      return fieldOf(parts);
  }
}

/** Returns the reasoning as one text, in the same field in which it arrived. */
function fieldOf(parts: readonly AssistantPart[]): JsonObject {
  const reasoning = parts.flatMap((part) => (part.kind === 'reasoning' ? part : []));
  const data = reasoning[0]?.providerState?.data;
  if (data === undefined) return {};
  const field = textIn(isJsonObject(data) ? data : undefined, 'field') ?? defaultField;
  return { [field]: reasoning.map(({ text }) => text).join('') };
}

function detailsOf(parts: readonly AssistantPart[]): JsonObject {
  const details = parts.flatMap((part) => {
    const data = part.kind === 'reasoning' ? part.providerState?.data : undefined;
    return isJsonObject(data) ? objectsIn(data, 'details') : [];
  });
  return details.length === 0 ? fieldOf(parts) : { reasoning_details: details };
}
