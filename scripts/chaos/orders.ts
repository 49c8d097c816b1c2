import type { Admission } from '@millrace/log';
import type { CommitPoint } from '../../packages/log/src/storage/record-store.ts';
import type { Asked, Listened, Tried } from './history.ts';

/** What a process of the chaos is started for. */
export type Order = (
  | DriverOrder
  | ProducerOrder
  | SubmitterOrder
  | ReaderOrder
  /** Loads what the others load, and ends: so that their code is compiled once. */
  | { readonly role: 'nobody' }
) & {
  readonly name: string;
  readonly path: string;
  readonly seed: number;
  /** It ends itself there, when it comes by for the n-th time. */
  readonly death?: { readonly point: CommitPoint; readonly passes: number } | undefined;
};

export interface DriverOrder {
  readonly role: 'driver';
  readonly sessions: readonly KnownSession[];
  /** No other driver uses this turn or one of the next thousand. */
  readonly firstTurn: number;
  readonly takeOver: boolean;
  /** It ends what is open, closes the sessions and ends. */
  readonly isLast: boolean;
}

export interface KnownSession {
  readonly session: string;
  /** The highest offset that anybody was told of. */
  readonly atLeast: number;
}

/** Gets admissions, as lines, and writes by them. */
export interface ProducerOrder {
  readonly role: 'producer';
}

export interface SubmitterOrder {
  readonly role: 'submitter';
  readonly sessions: readonly string[];
  /** Those of its predecessors that nobody heard an answer to. */
  readonly unanswered: readonly Command[];
}

export interface Command {
  readonly session: string;
  readonly key: string;
}

export interface ReaderOrder extends KnownSession {
  readonly role: 'reader';
  readonly from: number;
  readonly isSlow: boolean;
}

/** What such a process says. */
export type Said =
  | Tried
  | { readonly type: 'stored'; readonly append: string; readonly through: number }
  | { readonly type: 'refused'; readonly append: string }
  | Asked
  /** The batch as `encodeBatch` writes it. */
  | (Listened & { readonly type: 'heard'; readonly batch: string })
  | (Listened & { readonly type: 'caught_up' | 'ended' })
  | { readonly type: 'ready' }
  | { readonly type: 'admitted'; readonly admission: Admission }
  | { readonly type: 'failed'; readonly why: string };
