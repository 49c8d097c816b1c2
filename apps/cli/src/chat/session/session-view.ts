import type { Clock } from '@millrace/agent';
import type { AgentEvent, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Block } from '../contract/block.ts';
import type { ChatState } from '../contract/chat-state.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import { emptyChat, foldChat } from '../state/fold-chat.ts';
import { ChildSessions } from './child-sessions.ts';
import { followSession } from './follow-session.ts';

interface SessionViewOptions {
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

/** A screen never shows more of it. */
const maxBlocks = 256;

/** What a session had printed before the chat began: the last of it, and how much there was. */
export class PrintedBefore {
  readonly #through: number;
  #blocks: readonly Block[] = [];
  #count = 0;

  /** `through`: the last record that was there when the chat began. */
  constructor(through: number) {
    this.#through = through;
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  get count(): number {
    return this.#count;
  }

  /** True where that was all. */
  add(blocks: readonly Block[], through: number): boolean {
    this.#blocks = [...this.#blocks, ...blocks].slice(-maxBlocks);
    this.#count += blocks.length;
    return through >= this.#through;
  }
}
