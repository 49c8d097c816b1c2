import {
  type FilePart,
  fromBase64,
  isId,
  type MediaPart,
  type Part,
  type Source,
  type TextPart,
  toolCallId,
} from '@millrace/core';
import {
  assertInputParts,
  callEntry,
  type NewItem,
  refused,
  shown,
} from '../openai/input-items.ts';
import type { InputMessage, InputPart } from './run-input.ts';

/** The items of some messages, and what the server ignored in the messages. */
export interface InputItems {
  readonly items: readonly NewItem[];
  readonly warnings: readonly string[];
}

const roles = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

/** Returns whether the session stores a message. Messages with other roles, such as `activity`, stay in the client. */
export function isConversation({ role }: InputMessage): boolean {
  return roles.has(role);
}

/**
 * Converts messages to items of a session. Each item contains the ids of its messages, so that the client
 * recognizes them. Neighbouring results become one item, as providers expect it.
 */
export function itemsOf(messages: readonly InputMessage[]): InputItems {
  const warnings: string[] = [];
  const items: {
    readonly kind: NewItem['kind'];
    readonly parts: Part[];
    readonly ids: string[];
  }[] = [];
  const names = new Map<string, string>();
  let count = 0;
  for (const [index, message] of messages.entries()) {
    if (!isConversation(message)) continue;
    const place = `messages[${index}]`;
    const parts = partsOf(message, place, names, warnings);
    count += parts.length;
    assertInputParts(count, 'messages');
    const last = items.at(-1);
    const kind = message.role as NewItem['kind'];
    if (parts.length === 0) warnings.push(`The server ignores ${place}, because it is empty`);
    else if (kind === 'tool' && last?.kind === 'tool') {
      last.parts.push(...parts);
      last.ids.push(message.id);
    } else items.push({ kind, parts: [...parts], ids: [message.id] });
  }
  const withIds = items.map(({ ids, ...item }) => ({ ...item, metadata: { agui: { ids } } }));
  return { items: withIds, warnings };
}

/** Returns the ids of the messages of an item. */
export function idsOf({ metadata }: Pick<NewItem, 'metadata'>): readonly string[] {
  return ((metadata?.['agui'] ?? {}) as { readonly ids?: readonly string[] }).ids ?? [];
}

function partsOf(
  message: InputMessage,
  place: string,
  names: Map<string, string>,
  warnings: string[],
): readonly Part[] {
  const { role, content = '', toolCalls = [] } = message;
  switch (role) {
    case 'user':
      return userParts(content, place, warnings);
    case 'assistant': {
      const text = textOf(content, place);
      const calls = toolCalls.flatMap(({ id, function: { name, arguments: given } }) => {
        names.set(id, name);
        const entry = callEntry({ id, name, text: given }, place);
        return entry.type === 'item' ? entry.item.parts : [];
      });
      return [...(text === '' ? [] : [{ kind: 'text', text } as const]), ...calls];
    }
    case 'tool': {
      const id = message.toolCallId ?? '';
      const name = names.get(id);
      if (name === undefined || !isId(id))
        throw refused(place, `no message before it has a call with the id ${shown(id)}`);
      const text = outputOf(message, place);
      const isError = message.error !== undefined;
      return [{ kind: 'tool_result', toolCallId: toolCallId(id), name, text, isError }];
    }
    default:
      return [{ kind: 'text', text: textOf(content, place) }];
  }
}

/** Returns the output of a tool that the client ran. */
export function outputOf({ content = '', error }: InputMessage, place: string): string {
  const text = textOf(content, place);
  return text === '' ? (error ?? '') : text;
}

function textOf(content: NonNullable<InputMessage['content']>, place: string): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content))
    throw refused(place, 'its content must be a text or a list of parts');
  return content.map(({ text = '' }) => text).join('');
}

function userParts(
  content: NonNullable<InputMessage['content']>,
  place: string,
  warnings: string[],
): readonly Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  if (!Array.isArray(content))
    throw refused(place, 'its content must be a text or a list of parts');
  return (content as readonly InputPart[]).flatMap((part, index) => {
    const at = `${place}.content[${index}]`;
    const found = partOf(part, at);
    // The protocol requires that a run continues without content that the agent cannot use.
    if (found === undefined) warnings.push(`The server ignores ${at}, because it cannot use it`);
    return found ?? [];
  });
}

function partOf(part: InputPart, place: string): TextPart | MediaPart | FilePart | undefined {
  const { type, text, source: given, metadata } = part;
  if (type === 'text') {
    if (text === undefined) throw refused(place, 'it has no text');
    return { kind: 'text', text };
  }
  if (!['image', 'audio', 'video', 'document'].includes(type)) return undefined;
  if (given === undefined) throw refused(place, 'it has no source');
  const source = sourceOf(given, place);
  if (source === undefined) return undefined;
  const { mimeType = type === 'document' ? 'application/octet-stream' : `${type}/*` } = given;
  if (!/^[\w.+-]+\/[\w.+*-]+$/.test(mimeType)) throw refused(place, 'its mimeType is not valid');
  if (type !== 'document') return { kind: 'media', mimeType, source };
  const { filename } = (typeof metadata === 'object' ? (metadata ?? {}) : {}) as {
    readonly filename?: unknown;
  };
  const name = typeof filename === 'string' && isId(filename) ? filename : 'document';
  return { kind: 'file', name, mimeType, source };
}

function sourceOf(
  { type, value }: NonNullable<InputPart['source']>,
  place: string,
): Source | undefined {
  switch (type) {
    case 'data': {
      const bytes = fromBase64(value);
      if (bytes === undefined) throw refused(place, 'its source is not base64');
      return { type: 'bytes', bytes };
    }
    case 'url':
      return /^https?:\/\//.test(value) ? { type: 'url', url: value } : undefined;
    // The id names a file in the provider's account of the operator. The client might not own the file.
    case 'file':
      return undefined;
    default:
      throw refused(place, `sources of the type ${shown(type)} are not supported`);
  }
}
