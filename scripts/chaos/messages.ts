import {
  type Batch,
  type DraftRecord,
  encodeBatch,
  encodeDraft,
  isMillraceError,
} from '@millrace/core';
import type { Admission } from '@millrace/log';
import type { CommitPoint } from '../../packages/log/src/storage/record-store.ts';
import { tell } from '../../packages/log/src/testing/start-process.ts';

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

/** Says it at once: what a process was told counts as soon as it has passed it on. */
export const say: (said: Said) => void = tell;

export function sayHeard(where: Listened, batch: Batch): void {
  say({ type: 'heard', ...where, batch: encodeBatch(batch) });
}

export function sayTried(
  append: string,
  session: string,
  drafts: readonly DraftRecord[],
  isDrivers = false,
): void {
  say({ type: 'tried', append, session, drafts: drafts.map(encodeDraft), isDrivers });
}

/** Whoever is fenced was told so, and that nothing was stored; anything else is not meant to happen. */
export function isFencedError(error: unknown): boolean {
  return isMillraceError(error) && error.code === 'fenced';
}

/** Whoever sends it: a command is the same for the same key. */
export const commandName = ({ session, key }: Command): string =>
  `command ${JSON.stringify([session, key])}`;

export function commandOf(append: string): Command | undefined {
  if (!append.startsWith('command ')) return undefined;
  const [session, key] = JSON.parse(append.slice('command '.length)) as readonly [string, string];
  return { session, key };
}

export interface Listened {
  readonly session: string;
  /** Which one of those in the process that listen to the session. */
  readonly ear?: string;
}

/** Before it is asked for, so that what a dead process may have stored is known. */
export interface Tried {
  readonly type: 'tried';
  /** The same again is the same append again: it may be stored once. */
  readonly append: string;
  readonly session: string;
  /** As `encodeDraft` writes them. No two appends may have the same one. */
  readonly drafts: readonly string[];
  /** It was written by who drove the session: nobody who drove before may write any more. */
  readonly isDrivers?: boolean;
}

/** A process begins to listen to a session. */
export interface Asked extends Listened {
  readonly type: 'asked';
  readonly from: number;
  /** Some process had been told of so much before this one started. */
  readonly atLeast: number;
}
