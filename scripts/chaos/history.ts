import { type Batch, decodeBatch, decodeDraft, encodeDraft, type LogRecord } from '@millrace/core';
import type { Admission } from '@millrace/log';
import {
  type AppendAttempt,
  type Command,
  commandOf,
  type KnownSession,
  type Report,
  type Subscription,
  type SubscriptionStart,
} from './messages.ts';

/**
 * An action of a process, or data that the process received. The events of one process are in
 * order. The order between processes is unknown.
 */
export type HistoryEvent = { readonly process: string } & (
  | AppendAttempt
  /** The append is acknowledged. All its records are at or before this offset. */
  | { readonly type: 'stored'; readonly append: string; readonly through: number }
  /** The append is rejected. Nothing was stored. */
  | { readonly type: 'refused'; readonly append: string }
  | SubscriptionStart
  | (Subscription & { readonly type: 'received'; readonly batch: Batch })
  /** The reader has received all records that were in the log when it started. */
  | (Subscription & { readonly type: 'caught_up' })
  /** The session is closed. No more records follow. */
  | (Subscription & { readonly type: 'ended' })
);

export interface History {
  readonly events: readonly HistoryEvent[];
  /** The records of each session after all processes have ended. */
  readonly finals: ReadonlyMap<string, readonly LogRecord[]>;
}

/**
 * Collects the reports of a round. The checks use them as the history. Later processes use them as
 * their initial state.
 */
export class HistoryRecorder {
  readonly events: HistoryEvent[] = [];
  readonly failures: string[] = [];
  readonly #through = new Map<string, number>();
  readonly #unanswered = new Map<string, Command>();
  readonly #sessionOf = new Map<string, string>();
  admissions: readonly Admission[] = [];

  add(process: string, report: Report): void {
    try {
      this.#record(process, report);
    } catch (error) {
      this.failures.push(`${process} sent an invalid report: ${error}`);
    }
  }

  #record(process: string, report: Report): void {
    switch (report.type) {
      case 'ready':
      case 'paused':
      case 'fenced':
      case 'taken':
        return;
      case 'admitted':
        this.admissions = [...this.admissions.slice(-3), report.admission];
        return;
      case 'failed':
        this.failures.push(`${process}: ${report.reason}`);
        return;
      case 'received': {
        const batch = decodeBatch(report.batch);
        this.#updateThrough(report.session, batch.through);
        this.events.push({ process, ...report, batch });
        return;
      }
      case 'attempted':
        this.#sessionOf.set(report.append, report.session);
        this.#addUnanswered(report.append);
        this.events.push({ process, ...report, drafts: report.drafts.map(normalizeDraft) });
        return;
      case 'stored':
        this.#updateThrough(this.#sessionOf.get(report.append) ?? '', report.through);
        this.#unanswered.delete(report.append);
        break;
      default:
    }
    this.events.push({ process, ...report });
  }

  knownSession(session: string): KnownSession {
    return { session, knownThrough: this.#through.get(session) ?? 0 };
  }

  get unanswered(): readonly Command[] {
    return [...this.#unanswered.values()];
  }

  #addUnanswered(append: string): void {
    const command = commandOf(append);
    if (command !== undefined) this.#unanswered.set(append, command);
  }

  #updateThrough(session: string, through: number): void {
    this.#through.set(session, Math.max(through, this.knownSession(session).knownThrough));
  }
}

/** Decodes a draft and encodes it again, because the log may change the order of its fields. */
const normalizeDraft = (draft: string): string => encodeDraft(decodeDraft(draft));
