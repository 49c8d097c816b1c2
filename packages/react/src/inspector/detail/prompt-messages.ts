import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';

/** A block of a message in a request. */
interface PromptBlock {
  readonly kind: 'text' | 'reasoning' | 'call' | 'result' | 'media' | 'other';
  /** The name of the tool, or the type of the block. */
  readonly title: string | undefined;
  readonly text: string;
}

/** A message of a model request, in a form that is independent of the provider. */
export interface PromptMessage {
  readonly role: string;
  readonly blocks: readonly PromptBlock[];
  /** The message in the provider's format. It is used to compare two requests. */
  readonly json: string;
}

/** A model request in a readable form. */
export interface Prompt {
  readonly messages: readonly PromptMessage[];
  /** The names of the offered tools. */
  readonly tools: readonly string[];
  /** All other fields of the body, for example `max_tokens`. */
  readonly settings: Readonly<Record<string, string>>;
}

const systemFields = ['system', 'instructions', 'systemInstruction', 'system_instruction'];
const listFields = ['messages', 'items', 'input', 'contents'];

/**
 * Converts the body of a request to messages. It supports the wire formats of all providers. These
 * are content blocks (Anthropic), messages (Chat Completions), input items (Responses), contents
 * with parts (Gemini), and Millrace items. An unknown block is shown as JSON.
 */
export function promptOf(body: JsonObject): Prompt {
  const system = systemFields.flatMap((name) => {
    const value = body[name];
    return isEmpty(value) ? [] : [messageOf({ role: 'system', content: systemText(value) })];
  });
  const list = listFields.map((name) => body[name]).find((value) => !isEmpty(value));
  const messages = typeof list === 'string' ? [{ role: 'user', content: list }] : listOf(list);
  const known = new Set([...systemFields, ...listFields, 'tools', 'stream', 'cache']);
  const settings = Object.entries(body).filter(
    ([name, value]) => !known.has(name) && !isEmpty(value),
  );
  return {
    messages: [...system, ...messages.map(messageOf)],
    tools: listOf(body['tools']).flatMap(toolNames),
    settings: Object.fromEntries(
      settings.map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    ),
  };
}

/** The differences between a request and the previous request. */
export interface PromptChange {
  /** The number of messages at the start that are equal in both requests. */
  readonly same: number;
  /** The messages of the previous request that follow the equal messages. */
  readonly removed: readonly PromptMessage[];
  /** The messages of this request that follow the equal messages. */
  readonly added: readonly PromptMessage[];
  /** The names of tools and settings that differ. */
  readonly settings: readonly string[];
}

/** Compares two requests. All messages before the first difference count as equal. */
export function promptChange(before: Prompt, after: Prompt): PromptChange {
  let same = 0;
  while (
    same < Math.min(before.messages.length, after.messages.length) &&
    before.messages[same]?.json === after.messages[same]?.json
  )
    same++;
  const names = new Set([...Object.keys(before.settings), ...Object.keys(after.settings)]);
  const settings = [...names].filter((name) => before.settings[name] !== after.settings[name]);
  const tools = before.tools.join() === after.tools.join() ? [] : ['tools'];
  return {
    same,
    removed: before.messages.slice(same),
    added: after.messages.slice(same),
    settings: [...tools, ...settings],
  };
}

/**
 * Estimates how many messages at the start came from the provider's cache. Providers report only a
 * number of tokens. So this function uses the share of cached tokens as the share of the text.
 */
export function cachedMessages({ messages }: Prompt, cachedShare: number): number {
  const total = messages.reduce((sum, { json }) => sum + json.length, 0);
  let length = 0;
  let count = 0;
  for (const { json } of messages) {
    length += json.length;
    // The share is only an estimate. So a message still counts as cached if it exceeds the share by
    // up to 5 %.
    if (length > total * cachedShare * 1.05) break;
    count++;
  }
  return cachedShare <= 0 ? 0 : count;
}

