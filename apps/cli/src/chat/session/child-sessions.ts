import type { Clock } from '@millrace/agent';
import type { AgentEvent, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { ChatState } from '../contract/chat-state.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import { emptyChat, foldChat } from '../state/fold-chat.ts';
import { followSession } from './follow-session.ts';

interface ChildSessionsOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly onChange: () => void;
}

/** The session of a sub-agent is created shortly after its call starts, so it is polled. */
const pollMs = 50;

/** Follows the sessions of sub-agents while their calls run, for their approvals and states. */
export class ChildSessions {
  readonly #options: ChildSessionsOptions;
  readonly #states = new Map<SessionId, ChatState>();
  /** The abort controller of each running call. */
  readonly #following = new Map<string, AbortController>();

  constructor(options: ChildSessionsOptions) {
    this.#options = options;
  }

  get approvals(): readonly PendingApproval[] {
    return [...this.#states.values()].flatMap((state) => state.approvals);
  }

  stateOf(session: SessionId): ChatState | undefined {
    return this.#states.get(session);
  }

  /** Handles an event of the parent or of another child. */
  handle(event: AgentEvent): void {
    if (event.type === 'tool_execution_started' && event.child !== undefined)
      this.#startFollowing(keyOf(event), event.child);
    if (event.type === 'tool_execution_finished') this.#unfollow(keyOf(event));
    if (event.type === 'run_finished') this.#unfollowAll(`${event.session} `);
  }

  /** Follows the children of calls that are already running. */
  followRunning({ session, entries }: ChatState): void {
    for (const entry of entries) {
      if (entry.kind !== 'call' || entry.card.phase !== 'running') continue;
      const { child, execution: executionId } = entry.card;
      if (child !== undefined && executionId !== undefined)
        this.#startFollowing(keyOf({ session, executionId }), child);
    }
  }

  close(): void {
    this.#unfollowAll('');
  }

  #startFollowing(key: string, session: SessionId): void {
    if (this.#following.has(key)) return;
    const stop = new AbortController();
    this.#following.set(key, stop);
    this.#states.set(session, emptyChat(session));
    stop.signal.addEventListener('abort', () => {
      this.#states.delete(session);
      this.#unfollowAll(`${session} `);
      this.#options.onChange();
    });
    // If the session cannot be read, the call's result reports the problem.
    this.#follow(session, stop.signal).catch(() => {});
  }

  async #follow(session: SessionId, signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    while ((await log.info(session)) === undefined && !signal.aborted)
      await this.#waitForPoll(signal);
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
    this.handle(event);
  }

  #waitForPoll(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(pollMs, resolve);
      signal.addEventListener('abort', () => {
        cancel();
        resolve();
      });
    });
  }

  #unfollow(key: string): void {
    const stop = this.#following.get(key);
    this.#following.delete(key);
    stop?.abort();
  }

  #unfollowAll(prefix: string): void {
    for (const key of [...this.#following.keys()]) if (key.startsWith(prefix)) this.#unfollow(key);
  }
}

function keyOf(event: { readonly session: SessionId; readonly executionId: string }): string {
  return `${event.session} ${event.executionId}`;
}
