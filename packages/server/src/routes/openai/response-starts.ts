import type { CallerOptions } from '@millrace/agent';
import {
  type Fact,
  type Item,
  isId,
  isPartId,
  type JsonObject,
  type LogRecord,
} from '@millrace/core';
import { type Log, readBackward } from '@millrace/log';

/** Identifies a response: its session, and the offset of the command that the response answers. */
export interface ResponseRef {
  readonly taskId: string;
  readonly offset: number;
}

/** Returns the id of a response. It contains everything that the server needs to read it from the log. */
export function responseId({ taskId, offset }: ResponseRef): string {
  return `resp_${taskId}_${offset}`;
}

/** Reads the id of a response. Returns undefined if the text is not such an id. */
export function parseResponseId(id: string): ResponseRef | undefined {
  const [, taskId = '', offset = ''] = /^resp_(.+)_(\d{1,15})$/.exec(id) ?? [];
  return isId(taskId) ? { taskId, offset: Number(offset) } : undefined;
}

/** The kinds of output items, with the prefixes of their ids. */
const prefixes = { message: 'msg', reasoning: 'rs', function_call: 'fc', mcp_call: 'mcp' } as const;

/** Returns the id of an output item. It names the part of the session that the item shows. */
export function outputId(kind: keyof typeof prefixes, taskId: string, partId: string): string {
  return `${prefixes[kind]}_${taskId}:${partId}`;
}

/** Reads the id of an output item. Returns undefined if the text is not such an id. */
export function parseItemId(
  id: string,
): { readonly taskId: string; readonly partId: string } | undefined {
  const [start, end] = [id.indexOf('_'), id.lastIndexOf(':')];
  if (start < 0 || end < start) return undefined;
  const [taskId, partId] = [id.slice(start + 1, end), id.slice(end + 1)];
  return isId(taskId) && isPartId(partId) ? { taskId, partId } : undefined;
}

/** Yields the offsets of the messages that start a run, from the newest to the oldest. */
export async function* messagesBackward(
  taskId: string,
  log: Log,
  through?: number,
): AsyncGenerator<number> {
  const range = through === undefined ? {} : { through };
  for await (const records of readBackward(log, taskId, range))
    for (const { fact, offset } of records.toReversed())
      if (fact?.type === 'command_queued' && isStart(fact.command)) yield offset;
}

/** Something that a response answers, on the log. */
export interface ResponseStart {
  readonly offset: number;
  /** `run`: a process started a run with a message of its own, and without a command. */
  readonly by: 'message' | 'answer' | 'run';
}

/** The types of the commands that answer a call. */
export const answerTypes = ['tool_output', 'approve', 'deny'];

/** Finds the newest message, answer or run in records that it gets from the newest to the oldest. */
export class StartFinder {
  #newest: ResponseStart | undefined;
  // These fields say which commands the records between a `run_started` and its first turn contain.
  #hasCommand = false;
  #hasMessage = false;

  /** Undefined if the records up to now contain no start. */
  get newest(): ResponseStart | undefined {
    return this.#newest;
  }

  add({ fact, offset }: LogRecord): void {
    const by = fact && this.#startBy(fact);
    if (by !== undefined) this.#newest ??= { offset, by };
    if (fact?.type === 'turn_started' || fact?.type === 'run_started')
      [this.#hasCommand, this.#hasMessage] = [false, false];
    this.#hasCommand ||= fact?.type === 'command_consumed';
    this.#hasMessage ||= fact?.type === 'item_started' && fact.kind === 'user';
  }

  #startBy(fact: Fact): ResponseStart['by'] | undefined {
    if (fact.type === 'run_started')
      return this.#hasMessage && !this.#hasCommand ? 'run' : undefined;
    if (fact.type !== 'command_queued') return undefined;
    if (isStart(fact.command)) return 'message';
    return answerTypes.includes(String(fact.command['type'])) ? 'answer' : undefined;
  }
}

/** Finds the newest message, answer or run of a session, up to an offset. Returns undefined if there is none. */
export async function newestStart(
  taskId: string,
  log: Log,
  through?: number,
): Promise<ResponseStart | undefined> {
  const finder = new StartFinder();
  for await (const records of readBackward(log, taskId, { through })) {
    for (const record of records.toReversed()) finder.add(record);
    if (finder.newest !== undefined) return finder.newest;
  }
  return undefined;
}

/** Returns whether a session has no other message, answer or run than the record of a response. */
export async function isOnlyResponse(
  { taskId, offset }: { readonly taskId: string; readonly offset: number },
  log: Log,
): Promise<boolean> {
  const newest = await newestStart(taskId, log);
  if (newest === undefined || newest.offset > offset) return false;
  return (await newestStart(taskId, log, offset - 1)) === undefined;
}

function isStart({ type, when }: JsonObject): boolean {
  return type === 'message' && when !== 'steer';
}

/** The options that a caller added to a message, and the request fields that the response repeats (`echo`). */
export interface StoredOptions {
  readonly caller: CallerOptions;
  readonly echo: JsonObject;
}

/** Reads the options of the last message of a user at or before an offset. */
export async function readOptions(
  taskId: string,
  { log }: { readonly log: Log },
  through?: number,
): Promise<StoredOptions> {
  const range = through === undefined ? {} : { through };
  for await (const records of readBackward(log, taskId, range)) {
    const found = records.findLast(
      ({ fact }) => fact?.type === 'item_started' && fact.kind === 'user',
    );
    if (found?.fact?.type === 'item_started') return optionsIn(found.fact.metadata);
  }
  return { caller: {}, echo: {} };
}

/** Reads the options from the metadata of an item. */
export function optionsIn(metadata: Item['metadata']): StoredOptions {
  const { caller = {}, openai = {} } = metadata ?? {};
  return { caller: caller as CallerOptions, echo: openai as JsonObject };
}
