import type { AgentEvent, SessionId } from '@millrace/core';
import { findRunEnd, type Log, type SessionInfo } from '@millrace/log';
import { type Block, countBlocks } from '../contract/block.ts';
import type { ChatState } from '../contract/chat-state.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import { emptyChat, foldChat } from '../state/fold-chat.ts';
import { EarlierBlocks } from './earlier-blocks.ts';
import { type EventBatch, EventFolder, followSession } from './follow-session.ts';
import { type ChatAt, isQuiet, placeOf, readStoredChat, storeChat } from './stored-chat.ts';

/** Numbers of records that decide which part of a session the view reads. */
export interface ViewLimits {
  /** A session with at most this number of records is read from its first record. */
  readonly whole: number;
  /** At most this number of records after a stored state is read before the session is shown. */
  readonly afterStored: number;
  /** Without a recent stored state, the last run must start within this number of records. */
  readonly lastRun: number;
  /** The state is stored again after this number of new records. */
  readonly spacing: number;
}

const defaultLimits: ViewLimits = {
  ...{ whole: 4096, afterStored: 20_000, lastRun: 50_000, spacing: 1000 },
};

interface SessionViewOptions {
  readonly log: Log;
  readonly session: SessionId;
  /** Prints blocks to the scrollback. Pass each block only once. */
  readonly print: (blocks: readonly Block[]) => void;
  /**
   * Called when the live content may have changed. When the view reads the records from before the chat
   * started, it calls this function once, after the last of these records.
   */
  readonly onChange: () => void;
  readonly onEvent: (event: AgentEvent) => void;
  /**
   * Called after the events of a batch. The next batch is read when the promise resolves. Default:
   * the view reads on at once.
   */
  readonly onBatch?: (() => Promise<void>) | undefined;
  readonly onError: (error: unknown) => void;
  /**
   * `first`: the view reads all records in order. `recent`: it reads the last records first, and `onEvent` is not
   * called with the earlier ones. Default: `first`.
   */
  readonly start?: 'first' | 'recent' | undefined;
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<ViewLimits> | undefined;
}

/** The end of a session when a view is opened. */
export interface OpenedSession {
  /** The last blocks. */
  readonly blocks: readonly Block[];
  /** The number of all blocks. Undefined if it is not known yet. */
  readonly count: number | undefined;
  /** Reads the blocks before `blocks`. Undefined if there are none, or if they are too long ago. */
  readonly earlier: EarlierBlocks | undefined;
}

/**
 * The visible state of a session. It follows the log and folds its records, which may come from any
 * process.
 */
export class SessionView {
  readonly #options: SessionViewOptions;
  readonly #limits: ViewLimits;
  readonly #closed = new AbortController();
  #state: ChatState;
  /** The number of printed blocks since the start of the session, or since `#missing`. */
  #count = 0;
  #isFollowing = false;
  /** The blocks of records from before the chat started. Undefined after these records are read. */
  #opening: Opening | undefined;
  /** The events since the view was opened, while the earlier records are not read yet. */
  #events: AgentEvent[] | undefined;
  #whole: Promise<void> = Promise.resolve();
  #incarnation: string | undefined;
  #lastBatch: Pick<EventBatch, 'through' | 'isQuiet'> | undefined;
  #lastPause = 0;
  /** The last state that can be stored. */
  #quiet: ChatAt | undefined;
  /** The offset of the stored state, and of the last state that the view tried to store. */
  #storedThrough = 0;
  #triedThrough = 0;

  constructor(options: SessionViewOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#state = emptyChat(options.session);
  }

  /**
   * The state of the session. While `isWhole` is false, its content, run and approvals are complete, but sums and
   * settings of earlier records are missing.
   */
  get state(): ChatState {
    return this.#state;
  }

  /** False while the view reads earlier records in the background. */
  get isWhole(): boolean {
    return this.#events === undefined;
  }

  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** Resolves when the earlier records are read. */
  get whole(): Promise<void> {
    return this.#whole;
  }

  /** The last offset at which no content was open. */
  get lastPause(): number {
    return this.#lastPause;
  }

  /** Approvals that wait for an answer, including approvals of sub-agents. */
  get approvals(): readonly PendingApproval[] {
    return this.#state.approvals.filter(({ isAnswered }) => !isAnswered);
  }

