import type { SessionId } from '@millrace/core';

/** What a store knows of a session besides its records. */
export interface SessionRow {
  readonly session: SessionId;
  /** Which one of those that ever had this name: never the same again, whatever is deleted. */
  readonly made: number;
  /** How often records that were there already were changed. */
  readonly rewrites: number;
  /** The offset of its last record. */
  readonly through: number;
  readonly createdAt: number;
  readonly changedAt: number;
  readonly isClosed: boolean;
  /** Of the last driver there was. */
  readonly epoch: number;
  readonly lease: LeaseRow | undefined;
  /** The runs and turns that were begun and not finished. */
  readonly openWork: readonly string[];
  readonly queuedCommands: number;
  readonly origin: Origin | undefined;
  /** The row cannot be believed. Only lists have such ones; whatever else asks for it hears an error. */
  readonly isDamaged?: true;
}

export interface Origin {
  readonly session: SessionId;
  readonly through: number;
}

export interface LeaseRow {
  readonly holder: string;
  readonly expiresAt: number;
  /** Which process holds it, where that can be told. */
  readonly process: ProcessIdentity | undefined;
}

/** A process, so that its death can be noticed on the same machine. */
export interface ProcessIdentity {
  readonly host: string;
  /** Since when the machine runs, and which processes see each other there, as far as that can be told. */
  readonly boot: string;
  readonly space: string;
  readonly pid: number;
  /** When it started, in whatever words the system has: numbers of processes are used again. */
  readonly started: string;
}

/** A command that was submitted, by its key. */
export interface CommandRow {
  readonly offset: number;
  readonly isConsumed: boolean;
}

export interface ProducerRow {
  readonly session: SessionId;
  readonly producer: string;
  readonly driverEpoch: number;
  /** 0 until it is opened. */
  readonly epoch: number;
  readonly turn: number;
  readonly attempt: number;
  readonly isRequest: boolean;
  /** Of its last append in this epoch, and where that ended. */
  readonly sequence: number;
  readonly through: number;
}
