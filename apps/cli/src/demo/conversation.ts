import type { Item, JsonValue, Part, ToolCallPart, ToolResultPart } from '@millrace/core';

/** A tool call and its result. */
export interface Step {
  readonly name: string;
  readonly input: JsonValue | undefined;
  readonly result: ToolResultPart;
}

/**
 * The state of the conversation. It is computed from each request, because the demo has no memory.
 */
export interface Conversation {
  /** The latest message of the user. */
  readonly latest: string;
  /** The files of the latest message, one line each. */
  readonly files: readonly string[];
  /** True if the assistant has not replied to the latest message yet. */
  readonly isNew: boolean;
  /**
   * The tool calls since the user's request. Messages that the user sent during the work belong to
   * the same request.
   */
  readonly steps: readonly Step[];
  /**
   * The unfinished answer that the user interrupted with the latest message. Undefined if there is
   * none.
   */
  readonly interrupted: string | undefined;
  /** All complete answers. Older answers may be summaries. */
  readonly answers: readonly string[];
  /** The number of requests so far. */
  readonly requests: number;
}

/** The result that the loop records for a stopped call. */
const stoppedResult = 'It was stopped before it was done.';

export function readConversation(items: readonly Item[]): Conversation {
  const messages = items.filter(({ kind }) => kind !== 'system' && kind !== 'developer');
  const latestAt = messages.findLastIndex(({ kind }) => kind === 'user');
  const startAt = requestStart(messages, latestAt);
  const before = messages.slice(0, latestAt).findLast(({ kind }) => kind !== 'user');
  return {
    latest: textOf(messages[latestAt]),
    files: messages[latestAt]?.parts.flatMap(fileLine) ?? [],
    isNew: messages.slice(latestAt + 1).every(({ kind }) => kind !== 'assistant'),
    steps: collectSteps(messages.slice(Math.max(startAt, 0))),
    interrupted: before !== undefined && wasInterrupted(before) ? textOf(before) : undefined,
    answers: messages.filter((item) => isAnswer(item)).map(textOf),
    requests: messages.filter(
      (item, at) => item.kind === 'user' && requestStart(messages, at) === at,
    ).length,
  };
}

/** Describes a file that the model has received. */
function fileLine(part: Part): string | [] {
  if (part.kind !== 'file' && part.kind !== 'media') return [];
  const name = part.kind === 'file' ? part.name : 'a file';
  const size = part.source.type === 'bytes' ? `, ${part.source.bytes.length} bytes` : '';
  return `- ${name} (${part.mimeType}${size})`;
}

/**
 * Returns the index at which the request of a user message starts. A message after tool results
 * belongs to the earlier request.
 */
function requestStart(items: readonly Item[], at: number): number {
  let start = at;
  for (let index = at - 1; index >= 0; index--) {
    const kind = items[index]?.kind;
    const follows = items[index + 1]?.kind === 'user' && kind !== 'user' && kind !== 'tool';
    if (follows) return start;
    if (kind === 'user') start = index;
  }
  return start;
}

function collectSteps(items: readonly Item[]): readonly Step[] {
  const parts = items.flatMap((item): readonly Part[] => item.parts);
  const calls = parts.filter((part): part is ToolCallPart => part.kind === 'tool_call');
  return parts.flatMap((part) => {
    if (part.kind !== 'tool_result' || part.text === stoppedResult) return [];
    const call = calls.find(({ toolCallId }) => toolCallId === part.toolCallId);
    return [{ name: part.name, input: call?.input, result: part }];
  });
}

function wasInterrupted({ stop, parts }: Item): boolean {
  return stop?.reason === 'aborted' || parts.some((part) => part.partial || isStopped(part));
}

function isStopped(part: Part): boolean {
  return part.kind === 'tool_result' && part.text === stoppedResult;
}

function isAnswer(item: Item): boolean {
  const isSaid = item.kind === 'assistant' || item.kind === 'context';
  return isSaid && !wasInterrupted(item) && item.parts.every(({ kind }) => kind !== 'tool_call');
}

function textOf(item: Item | undefined): string {
  return (item?.parts ?? []).map((part) => (part.kind === 'text' ? part.text : '')).join('\n');
}
