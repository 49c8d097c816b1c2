// The messages between the chaos run and its worker processes. A worker process receives one
// assignment as its argument. It sends its reports as JSON lines.
import {
  type Batch,
  type DraftRecord,
  encodeBatch,
  encodeDraft,
  isMillraceError,
} from '@millrace/core';
import type { Admission } from '@millrace/log';
import type { CommitPoint } from '../../packages/log/src/storage/record-store.ts';
import { sendToParent } from '../../packages/log/src/testing/start-process.ts';

/** The argument of a worker process. */
export type Assignment = (
  | DriverTask
  | ProducerTask
  | SubmitterTask
  | ReaderTask
  | ContenderTask
  /** The process loads all modules and exits. This fills the code cache for later processes. */
  | { readonly role: 'warm-up' }
) & {
  readonly name: string;
  /** The file of the SQLite log. */
  readonly path: string;
  readonly seed: number;
  /** After the process has run for `afterMs`, its clock changes by `byMs`. */
  readonly clockStep?: ClockStep | undefined;
  /** The process kills itself when it passes this point for the n-th time. */
  readonly selfKill?: { readonly point: CommitPoint; readonly passes: number } | undefined;
};

export interface ClockStep {
  readonly byMs: number;
  readonly afterMs: number;
}

export interface DriverTask {
  readonly role: 'driver';
  /**
   * The duration of the driver's lease. Default: the default of the log, which is longer than a
   * round.
   */
  readonly leaseMs?: number | undefined;
  /**
   * After this time, the driver pauses itself with SIGSTOP. At that moment, it holds no file lock.
   */
  readonly pauseAfterMs?: number | undefined;
  readonly sessions: readonly KnownSession[];
  /**
   * The first turn of this driver. This turn and the next thousand turns are only for this driver.
   */
  readonly firstTurn: number;
  readonly takeOver: boolean;
  /** True for the last driver. It finishes all open parts, closes the sessions and exits. */
  readonly isLast: boolean;
}

export interface KnownSession {
  readonly session: string;
  /** The highest offset that a process has reported. */
  readonly knownThrough: number;
}

/** A producer receives admissions as JSON lines and uses them to write records. */
export interface ProducerTask {
  readonly role: 'producer';
}

export interface SubmitterTask {
  readonly role: 'submitter';
  readonly sessions: readonly string[];
  /** Commands of earlier submitters that were not answered. */
  readonly unanswered: readonly Command[];
}

/** A contender tries to open sessions of a live driver. The log must refuse this. */
export interface ContenderTask {
  readonly role: 'contender';
  readonly sessions: readonly string[];
}

export interface Command {
  readonly session: string;
  readonly key: string;
}

export interface ReaderTask extends KnownSession {
  readonly role: 'reader';
  readonly from: number;
  readonly isSlow: boolean;
}

/** A message from a worker process. */
export type Report =
  | AppendAttempt
  | { readonly type: 'stored'; readonly append: string; readonly through: number }
  | { readonly type: 'refused'; readonly append: string }
  | SubscriptionStart
  /** The batch is encoded with `encodeBatch`. */
  | (Subscription & { readonly type: 'received'; readonly batch: string })
  | (Subscription & { readonly type: 'caught_up' | 'ended' })
  | { readonly type: 'ready' }
  | { readonly type: 'paused' }
  /** The driver lost its lease. */
  | { readonly type: 'fenced'; readonly session: string }
  /** A contender opened a session and then released it. */
  | { readonly type: 'taken'; readonly session: string }
  | { readonly type: 'admitted'; readonly admission: Admission }
  | { readonly type: 'failed'; readonly reason: string };

/**
 * The start of an append. It is reported before the append, so that the checks know which records a
 * killed process may have stored.
 */
export interface AppendAttempt {
  readonly type: 'attempted';
  /**
   * The name of the append. Attempts with the same name are retries of the same append. It must be
   * stored at most once.
   */
  readonly append: string;
  readonly session: string;
  /**
   * The drafts, encoded with `encodeDraft`. Two different appends must not contain the same draft.
   */
  readonly drafts: readonly string[];
  /**
   * True if the driver of the session wrote the append. Earlier drivers must not write after it.
   */
  readonly isFromDriver?: boolean;
}

export interface Subscription {
  readonly session: string;
  /** Distinguishes several subscriptions of a process to the same session. */
  readonly subscriber?: string;
}

/** Reports that a process starts to read a session. */
export interface SubscriptionStart extends Subscription {
  readonly type: 'subscribed';
  readonly from: number;
  /** The highest offset that a process had reported before this process started. */
  readonly knownThrough: number;
}

/**
 * Sends a report synchronously. So it arrives even if the process is killed immediately afterwards.
 */
export const report: (message: Report) => void = sendToParent;

export function reportReceived(subscription: Subscription, batch: Batch): void {
  report({ type: 'received', ...subscription, batch: encodeBatch(batch) });
}

export function reportAttempt(
  append: string,
  session: string,
  drafts: readonly DraftRecord[],
  isFromDriver = false,
): void {
  report({ type: 'attempted', append, session, drafts: drafts.map(encodeDraft), isFromDriver });
}

/** Returns true if the error means that a different process holds the session. */
export function isHeldError(error: unknown): boolean {
  return isMillraceError(error) && error.code === 'held';
}

/**
 * Returns true if the error means that the writer is fenced. In this case, nothing was stored. All
 * other errors are failures of the run.
 */
export function isFencedError(error: unknown): boolean {
  return isMillraceError(error) && error.code === 'fenced';
}

/**
 * Returns the append name for a command. It depends only on the session and the key, so it is the
 * same for all senders.
 */
export const commandName = ({ session, key }: Command): string =>
  `command ${JSON.stringify([session, key])}`;

/** Returns the command of an append. Returns undefined if the append is not a command. */
export function commandOf(append: string): Command | undefined {
  if (!append.startsWith('command ')) return undefined;
  const [session, key] = JSON.parse(append.slice('command '.length)) as readonly [string, string];
  return { session, key };
}
