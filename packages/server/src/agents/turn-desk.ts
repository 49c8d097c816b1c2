import {
  addUsage,
  type FoldState,
  type Ids,
  noUsage,
  type PartId,
  type TraceContext,
  type Usage,
} from '@millrace/core';
import type { TaskMessage } from '../contract/message.ts';
import type { Sent } from '../contract/served-agent.ts';
import type { JournalTurn, TaskJournal } from '../contract/task-journal.ts';
import { messageOf } from '../updates/messages-of.ts';

export interface TurnDeskOptions {
  readonly journal: TaskJournal;
  readonly turn: JournalTurn;
  readonly ids: Ids;
  readonly signal: AbortSignal;
  /** What the turn's requests are part of. */
  readonly trace?: TraceContext | undefined;
  /** Of the first message that is opened by hand. */
  readonly firstIndex: number;
}

/** What all that streams within one turn shares. */
export class TurnDesk {
  readonly turn: JournalTurn;
  readonly ids: Ids;
  readonly signal: AbortSignal;
  readonly trace: TraceContext | undefined;
  readonly #journal: TaskJournal;
  #nextIndex: number;
  #usage: Usage = noUsage;

  constructor({ journal, turn, ids, signal, trace, firstIndex }: TurnDeskOptions) {
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

  /** What the turn used so far, with this. */
  addUsage(usage: Usage): Usage {
    this.#usage = addUsage(this.#usage, usage);
    return this.#usage;
  }

  state(): Promise<FoldState> {
    return this.#journal.state();
  }

  /** The messages of these parts, of those that are there. */
  async messages(parts: Iterable<PartId>): Promise<readonly TaskMessage[]> {
    const state = await this.state();
    return [...parts].flatMap((id) => messageOf(state, `${this.#journal.taskId}.${id}`) ?? []);
  }

  async sent(parts: Iterable<PartId>): Promise<Sent> {
    const messages = await this.messages(parts);
    return { messages, final: messages.at(-1) };
  }
}
