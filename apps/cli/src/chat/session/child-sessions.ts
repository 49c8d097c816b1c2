import type { Clock } from '@millrace/agent';
import type { AgentEvent, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { ChatState } from '../contract/chat-state.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import { emptyChat, foldChat } from '../state/fold-chat.ts';
import { followSession } from './follow-session.ts';

interface ChildOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly onChange: () => void;
}

/** A sub-agent's session is made a moment after its call is told to have started. */
const waitMs = 50;

/** Follows the sessions of sub-agents while their calls run, for what they ask and what they do. */
export class ChildSessions {
  readonly #options: ChildOptions;
  readonly #states = new Map<SessionId, ChatState>();
  /** Of each call that runs, how to stop following it. */
  readonly #following = new Map<string, AbortController>();

  constructor(options: ChildOptions) {
    this.#options = options;
  }

  get approvals(): readonly PendingApproval[] {
    return [...this.#states.values()].flatMap((state) => state.approvals);
  }

  stateOf(session: SessionId): ChatState | undefined {
    return this.#states.get(session);
  }

  /** Hears what its parent, or another child, does. */
  hear(event: AgentEvent): void {
    if (event.type === 'tool_execution_started' && event.child !== undefined)
      this.#start(keyOf(event), event.child);
    if (event.type === 'tool_execution_finished') this.#leave(keyOf(event));
    if (event.type === 'run_finished') this.#leaveAll(`${event.session} `);
  }

  /** Those that run already. */
  adopt({ session, entries }: ChatState): void {
    for (const entry of entries) {
      if (entry.kind !== 'call' || entry.card.phase !== 'running') continue;
      const { child, execution: executionId } = entry.card;
      if (child !== undefined && executionId !== undefined)
        this.#start(keyOf({ session, executionId }), child);
    }
  }

  close(): void {
    this.#leaveAll('');
  }

  #start(key: string, session: SessionId): void {
    if (this.#following.has(key)) return;
    const stop = new AbortController();
    this.#following.set(key, stop);
    this.#states.set(session, emptyChat(session));
    stop.signal.addEventListener('abort', () => {
      this.#states.delete(session);
      this.#leaveAll(`${session} `);
      this.#options.onChange();
    });
    // Where it cannot be read, its call says what became of it.
    this.#follow(session, stop.signal).catch(() => {});
  }

  async #follow(session: SessionId, signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    while ((await log.info(session)) === undefined && !signal.aborted) await this.#wait(signal);
    if (signal.aborted) return;
    const onEvents = (events: readonly AgentEvent[]) => {
      for (const event of events) this.#fold(session, event);
      this.#options.onChange();
    };
    await followSession({ log, session, signal, onEvents });
  }

  #fold(session: SessionId, event: AgentEvent): void {
    const state = this.#states.get(session);
    if (state === undefined) return;
    this.#states.set(session, foldChat(state, event).state);
    this.hear(event);
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(waitMs, resolve);
      signal.addEventListener('abort', () => {
        cancel();
        resolve();
      });
    });
  }

  #leave(key: string): void {
    const stop = this.#following.get(key);
    this.#following.delete(key);
    stop?.abort();
  }

  #leaveAll(prefix: string): void {
    for (const key of [...this.#following.keys()]) if (key.startsWith(prefix)) this.#leave(key);
  }
}

function keyOf(event: { readonly session: SessionId; readonly executionId: string }): string {
  return `${event.session} ${event.executionId}`;
}
