import type { JsonObject, JsonValue } from '@millrace/core';
import { objectIn, objectsIn, textIn } from '../json/fields.ts';
import type { Wire } from './recordings.ts';

/** A request in the form in which the provider's cache reads it. */
export interface CachedRequest {
  /**
   * Everything before the conversation, in the provider's order: tools, format, and the agent's
   * instructions, which come first. Other instructions are part of the conversation.
   */
  readonly head: readonly string[];
  /**
   * The settings on which the stored conversation depends. The stored head does not depend on them.
   */
  readonly settings: string;
  /** The smallest pieces of the conversation that the provider stores, in order. */
  readonly blocks: readonly string[];
  /**
   * The number of blocks of head and conversation that each mark covers. Undefined if the provider
   * caches without marks.
   */
  readonly marks: readonly number[] | undefined;
  /** The key that routes requests to a cache. Undefined if the provider has none. */
  readonly key: JsonValue | undefined;
}

/** The differences that are allowed between two requests of a session. */
export interface AllowedChange {
  /**
   * True if the conversation was rewritten on purpose between the requests, because it was
   * compacted or the provider rejected its reasoning. Tools and instructions must stay the same
   * even then.
   */
  readonly isRewritten: boolean;
  /**
   * False if a request of another agent or model came between the requests, so that the marks moved
   * on.
   */
  readonly isNext: boolean;
}

/** The number of blocks that Anthropic searches for a stored prefix, backwards from each mark. */
const lookback = 20;

/** The largest number of marks that any API accepts in a request. */
const maxMarks = 4;

/**
 * Returns the violations of the cache law by a request, compared with an earlier request of the
 * same session to the same model. The law requires that everything that the provider has stored of
 * the earlier request is a prefix of the later one, byte for byte. A mark of the later request must
 * also find this prefix.
 */
export function cacheFaults(
  earlier: CachedRequest,
  later: CachedRequest,
  { isRewritten, isNext }: AllowedChange,
): readonly string[] {
  const head = difference(earlier.head, later.head);
  const isSameHead = head === undefined && earlier.head.length === later.head.length;
  if (!isSameHead) return [`tools, instructions or settings changed: ${head ?? 'more or fewer'}`];
  const faults = [
    ...(earlier.key === later.key ? [] : ['the cache key changed']),
    ...markFaults(later),
  ];
  if (isRewritten) return faults;
  if (earlier.settings !== later.settings) {
    return [...faults, `settings changed: ${earlier.settings} → ${later.settings}`];
  }
  const stored = storedBlocks(earlier);
  const changed = difference([...earlier.head, ...earlier.blocks].slice(0, stored), [
    ...later.head,
    ...later.blocks,
  ]);
  if (changed !== undefined) return [...faults, `the stored prefix changed: ${changed}`];
  return isNext ? [...faults, ...readFaults(stored, later)] : faults;
}

/** Returns the number of blocks that the provider has stored after a request. */
function storedBlocks({ head, blocks, marks }: CachedRequest): number {
  return marks === undefined ? head.length + blocks.length : (marks.at(-1) ?? 0);
}

function readFaults(stored: number, { marks }: CachedRequest): readonly string[] {
  if (marks === undefined || stored === 0) return [];
  const isFound = marks.some((mark) => mark >= stored && mark - stored < lookback);
  return isFound ? [] : [`no mark of ${marks.join(', ')} finds the prefix of ${stored} blocks`];
}

function markFaults({ head, blocks, marks }: CachedRequest): readonly string[] {
  if (marks === undefined) return [];
  const all = [...head, ...blocks];
  const lastMark = marks.at(-1) ?? 0;
  const missed = all.slice(lastMark).find(isInput);
  return [
    ...(marks.length > maxMarks ? [`there are ${marks.length} marks`] : []),
    ...marks.flatMap((mark) =>
      isBlank(all[mark - 1] ?? '') ? `a mark is on ${all[mark - 1]}` : [],
    ),
    ...(lastMark === 0 ? ['nothing is marked'] : []),
    ...(missed === undefined ? [] : [`no mark covers ${missed}`]),
  ];
}

/** Returns whether providers reject a mark on this block. */
function isBlank(block: string): boolean {
  return /"type":"(?:redacted_)?thinking"|"text":"\s*"/.test(block);
}

/**
 * Returns whether a block is input of the user or a tool, which the next request repeats.
 * Instructions after the last answer, and texts that a wire adds at the end, can differ in the next
 * request.
 */
