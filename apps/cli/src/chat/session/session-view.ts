import type { AgentEvent, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Block } from '../contract/block.ts';
import type { ChatState } from '../contract/chat-state.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import { emptyChat, foldChat } from '../state/fold-chat.ts';
import { followSession } from './follow-session.ts';

interface SessionViewOptions {
  readonly log: Log;
  readonly session: SessionId;
  /** Prints blocks to the scrollback. Pass each block only once. */
  readonly print: (blocks: readonly Block[]) => void;
  /**
   * Called when the live content may have changed. While the view reads the records from before the chat
   * started, it is called only after the last one.
   */
  readonly onChange: () => void;
  readonly onEvent: (event: AgentEvent) => void;
  /**
   * Called after the events of a batch. The next batch is read when the promise resolves. Default:
   * the view reads on at once.
   */
  readonly onBatch?: (() => Promise<void>) | undefined;
  readonly onError: (error: unknown) => void;
}

/**
 * The visible state of a session. It follows the log and folds its records, which may come from any
 * process.
 */
export class SessionView {
  readonly #options: SessionViewOptions;
  readonly #closed = new AbortController();
  #state: ChatState;
  #isFollowing = false;
  /**
   * The blocks of records from before the chat started. Undefined after all of these records are
   * read. New blocks are then printed.
   */
  #earlier: EarlierBlocks | undefined;
  #onRead: () => void = () => {};

  constructor(options: SessionViewOptions) {
    this.#options = options;
    this.#state = emptyChat(options.session);
  }

  get state(): ChatState {
    return this.#state;
  }

  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** Approvals that wait for an answer, including approvals of sub-agents. */
  get approvals(): readonly PendingApproval[] {
    return this.#state.approvals.filter(({ isAnswered }) => !isAnswered);
  }

  /** Reads an existing session and returns its last blocks. */
  async open(): Promise<Pick<EarlierBlocks, 'blocks' | 'count'>> {
    const { log, session } = this.#options;
    const info = await log.info(session);
    const before = new EarlierBlocks(info?.through ?? 0);
    if (info === undefined) return before;
    if (info.through > 0) this.#earlier = before;
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
    const { signal } = this.#closed;
    const onEvents = (events: readonly AgentEvent[], through: number) =>
      this.#handleEvents(events, through);
    followSession({ log, session, signal, onEvents })
      .catch(onError)
      .finally(() => this.#onRead());
  }

  close(): void {
    this.#closed.abort();
  }

  #handleEvents(events: readonly AgentEvent[], through: number): Promise<void> | undefined {
    const printed: Block[] = [];
    const isNew = this.#earlier === undefined;
    for (const event of events) {
      const { state, blocks } = foldChat(this.#state, event);
      this.#state = state;
      printed.push(...blocks);
      this.#options.onEvent(event);
    }
    if (this.#earlier?.add(printed, through)) {
      this.#earlier = undefined;
      this.#onRead();
    }
    if (isNew && printed.length > 0) this.#options.print(printed);
    // While the view reads earlier records, its state is one of the past, such as a question that was answered
    // long ago. To draw each of these states would also take a large part of the time.
    if (this.#earlier === undefined) this.#options.onChange();
    return this.#options.onBatch?.();
  }
}

/** Maximum number of earlier blocks to keep. No screen shows more. */
const maxBlocks = 256;

/** The last blocks from before the chat started, and the total number of earlier blocks. */
export class EarlierBlocks {
  readonly #through: number;
  #blocks: readonly Block[] = [];
  #count = 0;

  /** `through` is the offset of the last record when the chat starts. */
  constructor(through: number) {
    this.#through = through;
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  get count(): number {
    return this.#count;
  }

  /** Adds blocks. Returns true when all earlier records are read. */
  add(blocks: readonly Block[], through: number): boolean {
    this.#blocks = [...this.#blocks, ...blocks].slice(-maxBlocks);
    this.#count += blocks.length;
    return through >= this.#through;
  }
}
