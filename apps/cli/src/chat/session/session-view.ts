import type { Clock } from '@millrace/agent';
import type { AgentEvent, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Block } from '../state/block.ts';
import { type ChatState, emptyChat, foldChat } from '../state/chat-state.ts';
import type { PendingApproval } from '../state/pending.ts';
import { ChildSessions } from './child-sessions.ts';
import { followSession } from './follow-session.ts';
import { PrintedBefore } from './printed-before.ts';

export interface SessionViewOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly clock: Clock;
  /** To be printed, once. */
  readonly print: (blocks: readonly Block[]) => void;
  /** What is shown live may have changed. */
  readonly onChange: () => void;
  readonly onEvent: (event: AgentEvent) => void;
  readonly onError: (error: unknown) => void;
}

/** What there is to see of a session, whoever writes it: its log, followed and folded. */
export class SessionView {
  readonly #options: SessionViewOptions;
  readonly #children: ChildSessions;
  readonly #over = new AbortController();
  #state: ChatState;
  #isFollowing = false;
  /** While what was there before the chat is read; then what comes is printed. */
  #before: PrintedBefore | undefined;
  #onRead: () => void = () => {};

  constructor(options: SessionViewOptions) {
    const { session, log, clock, onChange } = options;
    this.#options = options;
    this.#state = emptyChat(session);
    this.#children = new ChildSessions({ log, clock, onChange });
  }

  get state(): ChatState {
    return this.#state;
  }

  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** Those that wait for an answer, sub-agents' too. */
  get approvals(): readonly PendingApproval[] {
    const all = [...this.#state.approvals, ...this.#children.approvals];
    return all.filter(({ isAnswered }) => !isAnswered);
  }

  /** Reads what there is, where there is a session. Gives the last of what was printed before. */
  async open(): Promise<Pick<PrintedBefore, 'blocks' | 'count'>> {
    const { log, session } = this.#options;
    const info = await log.info(session);
    const before = new PrintedBefore(info?.through ?? 0);
    if (info === undefined) return before;
    if (info.through > 0) this.#before = before;
    const isRead = new Promise<void>((resolve) => {
      this.#onRead = resolve;
    });
    this.follow();
    if (info.through > 0) await isRead;
    return before;
  }

  follow(): void {
    this.#isFollowing = true;
    const { log, session, onError } = this.#options;
    const { signal } = this.#over;
    const onEvents = (events: readonly AgentEvent[], through: number) =>
      this.#hear(events, through);
    followSession({ log, session, signal, onEvents })
      .catch(onError)
      .finally(() => this.#onRead());
  }

  close(): void {
    this.#over.abort();
    this.#children.close();
  }

  #hear(events: readonly AgentEvent[], through: number): void {
    const printed: Block[] = [];
    const isNew = this.#before === undefined;
    for (const event of events) {
      const { state, blocks } = foldChat(this.#state, event);
      this.#state = state;
      printed.push(...blocks);
      if (isNew) this.#children.hear(event);
      this.#options.onEvent(event);
    }
    if (this.#before?.add(printed, through)) {
      this.#before = undefined;
      this.#children.adopt(this.#state);
      this.#onRead();
    }
    if (isNew && printed.length > 0) this.#options.print(printed);
    this.#options.onChange();
  }
}