  /** Reads the end of an existing session and returns its last blocks. */
  async open(): Promise<OpenedSession> {
    const { log, session } = this.#options;
    const info = await log.info(session);
    if (info === undefined) return { blocks: [], count: 0, earlier: undefined };
    if (info.through === 0) {
      this.follow();
      return { blocks: [], count: 0, earlier: undefined };
    }
    this.#incarnation = info.incarnation;
    const { start, before } = await this.#findStart(info);
    this.#state = start.state;
    this.#count = start.count;
    this.#lastBatch = { through: start.through, isQuiet: true };
    this.#lastPause = start.through;
    if (before !== undefined) this.#events = [];
    const opening = new Opening(info.through);
    // If no record follows the start, everything is read.
    if (!opening.add([], start.through)) this.#opening = opening;
    this.follow(start);
    if (this.#opening === undefined) this.#options.onChange();
    await opening.isRead;
    if (before !== undefined) this.#whole = this.#readBefore(before, start.through);
    const { through } = start;
    const earlier = through > 0 ? new EarlierBlocks({ log, session, through }) : undefined;
    return { blocks: opening.blocks, count: this.isWhole ? this.#count : undefined, earlier };
  }

  follow(from?: ChatAt): void {
    this.#isFollowing = true;
    const { log, session, onError } = this.#options;
    const { signal } = this.#closed;
    const onEvents = (batch: EventBatch) => this.#handleEvents(batch);
    const start = from && { from: placeOf(from), incarnation: this.#incarnation };
    followSession({ log, session, signal, onEvents, ...start })
      .catch(onError)
      .finally(() => this.#opening?.end());
  }

  /** Stops following the session, and stores its state for the next view. */
  async close(): Promise<void> {
    this.#closed.abort();
    if (this.#quiet !== undefined && this.#quiet.through > this.#storedThrough) await this.#store();
  }

  /**
   * Returns the state from which the view starts (`start`). If `start` lacks the sums and settings of earlier
   * records, `before` is an earlier complete state. The view must then read the records between `before` and
   * `start` to compute these sums and settings. Otherwise `before` is undefined.
   */
  async #findStart(
    info: SessionInfo,
  ): Promise<{ readonly start: ChatAt; readonly before: ChatAt | undefined }> {
    const { log, session, start } = this.#options;
    const { whole, afterStored, lastRun } = this.#limits;
    const first: ChatAt = { through: 0, state: emptyChat(session), count: 0 };
    const { through, incarnation } = info;
    if (start !== 'recent' || through <= whole) return { start: first, before: undefined };
    const stored = await readStoredChat(log, session);
    this.#storedThrough = stored?.through ?? 0;
    this.#triedThrough = this.#storedThrough;
    const before = stored ?? first;
    if (through - before.through <= afterStored) return { start: before, before: undefined };
    // The end of the session itself is left out, so that the view has the state of the last run.
    const from = Math.max(before.through, through - lastRun);
    const end = await findRunEnd(log, session, { from, through: through - 1, incarnation });
    if (end === undefined) return { start: before, before: undefined };
    return { start: { ...first, through: end }, before };
  }

  /** Reads the records from a state up to the start of the view, between the other work of the process. */
  async #readBefore(from: ChatAt, through: number): Promise<void> {
    const { log, session, onError, onChange } = this.#options;
    try {
      const folder = new EventFolder(session, placeOf(from));
      let { state, count } = from;
      const fold = (events: readonly AgentEvent[]) => {
        for (const event of events) {
          const step = foldChat(state, event);
          state = step.state;
          count += countBlocks(step.blocks);
        }
      };
      for (let at = from.through; at < through; ) {
        const options = { from: at, incarnation: this.#incarnation, maxBytes: backgroundBytes };
        const page = await log.read(session, options);
        if (this.#closed.signal.aborted || page.through <= at) return;
        at = Math.min(page.through, through);
        const records = page.records.filter(({ offset }) => offset <= through);
        const folded = folder.add({ after: page.after, through: at, records });
        if (folded === undefined) throw new Error(`Session ${session} cannot be read`);
        fold(folded.events);
        await nextTask();
      }
      fold(this.#events ?? []);
      this.#state = state;
      this.#count = count;
    } catch (error) {
      onError(error);
    }
    this.#events = undefined;
    this.#keepQuiet();
    onChange();
  }

  #handleEvents(batch: EventBatch): Promise<void> | undefined {
    const { events, through } = batch;
    const { print, onEvent, onChange, onBatch } = this.#options;
    const printed: Block[] = [];
    const isNew = this.#opening === undefined;
    for (const event of events) {
      const { state, blocks } = foldChat(this.#state, event);
      this.#state = state;
      printed.push(...blocks);
      onEvent(event);
    }
    this.#count += countBlocks(printed);
    this.#events?.push(...events);
    if (this.#opening?.add(printed, through)) this.#opening = undefined;
    if (isNew && printed.length > 0) print(printed);
    this.#lastBatch = batch;
    if (isQuiet(batch, this.#state)) this.#lastPause = through;
    this.#keepQuiet();
    // While the view reads earlier records, its state is one of the past, such as a question that was answered
    // long ago. To draw each of these states would also take a large part of the time.
    if (this.#opening === undefined) onChange();
    return onBatch?.();
  }

  /** Keeps a state that can be stored, and stores it after many records. */
  #keepQuiet(): void {
    const { whole, spacing } = this.#limits;
    const batch = this.#lastBatch;
    if (this.#options.start !== 'recent' || !this.isWhole || batch === undefined) return;
    const { through } = batch;
    if (through <= whole || !isQuiet(batch, this.#state)) return;
    this.#quiet = { through, state: this.#state, count: this.#count };
    if (through - this.#triedThrough >= spacing) void this.#store();
  }

  async #store(): Promise<void> {
    const { log, session } = this.#options;
    const at = this.#quiet;
    if (at === undefined) return;
    this.#triedThrough = at.through;
    // Without a stored state, the next chat only reads more records, so errors are ignored.
    try {
      const incarnation = this.#incarnation ?? (await log.info(session))?.incarnation ?? '';
      if (await storeChat(log, at, incarnation)) this.#storedThrough = at.through;
    } catch {}
  }
}

/** The size of one read in the background. It is small, so that the keyboard and the screen do not wait. */
const backgroundBytes = 2 ** 16;

function nextTask(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Maximum number of earlier blocks to keep. No screen shows more. */
const maxBlocks = 256;

/** Collects the last blocks of the records from before the chat started. */
class Opening {
  readonly #through: number;
  readonly #read = Promise.withResolvers<void>();
  #blocks: readonly Block[] = [];

  /** `through` is the offset of the last record when the chat starts. */
  constructor(through: number) {
    this.#through = through;
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  /** Resolves when all these records are read. */
  get isRead(): Promise<void> {
    return this.#read.promise;
  }

  /** Adds blocks. Returns true when all these records are read. */
  add(blocks: readonly Block[], through: number): boolean {
    this.#blocks = [...this.#blocks, ...blocks].slice(-maxBlocks);
    const isRead = through >= this.#through;
    if (isRead) this.end();
    return isRead;
  }

  end(): void {
    this.#read.resolve();
  }
}
