import type { FilePart, JsonObject, JsonValue, MediaPart, ToolResultPart } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { contentOf, urlOf } from '../history/content-of.ts';
import type {
  AssistantMessage,
  AssistantPart,
  Message,
  SaidPart,
  SentCall,
  ToolMessage,
} from '../history/message.ts';
import { isObject } from '../json/fields.ts';
import type { ChatDialect } from './dialect.ts';
import { reasoningFields } from './echo-reasoning.ts';

/** The messages of this wire. */
export function chatMessages(
  messages: readonly Message[],
  dialect: ChatDialect,
): readonly JsonObject[] {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  return messages.flatMap((message, index) =>
    chatMessage(message, dialect, index > lastUser, messages[index + 1]?.role),
  );
}

function chatMessage(
  message: Message,
  dialect: ChatDialect,
  isSinceUser: boolean,
  next: Message['role'] | undefined,
): readonly JsonObject[] {
  switch (message.role) {
    case 'system':
    case 'developer': {
      const role = dialect.hasDeveloperRole ? message.role : 'system';
      const said = message.parts.map((part) => instruction(part, message.role));
      return [{ role, content: said.join('') }];
    }
    case 'user':
      return [{ role: 'user', content: userContent(message.parts) }];
    case 'assistant':
      return assistantMessages(message, dialect, isSinceUser);
    case 'tool':
      return toolMessages(message, dialect, next);
  }
}

function instruction(part: SaidPart, role: string): string {
  if (part.kind === 'text' || part.kind === 'structured') return textOf(part);
  throw fault('invalid_request', `a ${role} item has a ${part.kind} part; say it as a user item`);
}

/** Prose, and structured output as its JSON. Of what the model drew or spoke this wire has no words. */
function textOf(part: AssistantPart): string {
  if (part.kind === 'text') return part.text;
  return part.kind === 'structured' ? JSON.stringify(part.value) : '';
}

function userContent(parts: readonly SaidPart[]): JsonValue {
  const [first] = parts;
  if (parts.length === 1 && first?.kind === 'text') return first.text;
  return parts.map((part) =>
    part.kind === 'media' || part.kind === 'file'
      ? attachment(part)
      : { type: 'text', text: textOf(part) },
  );
}

function attachment(part: MediaPart | FilePart): JsonObject {
  if (part.mimeType.startsWith('image/')) {
    return { type: 'image_url', image_url: { url: urlOf(part) } };
  }
  const content = contentOf(part);
  if (content.type === 'url' && !/^data:/i.test(content.url)) {
    const found = `a ${part.kind} part (${part.mimeType}) is at an address`;
    throw fault('invalid_request', `${found}; load it, or send its bytes`);
  }
  if (part.mimeType.startsWith('audio/') && content.type === 'base64') {
    const format = part.mimeType.slice('audio/'.length).replace('mpeg', 'mp3');
    return { type: 'input_audio', input_audio: { data: content.data, format } };
  }
  const filename = part.kind === 'file' ? part.name : 'attachment';
  return { type: 'file', file: { filename, file_data: urlOf(part) } };
}

/** Text goes as one string: some models mimic lists of parts when they see them. */
function assistantMessages(
  message: AssistantMessage,
  dialect: ChatDialect,
  isSinceUser: boolean,
): readonly JsonObject[] {
  const content = message.parts.map(textOf).join('');
  const calls = message.parts.flatMap((part) => (part.kind === 'tool_call' ? part : []));
  // Reasoning alone is no message.
  if (content === '' && calls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: content === '' ? dialect.emptyContent : content,
      ...reasoningFields(message.parts, dialect.echoReasoning, isSinceUser),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(toolCall) }),
    },
  ];
}

function toolCall(call: SentCall): JsonObject {
  const extra = call.providerState?.data;
  return {
    ...(isObject(extra) ? extra : {}),
    id: call.toolCallId,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  };
}

function toolMessages(
  { results }: ToolMessage,
  dialect: ChatDialect,
  next: Message['role'] | undefined,
): readonly JsonObject[] {
  const pictures = results.flatMap(({ attachments = [] }) => attachments);
  const told = results.map((result) => toolMessage(result, dialect));
  // Only users may show pictures.
  const shown = pictures.length === 0 ? [] : [{ role: 'user', content: pictures.map(attachment) }];
  const isBridged = dialect.bridgesToolResults && (shown.length > 0 || next === 'user');
  return [...told, ...(isBridged ? [bridge] : []), ...shown];
}

const bridge: JsonObject = { role: 'assistant', content: 'I have the results.' };

function toolMessage(result: ToolResultPart, dialect: ChatDialect): JsonObject {
  const { toolCallId, name, text, attachments = [] } = result;
  const empty = attachments.length > 0 ? '(see the attachment)' : '(no output)';
  return {
    role: 'tool',
    tool_call_id: toolCallId,
    ...(dialect.namesToolResults ? { name } : {}),
    content: text === '' ? empty : text,
  };
}
