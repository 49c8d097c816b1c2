import {
  type AgentEvent,
  type Attempt,
  type ItemId,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Stop,
} from '@millrace/core';
import { type Notice, noticeOf } from './notice.ts';

/** Maximum number of recent items to keep. No attempt has more items. */
const maxItems = 64;

/**
 * Facts that the fold of the content does not keep: calls, notices, queued messages and the start of
 * the run. Entries are immutable, so an unchanged entry stays the same object.
 */
export interface ChatFacts {
  readonly notices: readonly Notice[];
  /** Messages that the agent has not read yet, in order. */
  readonly queued: readonly QueuedMessage[];
  /** The time at which the run started. Undefined if no run is in progress. */
  readonly runStartedAt: number | undefined;
  /** The reason why the last run ended. Undefined while a run is in progress, and before the first run. */
  readonly lastStop: Stop | undefined;
  /** Returns the facts about a tool call. */
  call(id: string): CallFacts | undefined;
}

/** Collects the facts of a session from its events. */
export class FactIndex implements ChatFacts {
  #through = 0;
  #calls = new Map<string, CallFacts>();
  #notices: readonly Notice[] = [];
  #queued: readonly QueuedMessage[] = [];
  #runStartedAt: number | undefined;
  #lastStop: Stop | undefined;
  /** The most recent items. They determine the position of a notice about a superseded attempt. */
  #items: readonly (Attempt & { readonly id: ItemId })[] = [];

  get notices(): readonly Notice[] {
    return this.#notices;
  }

  /** Messages that the agent has not read yet, in order. */
  get queued(): readonly QueuedMessage[] {
    return this.#queued;
  }

  /** The time at which the run started. Undefined if no run is in progress. */
  get runStartedAt(): number | undefined {
    return this.#runStartedAt;
  }

  /** The reason why the last run ended. Undefined while a run is in progress, and before the first run. */
  get lastStop(): Stop | undefined {
    return this.#lastStop;
  }

  /** Returns the facts about a tool call. */
  call(id: string): CallFacts | undefined {
    return this.#calls.get(id);
  }

  /**
   * Adds an event. Returns true if the event changed the index. A duplicate event has no effect.
   */
  add(event: AgentEvent): boolean {
    if (event.offset <= this.#through) return false;
    if (!isFact(event)) return false;
    this.#through = event.offset;
    this.#noteItems(event);
    const isCall = this.#noteCall(event);
    const isQueue = this.#noteQueue(event);
    const isRun = this.#noteRun(event);
    const notice = noticeOf(event);
    if (notice === undefined) return isCall || isQueue || isRun;
    const { offset: id, time } = event;
    this.#notices = [...this.#notices, { id, time, after: this.#items.at(-1)?.id, ...notice }];
    return true;
  }

  #noteItems(event: AgentEvent): void {
    const { turn, attempt } = event;
    if (event.type === 'item_started') {
      this.#items = [...this.#items.slice(1 - maxItems), { id: event.itemId, turn, attempt }];
    }
    if (event.type === 'attempt_superseded') {
      const isIts = (item: Attempt) => item.turn === turn && item.attempt === attempt;
      this.#items = this.#items.filter((item) => !isIts(item));
    }
  }

  #noteCall(event: AgentEvent): boolean {
    if (event.type === 'aborted') return this.#noteStop();
    const facts = callFactsOf(event);
    if (facts === undefined || !('toolCallId' in event)) return false;
    const { toolCallId } = event;
    if (toolCallId === undefined) return false;
    const before = this.#calls.get(toolCallId);
    // A new execution of the call replaces an earlier execution that was lost or discarded.
    const { finishedAt: _, outcome: __, ...kept } = before ?? {};
    const isStart = event.type === 'tool_execution_started';
    this.#calls.set(toolCallId, { ...(isStart ? kept : before), ...facts });
    return true;
  }

  #noteStop(): boolean {
    const running = [...this.#calls].filter(
      ([, { startedAt, finishedAt }]) => startedAt !== undefined && finishedAt === undefined,
    );
    for (const [id, facts] of running) this.#calls.set(id, { ...facts, isStopped: true });
    return running.length > 0;
  }

  #noteQueue(event: AgentEvent): boolean {
    if (event.type === 'command_queued') {
      const message = queuedMessage(event.key, event.command);
      if (message === undefined) return false;
      this.#queued = [...this.#queued, message];
      return true;
    }
    if (event.type !== 'command_consumed') return false;
    const remaining = this.#queued.filter(({ key }) => key !== event.key);
    if (remaining.length === this.#queued.length) return false;
    this.#queued = remaining;
    return true;
  }

  #noteRun(event: AgentEvent): boolean {
    if (event.type !== 'run_started' && event.type !== 'run_finished') return false;
    this.#runStartedAt = event.type === 'run_started' ? event.time : undefined;
    this.#lastStop = event.type === 'run_finished' ? event.stop : undefined;
    const isCutShort = this.#lastStop !== undefined && this.#lastStop.reason !== 'stop';
    if (isCutShort) this.#queued = this.#queued.map((message) => ({ ...message, isLeft: true }));
    return true;
  }
}

