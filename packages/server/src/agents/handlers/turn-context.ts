import {
  addUsage,
  type DraftRecord,
  type FoldState,
  type Ids,
  noUsage,
  type PartId,
  type TraceContext,
  type Usage,
} from '@millrace/core';
import type { TaskMessage } from '../../contract/message.ts';
import type { SentMessages } from '../../contract/served-agent.ts';
import type { JournalTurn, TaskJournal } from '../../contract/task-journal.ts';
import { messageOf } from '../../updates/task-messages.ts';

interface TurnContextOptions {
  readonly journal: TaskJournal;
  readonly turn: JournalTurn;
  readonly ids: Ids;
  readonly signal: AbortSignal;
  /** The trace to which the turn's requests belong. */
  readonly trace?: TraceContext | undefined;
  /** The index of the first message that the handler opens with `stream.open`. */
  readonly firstIndex: number;
}

/** The state that all streams of one turn share. */
export class TurnContext {
  readonly turn: JournalTurn;
  readonly ids: Ids;
  readonly signal: AbortSignal;
  readonly trace: TraceContext | undefined;
  readonly #journal: TaskJournal;
  #nextIndex: number;
  #usage: Usage = noUsage;

  constructor({ journal, turn, ids, signal, trace, firstIndex }: TurnContextOptions) {
    this.turn = turn;
    this.ids = ids;
    this.signal = signal;
    this.trace = trace;
    this.#journal = journal;
    this.#nextIndex = firstIndex;
  }

  takeIndex(): number {
    return this.#nextIndex++;
  }

  /** Adds usage and returns the turn's total. */
  addUsage(usage: Usage): Usage {
    this.#usage = addUsage(this.#usage, usage);
    return this.#usage;
  }

  state(): Promise<FoldState> {
    return this.#journal.state();
  }

  /** Returns the messages of these parts. The result omits parts without a message. */
  async messages(parts: Iterable<PartId>): Promise<readonly TaskMessage[]> {
    const state = await this.state();
    return [...parts].flatMap((id) => messageOf(state, `${this.#journal.taskId}.${id}`) ?? []);
  }

  async sentMessages(parts: Iterable<PartId>): Promise<SentMessages> {
    const messages = await this.messages(parts);
    return { messages, final: messages.at(-1) };
  }
}

/** The writer waits above this number of pending appends, or above the number of characters below. */
const maxInFlight = 256;
const maxLength = 2 ** 20;

/** Writes to a turn without waiting for each append. It waits only if too much data is pending. */
export class TurnWriter {
  readonly #turn: Pick<JournalTurn, 'append'>;
  #inFlight = 0;
  #length = 0;
  #last: Promise<unknown> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;

  constructor(turn: Pick<JournalTurn, 'append'>) {
    this.#turn = turn;
  }

  /**
   * Appends drafts. Resolves when the writer accepts more drafts. Rejects if this append or an earlier one
   * failed.
   */
  async add(drafts: readonly DraftRecord[]): Promise<void> {
    this.#assertNotFailed();
    if (drafts.length === 0) return;
    const length = drafts.reduce((sum, draft) => sum + chunkLength(draft), 0);
    this.#inFlight++;
    this.#length += length;
    this.#last = this.#turn
      .append(drafts)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#inFlight--;
        this.#length -= length;
      });
    if (this.#inFlight >= maxInFlight || this.#length >= maxLength) await this.flush();
  }

  /** Resolves when the log contains all drafts. */
  async flush(): Promise<void> {
    await this.#last;
    this.#assertNotFailed();
  }

  #assertNotFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

function chunkLength({ delta }: DraftRecord): number {
  return delta !== undefined && 'chunk' in delta ? delta.chunk.length : 0;
}