function isInput(block: string): boolean {
  const isAdded = /"text":"(?:<system>|\(It begins here|Continue your answer exactly)/.test(block);
  return /"role":"(?:user|tool)"/.test(block) && !isAdded && !isBlank(block);
}

/**
 * Returns the first block that differs in the other list, as text. Returns undefined if there is
 * none.
 */
function difference(given: readonly string[], others: readonly string[]): string | undefined {
  const at = given.findIndex((block, index) => block !== others[index]);
  return at < 0 ? undefined : `${at}: ${given[at]} → ${others[at] ?? 'nothing'}`;
}

/** Reads a request body in the order in which its provider caches it. */
export function cachedRequest(wire: Wire, body: JsonObject): CachedRequest {
  switch (wire) {
    case 'anthropic':
      return anthropicRequest(body);
    case 'openai-chat':
      return chatRequest(body);
    case 'openai-responses': {
      const settings = fieldsOf(body, ['text', 'reasoning', 'tool_choice', 'include']);
      return unmarked(body, [...objectsIn(body, 'tools'), settings], objectsIn(body, 'input'));
    }
    case 'gemini': {
      const settings = fieldsOf(body, ['tools', 'toolConfig', 'generationConfig']);
      const instructions = objectsIn(objectIn(body, 'systemInstruction'), 'parts');
      const parts = objectsIn(body, 'contents').flatMap((content) =>
        objectsIn(content, 'parts').map((part) => ({ role: textIn(content, 'role') ?? '', part })),
      );
      const head = [settings, ...instructions.slice(0, 1)];
      return unmarked(body, head, [...instructions.slice(1), ...parts]);
    }
  }
}

function anthropicRequest(body: JsonObject): CachedRequest {
  const instructions = objectsIn(body, 'system');
  const head = [...objectsIn(body, 'tools'), ...instructions.slice(0, 1)];
  const blocks = objectsIn(body, 'messages').flatMap((message) =>
    objectsIn(message, 'content').map((block) => ({ role: textIn(message, 'role') ?? '', block })),
  );
  const settings = textOf(fieldsOf(body, ['thinking', 'tool_choice', 'output_config']));
  return { ...marked(undefined, head, [...instructions.slice(1), ...blocks]), settings };
}

function chatRequest(body: JsonObject): CachedRequest {
  const settings = fieldsOf(body, ['response_format', 'reasoning_effort', 'reasoning', 'thinking']);
  const head = [...objectsIn(body, 'tools'), settings];
  const messages = objectsIn(body, 'messages');
  const key = body['prompt_cache_key'] ?? body['session_id'];
  const hasMarks = /claude/.test(textIn(body, 'model') ?? '');
  if (!hasMarks) return { ...unmarked(body, head, messages), key };
  // The gateway turns each part of a message into a block.
  const blocks = messages.flatMap((message) => {
    const { content, ...rest } = message;
    const parts = Array.isArray(content) ? content : [content ?? null];
    return parts.map((part) => ({ ...rest, part }));
  });
  return marked(key, head, blocks);
}

function unmarked(
  body: JsonObject,
  head: readonly JsonObject[],
  blocks: readonly JsonObject[],
): CachedRequest {
  const key = body['prompt_cache_key'];
  return {
    head: head.map(textOf),
    blocks: blocks.map(textOf),
    marks: undefined,
    key,
    settings: '',
  };
}

function marked(
  key: JsonValue | undefined,
  head: readonly JsonObject[],
  blocks: readonly JsonObject[],
): CachedRequest {
  const marks = [...head, ...blocks].flatMap((block, index) =>
    isMarked(block) ? [index + 1] : [],
  );
  return { key, head: head.map(textOf), blocks: blocks.map(textOf), marks, settings: '' };
}

function fieldsOf(body: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, body[name] ?? null]));
}

const controlName = 'cache_control';

/** Returns whether a block has a mark, on itself or on the part inside it. */
function isMarked(block: JsonObject): boolean {
  const inner = objectIn(block, 'block') ?? objectIn(block, 'part');
  return controlName in block || (inner !== undefined && controlName in inner);
}

/** Returns the block as text without its mark, because marks are not cached. */
function textOf(block: JsonObject): string {
  return JSON.stringify(block, (name, value: unknown) =>
    name === controlName ? undefined : value,
  );
}
