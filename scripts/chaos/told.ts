import { decodeBatch, decodeDraft, encodeDraft } from '@millrace/core';
import type { Admission } from '@millrace/log';
import type { HistoryEvent } from './history.ts';
import type { Command, KnownSession, Said } from './orders.ts';
import { commandOf } from './submitter.ts';

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
