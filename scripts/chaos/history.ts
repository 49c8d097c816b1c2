import { type Batch, decodeBatch, decodeDraft, encodeDraft, type LogRecord } from '@millrace/core';
import type { Admission } from '@millrace/log';
import {
  type Asked,
  type Command,
  commandOf,
  type KnownSession,
  type Listened,
  type Said,
  type Tried,
} from './messages.ts';

/** What one process did and was told, in its own order. Nothing is known of the order between processes. */
export type HistoryEvent = { readonly process: string } & (
  | Tried
  /** It was told that the append is stored, and that nothing of it is after this offset. */
  | { readonly type: 'stored'; readonly append: string; readonly through: number }
  /** It was told that nothing was stored. */
  | { readonly type: 'refused'; readonly append: string }
  | Asked
  | (Listened & { readonly type: 'heard'; readonly batch: Batch })
  /** It was told, or could know, that there is nothing more for now. */
  | (Listened & { readonly type: 'caught_up' })
  /** It was told that nothing more will ever come. */
  | (Listened & { readonly type: 'ended' })
);

export interface History {
  readonly events: readonly HistoryEvent[];
  /** What is read in the end, record by record. */
  readonly finals: ReadonlyMap<string, readonly LogRecord[]>;
}

/** All that the processes of a round said: their history, and what those after them need to know of it. */
export class Told {
  readonly events: HistoryEvent[] = [];
  readonly failures: string[] = [];
  readonly #through = new Map<string, number>();
  readonly #unanswered = new Map<string, Command>();
  readonly #sessionOf = new Map<string, string>();
  admissions: readonly Admission[] = [];

  hear(process: string, said: Said): void {
    try {
      this.#note(process, said);
    } catch (error) {
      this.failures.push(`${process} said what it cannot have heard: ${error}`);
    }
  }

  #note(process: string, said: Said): void {
    switch (said.type) {
      case 'ready':
        return;
      case 'admitted':
        this.admissions = [...this.admissions.slice(-3), said.admission];
        return;
      case 'failed':
        this.failures.push(`${process}: ${said.why}`);
        return;
      case 'heard': {
        const batch = decodeBatch(said.batch);
        this.#know(said.session, batch.through);
        this.events.push({ process, ...said, batch });
        return;
      }
      case 'tried':
        this.#sessionOf.set(said.append, said.session);
        this.#expect(said.append);
        this.events.push({ process, ...said, drafts: said.drafts.map(asRead) });
        return;
      case 'stored':
        this.#know(this.#sessionOf.get(said.append) ?? '', said.through);
        this.#unanswered.delete(said.append);
        break;
      default:
    }
    this.events.push({ process, ...said });
  }

  known(session: string): KnownSession {
    return { session, atLeast: this.#through.get(session) ?? 0 };
  }

  get unanswered(): readonly Command[] {
    return [...this.#unanswered.values()];
  }

  #expect(append: string): void {
    const command = commandOf(append);
    if (command !== undefined) this.#unanswered.set(append, command);
  }

  #know(session: string, through: number): void {
    this.#through.set(session, Math.max(through, this.known(session).atLeast));
  }
}

/** As a reader of the log would write it: the order of fields is not what a writer means. */
const asRead = (draft: string): string => encodeDraft(decodeDraft(draft));
