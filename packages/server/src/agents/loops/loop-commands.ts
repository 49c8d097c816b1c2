import { encodeItems } from '@millrace/agent/steps';
import {
  defaultContentLimits,
  emptyState,
  type FoldState,
  type Item,
  type JsonObject,
  type JsonValue,
  type LogRecord,
  type Part,
  sessionId,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Content } from '../../contract/content.ts';
import type { Command } from '../../contract/request-bodies.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { MessageExtras } from '../../contract/service.ts';
import type { QueuedCommand } from '../../journal/journal-state.ts';
import { loadRecentState } from '../../journal/local-journal.ts';
import { convertContent } from '../../messages/message-drafts.ts';
import { contentToParts } from '../../updates/content-parts.ts';
import { messageWithdrawn } from '../answers.ts';

/**
 * Journal options for the tasks of agent loops. The journal does not repair a session, because the loop does
 * this. The journal releases the lease immediately, because the loop needs it.
 */
export const loopJournalOptions = { repairsOnOpen: false, idleMs: 0 } as const;

/** The types of commands that get no answer. They do not resume an interrupted task. */
export const silentCommandTypes: ReadonlySet<string> = new Set([
  ...['abort', 'withdraw', 'revoke', 'label'],
]);

/** Returns whether the command expects an answer. */
export function expectsAnswer({ command }: QueuedCommand): boolean {
  return !silentCommandTypes.has(String(command['type']));
}

/** Returns whether the command stops the current run. */
export function isAbort({ command }: QueuedCommand): boolean {
  return command['type'] === 'abort';
}

/** Converts a client's command to the JSON that the agent loop reads from the log. */
export function toLoopCommand(
  command: Command,
  newId: () => Item['id'],
  { files = [], metadata, items }: MessageExtras = {},
): JsonObject {
  switch (command.type) {
    case 'message':
    case 'steer': {
      const when = command.type === 'steer' ? 'steer' : 'follow_up';
      const given = items ?? [{ kind: 'user', parts: messageParts(command.content, files) }];
      const more = metadataOf({ ...metadata, ...given.at(-1)?.metadata }, command.model);
      const all = given.map((item, index) => ({
        ...item,
        id: newId(),
        ...(index === given.length - 1 && more),
      }));
      return { type: 'message', when, items: convertContent(() => itemsJson(all)) };
    }
    case 'retry':
      // A `message` command without items starts a run that sends the failed request again. If messages wait
      // in the queue, the run answers those instead.
      return { type: 'message', when: 'follow_up', items: [] };
    case 'approve': {
      const { type, tool_call_id: toolCallId, by, input, until } = command;
      return {
        ...{ type, toolCallId, ...(by != null && { by }) },
        ...{ ...(input !== undefined && { input }), ...(until != null && { until }) },
      };
    }
    case 'deny': {
      const { type, tool_call_id: toolCallId, by, reason } = command;
      return { type, toolCallId, ...(by != null && { by }), ...(reason != null && { reason }) };
    }
    case 'tool_output': {
      const { type, tool_call_id: toolCallId, by, output, error } = command;
      return {
        ...{ type, toolCallId, ...(by != null && { by }) },
        ...{ ...(output !== undefined && { output }), ...(error !== undefined && { error }) },
      };
    }
    case 'abort':
      return { type: 'abort', ...(command.reason != null && { reason: command.reason }) };
    case 'compact':
      return { type: 'compact' };
    case 'withdraw':
      return { type: 'withdraw', key: command.key };
    case 'revoke':
      return { type: 'revoke', rule: command.rule };
  }
}

function messageParts(content: Content, files: Item['parts']): Item['parts'] {
  return withFiles(
    convertContent(() => contentToParts(content)),
    files,
  );
}

function metadataOf(metadata: JsonObject, model: string | null | undefined) {
  if (Object.keys(metadata).length === 0 && model == null) return {};
  return { metadata: { ...metadata, ...(model != null && { model }) } };
}

/** Adds the files to the parts of a message. If there are files, the result omits empty texts. */
export function withFiles(parts: Item['parts'], files: Item['parts']): Item['parts'] {
  const isEmptyText = (part: Part) => part.kind === 'text' && part.text === '';
  return [...parts.filter((part) => !isEmptyText(part) || files.length === 0), ...files];
}

/** Converts items to JSON. Throws if an item is invalid, or if the message is too long for the log. */
function itemsJson(items: readonly Item[]): JsonValue {
  const json = encodeItems(items);
  // A command on the log is one value.
  const { maxTextLength: max } = defaultContentLimits;
  if (JSON.stringify(json).length > max)
    throw new ServerError('too_large', `A message can have at most ${max} characters of JSON`);
  return json;
}

/** Converts a client's idempotency key to the key of a command on the log. */
export function commandKey(key: string): string {
  return `command:${key}`;
}

/** Converts a client's idempotency key to the key of the message on the log. */
export function messageKey(key: string): string {
  return `message:${key}`;
}

/**
 * Returns a function that detects the start of the answer to a message. One record takes the message from the
 * queue, and the next record starts the item of the message. A withdrawn message has no such item.
 */
export function consumesMessage(taskId: string, key: string) {
  return ({ fact }: LogRecord, previous: LogRecord | undefined): boolean => {
    const consumed = previous?.fact;
    if (consumed?.type !== 'command_consumed' || consumed.key !== key) return false;
    if (fact?.type === 'item_started') return true;
    throw messageWithdrawn(taskId);
  };
}

/**
 * Returns the current state of a task's session. If the session does not exist yet, the state is empty. The
 * state may omit items from before the last turn.
 */
export async function currentState(log: Log, taskId: string): Promise<FoldState> {
  const session = sessionId(taskId);
  const isNew = (await log.info(session)) === undefined;
  return isNew ? emptyState(session) : (await loadRecentState(log, session)).state;
}
