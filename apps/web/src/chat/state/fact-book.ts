import type { AgentEvent, Attempt, ItemId } from '@millrace/core';
import { type CallFacts, callFactsOf } from './call-facts.ts';
import { type Notice, noticeOf } from './notice.ts';
import { type QueuedMessage, queuedMessage } from './queued-message.ts';

/** No attempt has more. */
const maxItems = 64;

/**
 * What happened besides what was said: what a fold of content alone does not keep. Entries are
 * never changed, so that an entry that is the same is the same object.
 */
export class FactBook {
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
