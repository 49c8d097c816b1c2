// The messages between the chaos run and its worker processes. A worker gets one assignment as its
// argument and sends reports as JSON lines.
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

/** The argument that a worker process is started with. */
export type Assignment = (
  | DriverTask
  | ProducerTask
  | SubmitterTask
  | ReaderTask
  | ContenderTask
  /** Loads all modules and exits, so that their code is compiled only once. */
  | { readonly role: 'warm-up' }
) & {
  readonly name: string;
  /** The file of the SQLite log. */
  readonly path: string;
  readonly seed: number;
  /** The clock of the process is set by `byMs` when the process has run for `afterMs`. */
  readonly clockStep?: ClockStep | undefined;
  /** The process kills itself when it reaches this point for the n-th time. */
  readonly selfKill?: { readonly point: CommitPoint; readonly passes: number } | undefined;
};

export interface ClockStep {
  readonly byMs: number;
  readonly afterMs: number;
}

export interface DriverTask {
  readonly role: 'driver';
  /** Default: the default of the log, which no round outlives. */
  readonly leaseMs?: number | undefined;
  /** The driver pauses itself with SIGSTOP when it has run for so long. It holds no lock of the file then. */
  readonly pauseAfterMs?: number | undefined;
  readonly sessions: readonly KnownSession[];
  /** No other driver uses this turn or the next thousand turns. */
  readonly firstTurn: number;
  readonly takeOver: boolean;
  /** The last driver finishes all open parts, closes the sessions and exits. */
  readonly isLast: boolean;
}

export interface KnownSession {
  readonly session: string;
  /** The highest offset that any process has reported. */
  readonly knownThrough: number;
}

/** A producer receives admissions as JSON lines and writes with them. */
export interface ProducerTask {
  readonly role: 'producer';
}

export interface SubmitterTask {
  readonly role: 'submitter';
  readonly sessions: readonly string[];
  /** Commands of earlier submitters for which no answer was reported. */
  readonly unanswered: readonly Command[];
}

/** A contender tries to open sessions that a live driver holds, and must be refused. */
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
  /** A contender got a session, and gave it back. */
  | { readonly type: 'taken'; readonly session: string }
  | { readonly type: 'admitted'; readonly admission: Admission }
  | { readonly type: 'failed'; readonly reason: string };

/** Reported before the append starts, so that the checks know what a killed process may have stored. */
export interface AppendAttempt {
  readonly type: 'attempted';
  /** Attempts with the same name are retries of one append, which must be stored at most once. */
  readonly append: string;
  readonly session: string;
  /** Encoded with `encodeDraft`. Two different appends must not contain the same draft. */
  readonly drafts: readonly string[];
  /** The driver of the session wrote it. No earlier driver may write after it. */
  readonly isFromDriver?: boolean;
}

export interface Subscription {
  readonly session: string;
  /** Tells apart several subscriptions of one process to the same session. */
  readonly subscriber?: string;
}

/** A process starts to read a session. */
export interface SubscriptionStart extends Subscription {
  readonly type: 'subscribed';
  readonly from: number;
  /** The highest offset that any process had reported before this process started. */
  readonly knownThrough: number;
}

/** Sends a report synchronously, so that it arrives even if the process is killed right after. */
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

/** Another process holds the session. */
export function isHeldError(error: unknown): boolean {
  return isMillraceError(error) && error.code === 'held';
}

/** A fenced writer knows that nothing was stored. Any other error is a failure of the run. */
export function isFencedError(error: unknown): boolean {
  return isMillraceError(error) && error.code === 'fenced';
}

/** The name of a command's append. It depends only on the session and the key, not on the sender. */
export const commandName = ({ session, key }: Command): string =>
  `command ${JSON.stringify([session, key])}`;

/** Returns the command of an append; undefined if the append is not a command. */
export function commandOf(append: string): Command | undefined {
  if (!append.startsWith('command ')) return undefined;
  const [session, key] = JSON.parse(append.slice('command '.length)) as readonly [string, string];
  return { session, key };
}
