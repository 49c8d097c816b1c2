import type { AgentEvent, Attempt, ItemId, JsonObject, JsonValue } from '@millrace/core';
import { type Notice, noticeOf } from './notice.ts';

/** No attempt has more. */
const maxItems = 64;

/**
 * What happened besides what was text: what a fold of content alone does not keep. Entries are
 * never changed, so that an entry that is the same is the same object.
 */
export class FactIndex {
  #through = 0;
  #calls = new Map<string, CallFacts>();
  #notices: readonly Notice[] = [];
  #queued: readonly QueuedMessage[] = [];
  #runStartedAt: number | undefined;
  /** The latest items, to know what a superseded attempt leaves. */
  #items: readonly (Attempt & { readonly id: ItemId })[] = [];

  get notices(): readonly Notice[] {
    return this.#notices;
  }

  /** What waits to be heard, in order. */
  get queued(): readonly QueuedMessage[] {
    return this.#queued;
  }

  /** Undefined where none goes on. */
  get runStartedAt(): number | undefined {
    return this.#runStartedAt;
  }

  call(id: string): CallFacts | undefined {
    return this.#calls.get(id);
  }

  /** Says whether it changed anything. What was there already changes nothing. */
  add(event: AgentEvent): boolean {
    if (event.offset <= this.#through) return false;
    if (!isFact(event)) return false;
    this.#through = event.offset;
    this.#noteItems(event);
    const isCall = this.#noteCall(event);
    const isQueue = this.#noteQueue(event);
    const isRun = this.#noteRun(event);
    const words = noticeOf(event);
    if (words === undefined) return isCall || isQueue || isRun;
    const { offset: id, time } = event;
    this.#notices = [...this.#notices, { id, time, after: this.#items.at(-1)?.id, ...words }];
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
    if (facts === undefined || !('id' in event) || event.id === undefined) return false;
    this.#calls.set(event.id, { ...this.#calls.get(event.id), ...facts });
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
    const left = this.#queued.filter(({ key }) => key !== event.key);
    if (left.length === this.#queued.length) return false;
    this.#queued = left;
    return true;
  }

  #noteRun(event: AgentEvent): boolean {
    if (event.type !== 'run_started' && event.type !== 'run_finished') return false;
    this.#runStartedAt = event.type === 'run_started' ? event.time : undefined;
    return true;
  }
}

/** Deltas come in number, and say nothing that is kept here. */
function isFact({ type }: AgentEvent): boolean {
  return !type.endsWith('_delta') && !type.startsWith('part_') && type !== 'tool_execution_update';
}

/** What became of a tool call, besides its result. A new object with each change. */
export interface CallFacts {
  readonly startedAt?: number;
  readonly finishedAt?: number;
  /** One line for people. */
  readonly summary?: string;
  /** The session of the sub-agent that it is. */
  readonly child?: string;
  /** The run was stopped while it went on. */
  readonly isStopped?: boolean;
  readonly outcome?: 'completed' | 'discarded' | 'lost';
  readonly rejected?: { readonly code: string; readonly message: string };
  readonly answer?: {
    readonly decision: 'allow' | 'deny';
    readonly reason?: string | undefined;
    readonly by?: string | undefined;
    /** It ran with this instead. */
    readonly input?: JsonValue | undefined;
  };
}

/** What an event adds; undefined where it is not about a call. */
function callFactsOf(event: AgentEvent): CallFacts | undefined {
  switch (event.type) {
    case 'tool_execution_started': {
      const { time: startedAt, summary, child } = event;
      return { startedAt, summary, ...(child !== undefined && { child }) };
    }
    case 'tool_execution_finished':
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

/** Something that was text and is not heard yet. */
interface QueuedMessage {
  readonly key: string;
  readonly when: 'steer' | 'follow_up';
  readonly text: string;
}

/** Undefined where the command is none that says something. */
function queuedMessage(key: string, command: JsonObject): QueuedMessage | undefined {
  if (command['type'] === 'event')
    return { key, when: 'follow_up', text: contentText(command['content']) };
  if (command['type'] !== 'message') return undefined;
  const when = command['when'] === 'steer' ? 'steer' : 'follow_up';
  const parts = listOf(command['items']).flatMap((item) => listOf(fields(item)['parts']));
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
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as JsonObject) : {};
}