/**
 * Returns true if the index must process the event. Deltas are frequent, and the index stores no
 * data from them.
 */
function isFact({ type }: AgentEvent): boolean {
  return !type.endsWith('_delta') && !type.startsWith('part_') && type !== 'tool_execution_update';
}

/** The state of a tool call without its result. Each change creates a new object. */
export interface CallFacts {
  readonly startedAt?: number;
  readonly finishedAt?: number;
  /** A one-line summary for users. */
  readonly summary?: string;
  /** The session of the sub-agent, if the call runs one. */
  readonly child?: string;
  /** The session that the sub-agent belongs to. In a copy of a session, it can be the original. */
  readonly parent?: string;
  /** True if the run was stopped while the call was running. */
  readonly isStopped?: boolean;
  readonly outcome?: 'completed' | 'discarded' | 'lost';
  readonly rejected?: { readonly code: string; readonly message: string };
  readonly answer?: {
    readonly decision: 'allow' | 'deny';
    readonly reason?: string | undefined;
    readonly by?: string | undefined;
    /** The input that the user entered in place of the original input. */
    readonly input?: JsonValue | undefined;
  };
}

/**
 * Returns the facts about a tool call in an event. Returns undefined if the event has no facts that
 * the page shows.
 */
function callFactsOf(event: AgentEvent): CallFacts | undefined {
  switch (event.type) {
    case 'tool_execution_started': {
      const { time: startedAt, summary, child, parent } = event;
      const link = {
        ...(child !== undefined && { child }),
        ...(parent !== undefined && { parent }),
      };
      return { startedAt, summary, ...link };
    }
    case 'tool_execution_finished':
      // A parked call still waits for an answer. A later execution continues it.
      if (event.outcome === 'parked') return undefined;
      return { finishedAt: event.time, outcome: event.outcome };
    case 'tool_call_rejected':
      return { rejected: { code: event.code, message: event.message } };
    case 'approval_answered': {
      const { decision, reason, by, input } = event;
      return { answer: { decision, reason, by, input } };
    }
    default:
      return undefined;
  }
}

/** A message that the agent has not read yet. */
export interface QueuedMessage {
  readonly key: string;
  readonly when: 'steer' | 'follow_up';
  readonly text: string;
  /**
   * True if the run stopped or failed before the agent read the message. The agent then reads it
   * together with the next message. Default: false, because a running agent reads its messages.
   */
  readonly isLeft?: boolean;
}

/** Converts a command to a message. Returns undefined if the command contains none. */
function queuedMessage(key: string, command: JsonObject): QueuedMessage | undefined {
  if (command['type'] === 'event')
    return { key, when: 'follow_up', text: contentText(command['content']) };
  if (command['type'] !== 'message') return undefined;
  const when = command['when'] === 'steer' ? 'steer' : 'follow_up';
  const items = listOf(command['items']);
  // A command without items is a retry, so it contains no message.
  if (items.length === 0) return undefined;
  const parts = items.flatMap((item) => listOf(fields(item)['parts']));
  const texts = parts
    .map((part) => fields(part)['text'])
    .filter((text) => typeof text === 'string');
  return { key, when, text: texts.join('\n') };
}

function contentText(content: JsonValue | undefined): string {
  const text = fields(content)['content'];
  return typeof text === 'string' ? text : 'An event';
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function fields(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