function messageOf(value: JsonValue): PromptMessage {
  const message = fieldsOf(value);
  const role = textOf(message['role'] ?? message['kind'] ?? message['type']) || 'message';
  const content = message['content'] ?? message['parts'];
  const calls = listOf(message['tool_calls']);
  const own = content === undefined && calls.length === 0 ? [blockOf(message)] : [];
  const blocks = [...contentBlocks(content), ...calls.map(blockOf), ...own];
  const name = textOf(message['tool_call_id']);
  const named = name === '' ? blocks : blocks.map((block) => asResult(block, name));
  return { role, blocks: named, json: JSON.stringify(withoutCacheMarks(value)) };
}

function contentBlocks(content: JsonValue | undefined): readonly PromptBlock[] {
  if (typeof content === 'string') return [{ kind: 'text', title: undefined, text: content }];
  return listOf(content).map(blockOf);
}

function asResult(block: PromptBlock, name: string): PromptBlock {
  return block.kind === 'text' ? { ...block, kind: 'result', title: name } : block;
}

/** Names of fields that contain the text of a block, in all wire formats. */
const textFields = ['text', 'thinking', 'summary', 'output', 'content', 'response', 'result'];

function blockOf(value: JsonValue): PromptBlock {
  if (typeof value === 'string') return { kind: 'text', title: undefined, text: value };
  const block = fieldsOf(value);
  const nested = block['function'] ?? block['functionCall'] ?? block['functionResponse'];
  const inner = nested === undefined ? block : fieldsOf(nested);
  const type = textOf(block['type'] ?? block['kind']);
  const name = textOf(inner['name']) || undefined;
  const args = inner['arguments'] ?? inner['input'] ?? inner['args'];
  const hasResponse = block['functionResponse'] !== undefined;
  if (/result|output$/.test(type) || hasResponse)
    return { kind: 'result', title: name, text: textIn(inner) };
  if (/call|tool_use/.test(type) || block['functionCall'] !== undefined || nested !== undefined)
    return { kind: 'call', title: name, text: jsonText(args) };
  if (/reason|thinking/.test(type))
    return { kind: 'reasoning', title: undefined, text: textIn(block) };
  if (/image|audio|video|media|file|document/.test(type) || block['inlineData'] !== undefined)
    return { kind: 'media', title: type || 'media', text: mediaText(block) };
  if (typeof block['text'] === 'string')
    return { kind: 'text', title: undefined, text: block['text'] };
  return { kind: 'other', title: type || undefined, text: JSON.stringify(value, null, 2) };
}

function textIn(block: JsonObject): string {
  const value = textFields.map((name) => block[name]).find((one) => !isEmpty(one));
  if (Array.isArray(value)) return value.map((one) => blockOf(one).text).join('\n');
  return value === undefined ? '' : jsonText(value);
}

/** Returns a short text in place of media, because people cannot read the bytes. */
function mediaText(block: JsonObject): string {
  const size = JSON.stringify(block).length;
  const type = /"(?:media_type|mimeType|mime_type)":"([^"]+)"/.exec(JSON.stringify(block))?.[1];
  return `${type ?? 'media'}, ${size} B`;
}

function systemText(value: JsonValue | undefined): JsonValue {
  const parts = fieldsOf(value)['parts'];
  return parts ?? value ?? '';
}

function toolNames(tool: JsonValue): readonly string[] {
  const fields = fieldsOf(tool);
  const nested = listOf(fields['functionDeclarations'] ?? fields['function_declarations']);
  if (nested.length > 0) return nested.flatMap(toolNames);
  const name = textOf(fields['name'] ?? fieldsOf(fields['function'])['name'] ?? fields['type']);
  return name === '' ? [] : [name];
}

/**
 * Removes cache marks. They move from request to request, so they do not count as a change of a
 * message.
 */
function withoutCacheMarks(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutCacheMarks);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => name !== 'cache_control');
  return Object.fromEntries(entries.map(([name, one]) => [name, withoutCacheMarks(one)]));
}

function jsonText(value: JsonValue | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function isEmpty(value: JsonValue | undefined): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (Array.isArray(value) && value.length === 0)
  );
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function fieldsOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
