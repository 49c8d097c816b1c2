import {
  countingIds,
  decodeTranscript,
  encodeTranscript,
  type Item,
  isId,
  type JsonObject,
  type JsonValue,
  type Stop,
  type ToolCallId,
  type TraceContext,
  traceContext,
  transcriptVersion,
} from '@millrace/core';
import type { Command, Decision, OutputCommand, QueuedCommand } from '../contract/command.ts';
import type { LoopState } from '../contract/loop-state.ts';
import { itemDrafts } from './drafts.ts';

/** Returns the queued commands, except messages that were withdrawn. */
export function activeCommands(commands: readonly QueuedCommand[]): readonly QueuedCommand[] {
  const gone = new Set(
    commands.flatMap(({ command }) => (command.type === 'withdraw' ? command.key : [])),
  );
  if (gone.size === 0) return commands;
  return commands.filter(({ key, command }) => command.type !== 'message' || !gone.has(key));
}

/**
 * Returns the queued commands that the open run may take. An input that names another agent waits, because the settings
 * of its agent must apply to it. Later inputs that name an agent wait behind it.
 */
export function commandsOfRun({
  commands,
  enqueuedFor,
}: Pick<LoopState, 'commands' | 'enqueuedFor'>): readonly QueuedCommand[] {
  let isNext = true;
  return activeCommands(commands).filter(({ agent }) => {
    isNext &&= (agent ?? enqueuedFor) === enqueuedFor;
    return isNext || agent === undefined;
  });
}

/**
 * Returns the agent that the session works for, if an enqueued input names it. An open turn and an open run keep their
 * agent. Otherwise the first enqueued input in the queue names the agent.
 */
export function agentOfWork({
  run,
  turn,
  commands,
  enqueuedFor,
}: Pick<LoopState, 'run' | 'turn' | 'commands' | 'enqueuedFor'>): string | undefined {
  if (run !== undefined || turn !== undefined) return enqueuedFor;
  return activeCommands(commands).find(({ agent }) => agent)?.agent ?? enqueuedFor;
}

/** Returns the queued aborts, in order. */
export function queuedAborts({ commands }: Pick<LoopState, 'commands'>): readonly QueuedCommand[] {
  return commands.filter(({ command }) => command.type === 'abort');
}

/** Returns true for a command that answers a call: an approval, a denial or an output. */
export function isCallAnswer(
  command: QueuedCommand['command'],
): command is Decision | OutputCommand {
  return ['approve', 'deny', 'tool_output'].includes(command.type);
}

/**
 * Returns true if queued input starts a new run after this stop. After other stops, the input waits until a
 * program starts the next run.
 */
export function startsQueuedInput({ reason }: Stop): boolean {
  return !['aborted', 'error', 'limit', 'parked', 'blocked'].includes(reason);
}

/** Encodes a command for the log. Throws if an item is invalid. */
export function encodeCommand(command: Command): JsonObject {
  const json = JSON.parse(JSON.stringify({ ...command, items: undefined })) as JsonObject;
  return command.type === 'message' ? { ...json, items: encodeItems(command.items) } : json;
}

/** Encodes the items of a message. Throws if an item is invalid, because the agent would skip the message. */
export function encodeItems(items: readonly Item[]): JsonValue {
  const json = JSON.parse(encodeTranscript(items)) as { readonly items: JsonValue };
  decodeItems(json.items);
  return json.items;
}

const unreadable = { type: 'unreadable' } as const;

/** Decodes a command. Returns `unreadable` or `unknown` if it cannot decode the command. */
export function decodeCommand(json: JsonObject): QueuedCommand['command'] {
  switch (json['type']) {
    case 'message':
      return decodeMessage(json);
    // Only an abort has a reason.
    case 'abort':
    case 'compact':
    case 'label':
      return { type: json['type'], reason: textOf(json['reason']) };
    case 'withdraw': {
      const key = textOf(json['key']);
      return key === undefined ? unreadable : { type: 'withdraw', key };
    }
    case 'revoke': {
      const rule = textOf(json['rule']);
      return rule === undefined ? unreadable : { type: 'revoke', rule };
    }
    case 'tool_output':
      return decodeOutput(json) ?? unreadable;
    case 'approve':
    case 'deny':
      return decodeDecision(json) ?? unreadable;
    default:
      return { type: 'unknown', given: json['type'] ?? null };
  }
}

/** Decodes a message. A message without the field `when` is a follow-up. */
function decodeMessage({ items, when, trace }: JsonObject): QueuedCommand['command'] {
  try {
    const steers = when === 'steer';
    return {
      ...{ type: 'message', when: steers ? 'steer' : 'follow_up', items: decodeItems(items) },
      ...decodeTrace(trace),
    };
  } catch {
    return unreadable;
  }
}

/** Decodes the trace of a message. An invalid trace is ignored, but the message is still used. */
function decodeTrace(json: JsonValue | undefined): { readonly trace?: TraceContext } {
  const { traceparent, tracestate } = (json ?? {}) as JsonObject;
  const trace = traceContext(traceparent, tracestate);
  return trace === undefined ? {} : { trace };
}

/** Decodes items. Throws if the log refuses them later, because no message behind them would get an answer. */
function decodeItems(items: JsonValue | undefined): readonly Item[] {
  const decoded = decodeTranscript(JSON.stringify({ v: transcriptVersion, items }));
  itemDrafts(decoded, countingIds());
  return decoded;
}

function decodeOutput(json: JsonObject): OutputCommand | undefined {
  const { toolCallId, output } = json;
  const error = textOf(json['error']);
  if (typeof toolCallId !== 'string' || !isId(toolCallId)) return undefined;
  if ((output === undefined) === (error === undefined)) return undefined;
  const about = { toolCallId: toolCallId as ToolCallId, by: textOf(json['by']) };
  return { type: 'tool_output', ...about, output, error };
}

function decodeDecision(json: JsonObject): Decision | undefined {
  const { type, toolCallId, input, basis, until } = json;
  if (typeof toolCallId !== 'string' || !isId(toolCallId)) return undefined;
  const about = { toolCallId: toolCallId as ToolCallId, by: textOf(json['by']) };
  if (type === 'deny') return { type, ...about, reason: textOf(json['reason']) };
  const isTime = Number.isSafeInteger(until) && Number(until) >= 0;
  const lasts = until === 'session' ? until : isTime ? Number(until) : undefined;
  return { type: 'approve', ...about, input, basis: textOf(basis), until: lasts };
}

/** Returns a text of a command, or undefined if the value is not a text. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
