import {
  type FilePart,
  fromBase64,
  type Item,
  isId,
  type MediaPart,
  type Part,
  parseJson,
  type TextPart,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import { z } from 'zod';
import { checkedList } from '../../contract/checked-list.ts';
import { ServerError } from '../../contract/server-error.ts';

/** An item of a message, before the server gives it an id. */
export type NewItem = Omit<Item, 'id'>;

/** One entry of the input of a request, in the words of Millrace. */
export type InputEntry =
  | { readonly type: 'item'; readonly item: NewItem }
  /** The output of a call that the caller ran. */
  | { readonly type: 'output'; readonly callId: string; readonly output: string }
  /** The answer to an approval. */
  | {
      readonly type: 'approval';
      readonly callId: string;
      readonly isApproved: boolean;
      readonly reason: string | undefined;
    }
  /** An item of an earlier response, by its id. */
  | { readonly type: 'reference'; readonly id: string };

const text = z.string().max(10_485_760);

/** A piece of content. Clients add fields, such as annotations, that the server does not need. */
const contentPart = z.looseObject({
  type: z.string().max(64),
  text: text.nullish(),
  refusal: text.nullish(),
  image_url: z.union([text, z.looseObject({ url: text })]).nullish(),
  input_audio: z.looseObject({ data: text, format: z.string().max(32) }).nullish(),
  file: z
    .looseObject({
      file_data: text.nullish(),
      filename: z.string().max(1024).nullish(),
      file_id: z.string().max(1024).nullish(),
    })
    .nullish(),
  file_id: z.string().max(1024).nullish(),
  file_data: text.nullish(),
  file_url: text.nullish(),
  filename: z.string().max(1024).nullish(),
});

export const contentSchema = z.union([text, checkedList(contentPart, 10_000)]);

/** An entry of the field `input`. Clients add fields, such as statuses, that the server does not need. */
export const inputEntrySchema = z.looseObject({
  type: z.string().max(64).nullish(),
  id: z.string().max(2048).nullish(),
  role: z.string().max(32).nullish(),
  content: contentSchema.nullish(),
  call_id: z.string().max(1024).nullish(),
  name: z.string().max(256).nullish(),
  arguments: text.nullish(),
  output: contentSchema.nullish(),
  error: z.unknown().optional(),
  approval_request_id: z.string().max(2048).nullish(),
  approve: z.boolean().nullish(),
  reason: z.string().max(4096).nullish(),
});

type Entry = z.output<typeof inputEntrySchema>;
export type Content = z.output<typeof contentSchema>;

/** Converts the field `input` of a response. */
export function readInput(input: string | readonly Entry[] | null | undefined): InputEntry[] {
  if (input == null) return [];
  if (typeof input === 'string') return [messageEntry('user', input)];
  return input.flatMap((entry, index) => readEntry(entry, `input[${index}]`));
}

const roles = { user: 'user', system: 'system', developer: 'developer', assistant: 'assistant' };

/** Returns the entry of a message. */
export function messageEntry(role: string, content: Content, place = 'input'): InputEntry {
  if (!Object.hasOwn(roles, role)) throw refused(place, `it has the role ${shown(role)}`);
  const kind = role as keyof typeof roles;
  const parts = partsOf(content, place);
  const isText = parts.every((part) => part.kind === 'text');
  if (kind !== 'user' && !isText) throw refused(place, `its role ${kind} allows only text`);
  return { type: 'item', item: { kind, parts } };
}

/**
 * Returns the entry of a call that the model made earlier. Its arguments are the JSON of the parsed value. All
 * providers and guardrails therefore read the same value, without unusual escapes or repeated keys.
 */
export function callEntry(
  { id, name, text: given }: { readonly id: string; readonly name: string; readonly text: string },
  place: string,
): InputEntry {
  if (!isId(id) || name === '') throw refused(place, 'it has no valid call id and name');
  const parsed = parseJson(given === '' ? '{}' : given);
  if (!parsed.ok) throw refused(place, 'its arguments are not JSON');
  const part = toolCallPart(toolCallId(id), name, parsed.value);
  return { type: 'item', item: { kind: 'assistant', parts: [part] } };
}

function readEntry(entry: Entry, place: string): readonly InputEntry[] {
  const { type = 'message', id, call_id: call } = entry;
  switch (type ?? 'message') {
    case 'message':
      return [messageEntry(entry.role ?? 'user', entry.content ?? '', place)];
    case 'function_call':
      return [
        callEntry({ id: call ?? '', name: entry.name ?? '', text: entry.arguments ?? '' }, place),
      ];
    case 'function_call_output':
      return [{ type: 'output', callId: call ?? '', output: textIn(entry.output ?? '', place) }];
    case 'mcp_approval_response': {
      const callId = /^mcpr_(.+)$/.exec(entry.approval_request_id ?? '')?.[1];
      if (callId === undefined || entry.approve == null)
        throw refused(place, 'it needs approval_request_id and approve');
      const reason = entry.reason ?? undefined;
      return [{ type: 'approval', callId, isApproved: entry.approve, reason }];
    }
    case 'item_reference':
      return [{ type: 'reference', id: id ?? '' }];
    case 'mcp_call':
      return ranCall(entry, place);
    // The agent does not use these items: reasoning of earlier answers, answered questions, and lists of tools.
    case 'reasoning':
    case 'mcp_approval_request':
    case 'mcp_list_tools':
      return [];
    default:
      throw refused(place, `items of the type ${shown(type)} are not supported`);
  }
}

/** Returns a call that the agent ran in an earlier response, with its result. */
function ranCall(entry: Entry, place: string): readonly InputEntry[] {
  // Some providers accept only these characters in the id of a call.
  const id = (entry.id ?? '').replaceAll(/[^\w-]/g, '_').slice(-60);
  const call = callEntry({ id, name: entry.name ?? '', text: entry.arguments ?? '' }, place);
  const output = textIn(entry.output ?? '', place) || JSON.stringify(entry.error ?? '');
  return [call, { type: 'output', callId: id, output }];
}

/** Maximum number of parts in the input of a request. */
const maxInputParts = 20_000;

/** Refuses an input with too many parts. Each endpoint that converts messages to items has this limit. */
export function assertInputParts(count: number, param: string): void {
  if (count > maxInputParts) throw refused(param, `it has more than ${maxInputParts} parts`);
}

/**
 * Joins the entries to items of a new session. Neighbouring calls become one item, and neighbouring outputs
 * too, as providers expect it.
 */
export function joinItems(entries: readonly InputEntry[]): readonly NewItem[] {
  const items: (NewItem & { readonly parts: Part[] })[] = [];
  const names = new Map<string, string>();
  let count = 0;
  for (const entry of entries) {
    const { parts, ...item } = itemOf(entry, names);
    count += parts.length;
    assertInputParts(count, 'input');
    const last = items.at(-1);
    const joins = last?.kind === item.kind && (item.kind === 'tool' || item.kind === 'assistant');
    if (joins) last.parts.push(...parts);
    else items.push({ ...item, parts: [...parts] });
    for (const part of parts) if (part.kind === 'tool_call') names.set(part.toolCallId, part.name);
  }
  return items;
}

function itemOf(entry: InputEntry, names: ReadonlyMap<string, string>): NewItem {
  if (entry.type === 'item') return entry.item;
  if (entry.type !== 'output')
    throw refused(
      'input',
      'an answer to an approval needs previous_response_id or conversation, because the call belongs to a session',
    );
  const { callId, output } = entry;
  const name = names.get(callId);
  if (name === undefined || !isId(callId))
    throw refused('input', `No tool call found for function call output with call_id ${callId}.`);
  const result = { kind: 'tool_result', toolCallId: toolCallId(callId), name } as const;
  return { kind: 'tool', parts: [{ ...result, text: output, isError: false }] };
}

function partsOf(content: Content, place: string): readonly (TextPart | MediaPart | FilePart)[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  return content.map((part, index) => partOf(part, `${place}.content[${index}]`));
}

type ContentPart = Exclude<Content, string>[number];

function partOf(part: ContentPart, place: string): TextPart | MediaPart | FilePart {
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { kind: 'text', text: part.text ?? '' };
    case 'refusal':
      return { kind: 'text', text: part.refusal ?? '' };
    case 'image_url':
    case 'input_image': {
      const url = typeof part.image_url === 'object' ? part.image_url?.url : part.image_url;
      return pictureOf(url ?? '', place);
    }
    case 'input_audio': {
      const { data = '', format = '' } = part.input_audio ?? {};
      const type = format === 'mp3' ? 'mpeg' : format;
      return dataPart(`data:audio/${type};base64,${data}`, undefined, place);
    }
    case 'file':
    case 'input_file': {
      const { file_data: data, filename, file_id: id, file_url: url } = { ...part, ...part.file };
      if (id != null || url != null)
        throw refused(place, 'the server has no such file. Send its content as file_data');
      const isUrl = data?.startsWith('data:') === true;
      const bytes = isUrl ? data : `data:application/octet-stream;base64,${data ?? ''}`;
      return dataPart(bytes, filename ?? 'file', place);
    }
    default:
      throw refused(place, `content of the type ${shown(part.type)} is not supported`);
  }
}

