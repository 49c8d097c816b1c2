import type { Clock } from '@millrace/agent';
import { type AgentEvent, agentEvents, Folder, type SessionId } from '@millrace/core';
import { type Log, readRecords } from '@millrace/log';
import type { Block } from '../contract/block.ts';
import type { ChatState } from '../contract/chat-state.ts';
import { emptyChat, foldChat } from '../state/fold-chat.ts';

interface ReplayOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly clock: Clock;
  /** The speed of the replay. 2 means twice the original speed. */
  readonly speed: number;
  readonly print: (blocks: readonly Block[]) => void;
  readonly onChange: () => void;
}

/** Maximum pause between two records. Longer pauses are shortened. */
const maxPauseMs = 2000;

/**
 * Replays a session from its log. Its records are folded and printed like records of a live
 * session.
 */
export class ReplaySession {
  readonly #options: ReplayOptions;
  readonly #stop = new AbortController();
  #state: ChatState;
  /** The original time of the last record, and the time of its replay. */
  #last: { readonly thenMs: number; readonly nowMs: number } | undefined;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#state = emptyChat(options.session);
  }

  get state(): ChatState {
    return this.#state;
  }

  /**
   * The current time in the recorded session. With this time, durations look as they did
   * originally.
   */
  get now(): number {
    const { clock, speed } = this.#options;
    if (this.#last === undefined) return clock.now();
    return this.#last.thenMs + (clock.now() - this.#last.nowMs) * speed;
  }

  /** Plays the session. Resolves when all records were shown, or when the replay was stopped. */
  async play(): Promise<'done' | 'stopped'> {
    const { log, session } = this.#options;
    const folder = new Folder(session);
    let lastMs: number | undefined;
    for await (const record of readRecords(log, session)) {
      const { time, offset } = record;
      if (lastMs !== undefined && time > lastMs) await this.#pause(time - lastMs);
      if (this.#stop.signal.aborted) return 'stopped';
      lastMs = time;
      this.#last = { thenMs: time, nowMs: this.#options.clock.now() };
      const events: AgentEvent[] = [];
      const batch = { after: folder.state.through, through: offset, records: [record] };
      folder.addBatch(batch, (...step) => events.push(...agentEvents(...step)));
      this.#show(events);
    }
    return 'done';
  }

  stop(): void {
    this.#stop.abort();
  }

  #show(events: readonly AgentEvent[]): void {
    const { print, onChange } = this.#options;
    for (const event of events) {
      const { state, blocks } = foldChat(this.#state, event);
      this.#state = state;
      if (blocks.length > 0) print(blocks);
    }
    onChange();
  }

  #pause(ms: number): Promise<void> {
    const { clock, speed } = this.#options;
    const { signal } = this.#stop;
    const shortMs = Math.min(ms, maxPauseMs) / speed;
    if (signal.aborted || shortMs < 1) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = clock.after(shortMs, done);
      signal.addEventListener('abort', done);
    });
  }
}
