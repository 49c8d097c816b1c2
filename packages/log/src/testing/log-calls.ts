import type { JsonObject } from '@millrace/core';
import type { FollowOptions, OpenOptions, Submitted } from '../contract/log.ts';
import type { Acknowledged, Admission, AdmitOptions } from '../contract/producer.ts';
import type { SessionInfo } from '../contract/session-info.ts';

/**
 * What a test may ask of a log in another process: the log's own words, with drafts and batches as
 * the lines that they are on the wire, and numbers for drivers and producers.
 */
export interface LogCalls {
  open(session: string, options: OpenOptions): { readonly driver: number; readonly epoch: number };
  append(driver: number, drafts: readonly string[]): string;
  admit(driver: number, options: AdmitOptions): Admission;
  release(driver: number): null;
  closeSession(driver: number): string;
  produce(admission: Admission): OpenedProducer;
  produceDrafts(producer: number, drafts: readonly string[], sequence: number): Acknowledged;
  submit(session: string, command: JsonObject, key: string): Submitted;
  read(session: string, from: number): string;
  info(session: string): SessionInfo | null;
  delete(session: string): boolean;
  /** From then on its batches are told; answers when it follows. */
  follow(session: string, options: Pick<FollowOptions, 'from' | 'until'>): null;
  close(): null;
}

interface OpenedProducer {
  readonly producer: number;
  readonly epoch: number;
  readonly turn: number;
  readonly attempt: number;
}

export type Order = {
  readonly [Name in keyof LogCalls]: {
    readonly id: number;
    readonly call: Name;
    readonly args: Parameters<LogCalls[Name]>;
  };
}[keyof LogCalls];

export interface ToldError {
  readonly code: string;
  readonly message: string;
  readonly place: Readonly<Record<string, unknown>>;
}

export type Told =
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'error'; readonly id: number; readonly error: ToldError }
  | { readonly type: 'lost'; readonly driver: number; readonly error: ToldError }
  /** `heardAt`: by the clock that all processes of a machine share. */
  | {
      readonly type: 'batch';
      readonly session: string;
      readonly batch: string;
      readonly heardAt: number;
    }
  | { readonly type: 'ended'; readonly session: string; readonly error?: ToldError | undefined };
