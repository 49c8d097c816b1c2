import type { Clock } from '@millrace/agent';
import { type AgentEvent, agentEvents, Folder, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { recordsOf } from '../../store/session-records.ts';
import type { Block } from '../contract/block.ts';
import type { ChatState } from '../contract/chat-state.ts';
import { emptyChat, foldChat } from '../state/fold-chat.ts';

interface ReplayingOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly clock: Clock;
  /** Times as fast as it was. */
  readonly speed: number;
  readonly print: (blocks: readonly Block[]) => void;
  readonly onChange: () => void;
}

/** Nobody waits again for what took a person an hour. */
const longestPauseMs = 2000;

/** A session that is streamed once more, as it was: folded and printed like a live one. */
export class ReplaySession {
  readonly #options: ReplayingOptions;
  readonly #stop = new AbortController();
  #state: ChatState;
  /** When the last thing happened: then, and now. */
  #last: { readonly thenMs: number; readonly nowMs: number } | undefined;

  constructor(options: ReplayingOptions) {
    this.#options = options;
    this.#state = emptyChat(options.session);
  }

  get state(): ChatState {
    return this.#state;
  }

  /** What time it was then, so that what took its time is told to have. */
  get now(): number {
    const { clock, speed } = this.#options;
    if (this.#last === undefined) return clock.now();
    return this.#last.thenMs + (clock.now() - this.#last.nowMs) * speed;
  }

  /** Resolves when all was shown, or it was stopped: then it says so. */
  async play(): Promise<'done' | 'stopped'> {
    const { log, session } = this.#options;
    const folder = new Folder(session);
    let lastMs: number | undefined;
    for await (const record of recordsOf(log, session)) {
      const { time, offset } = record;
      if (lastMs !== undefined && time > lastMs) await this.#pause(time - lastMs);
      if (this.#stop.signal.aborted) return 'stopped';
      lastMs = time;
      this.#last = { thenMs: time, nowMs: this.#options.clock.now() };
      const events: AgentEvent[] = [];
      const batch = { after: folder.state.through, through: offset, records: [record] };
      folder.addBatch(batch, (...step) => events.push(...agentEvents(...step)));
      this.#tell(events);
    }
    return 'done';
  }

  stop(): void {
    this.#stop.abort();
  }

  #tell(events: readonly AgentEvent[]): void {
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
    const shortMs = Math.min(ms, longestPauseMs) / speed;
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
