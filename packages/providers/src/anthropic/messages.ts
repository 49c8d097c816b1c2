import type { JsonObject } from '@millrace/core';
import type { CacheHints } from '../contract/model-request.ts';
import { fault } from '../errors/wire-fault.ts';
import type { AssistantPart, Message, SaidPart } from '../history/message.ts';
import { assistantBlock } from './assistant-blocks.ts';
import { CachePoints } from './cache-points.ts';
import { saidBlock } from './content-blocks.ts';
import { unpairedParts } from './hosted-pairs.ts';
import { toolResultBlock } from './tool-result-block.ts';

export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: readonly JsonObject[];
}

export interface Conversation {
  readonly system: readonly JsonObject[];
  readonly turns: readonly Turn[];
}

/** The messages as the API wants them: what instructs by itself, and turns of both sides, one by one. */
export function conversationOf(
  messages: readonly Message[],
  cache: CacheHints | undefined,
): Conversation {
  const points = new CachePoints(cache?.longLived === true);
  const unpaired = unpairedParts(messages);
  const system: JsonObject[] = [];
  const turns: { role: Turn['role']; content: JsonObject[] }[] = [];
  for (const message of messages) {
    const blocks = blocksOf(message, unpaired);
    if (message.isCachePoint) points.noteEnd(blocks);
    const role = roleOf(message);
    const last = turns.at(-1);
    if (role === 'system') system.push(...blocks);
    else if (last?.role === role) last.content.push(...blocks);
    else if (blocks.length > 0) turns.push({ role, content: blocks });
  }
  const marked = turns.map(({ role, content }) => ({ role, content: points.mark(content) }));
  return { system: points.mark(system), turns: wellOrdered(marked) };
}

function roleOf({ role }: Message): 'system' | 'user' | 'assistant' {
  switch (role) {
    case 'system':
    case 'developer':
      return 'system';
    case 'user':
    case 'tool':
      return 'user';
    case 'assistant':
      return 'assistant';
  }
}

function blocksOf(message: Message, unpaired: ReadonlySet<unknown>): JsonObject[] {
  return sentBlocks(message, unpaired).filter((block) => block !== undefined);
}

function sentBlocks(
  message: Message,
  unpaired: ReadonlySet<unknown>,
): readonly (JsonObject | undefined)[] {
  switch (message.role) {
    case 'system':
    case 'developer':
      return message.parts.map((part) => instruction(part, message.role));
    case 'user':
      return message.parts.map(saidBlock);
    case 'assistant':
      return message.parts
        .filter((part, place) => !unpaired.has(part) && !isLateThinking(message.parts, place))
        .map(assistantBlock);
    case 'tool':
      return message.results.map(toolResultBlock);
  }
}

/** Thinking comes before the calls that it led to, or is refused. */
function isLateThinking(parts: readonly AssistantPart[], place: number): boolean {
  const firstCall = parts.findIndex(({ kind }) => kind === 'tool_call');
  return parts[place]?.kind === 'reasoning' && firstCall >= 0 && firstCall < place;
}

function instruction(part: SaidPart, role: string): JsonObject | undefined {
  if (part.kind === 'text' || part.kind === 'structured') return saidBlock(part);
  throw fault('invalid_request', `a ${role} item has a ${part.kind} part; say it as a user item`);
}

/** The user has the first word, and the model's last one ends neither in thinking nor in space. */
function wellOrdered(turns: readonly Turn[]): readonly Turn[] {
  const first: Turn = { role: 'user', content: [{ type: 'text', text: '(It begins here.)' }] };
  const begun = turns[0]?.role === 'user' ? turns : [first, ...turns];
  const last = begun.at(-1);
  if (last?.role !== 'assistant') return begun;
  const end = last.content.findLastIndex((block) => !isThinking(block));
  const content = trimmed(last.content.slice(0, end + 1));
  return [...begun.slice(0, -1), ...(content.length === 0 ? [] : [{ ...last, content }])];
}

function isThinking({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/** Blocks of nothing but space are gone by now, so that something is left of each. */
function trimmed(content: readonly JsonObject[]): readonly JsonObject[] {
  const last = content.at(-1);
  const text = last?.['type'] === 'text' ? last['text'] : undefined;
  if (typeof text !== 'string') return content;
  return [...content.slice(0, -1), { ...last, text: text.trimEnd() }];
}