function pictureOf(url: string, place: string): MediaPart | FilePart {
  if (!/^https?:\/\//.test(url)) return dataPart(url, undefined, place);
  return { kind: 'media', mimeType: 'image/*', source: { type: 'url', url } };
}

function dataPart(url: string, name: string | undefined, place: string): MediaPart | FilePart {
  const [, mimeType = '', data = ''] = /^data:([^;,]*)(?:;[^;,]*)*;base64,(.*)$/s.exec(url) ?? [];
  const bytes = /^[\w.+-]+\/[\w.+-]+$/.test(mimeType) ? fromBase64(data) : undefined;
  if (bytes === undefined) throw refused(place, 'it is neither a URL nor a base64 data URL');
  const source = { type: 'bytes', bytes } as const;
  if (name === undefined || /^(?:image|audio|video)\//.test(mimeType))
    return { kind: 'media', mimeType, source };
  return { kind: 'file', name, mimeType, source };
}

/** Returns the text of an output. */
export function textIn(content: Content, place: string): string {
  const parts = partsOf(content, place);
  const texts = parts.flatMap((part: Part) => (part.kind === 'text' ? part.text : []));
  if (texts.length < parts.length) throw refused(place, 'an output can contain only text');
  return texts.join('\n');
}

/** Returns the error for a field that the server cannot honour. */
export function refused(param: string, why: string): ServerError {
  const message = `Cannot use ${param}: ${why}`;
  return new ServerError('invalid', message, {}, { details: { param } });
}

export function shown(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 64) ?? 'undefined';
}
