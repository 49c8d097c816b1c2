import type { ItemId } from '../ids.ts';
import type { Metadata, Part } from './part.ts';
import type { Stop } from './stop.ts';

export type ItemKind =
  | 'system'
  | 'developer'
  | 'user'
  | 'assistant'
  | 'tool'
  | 'context'
  | 'notification';

export interface Author {
  readonly name: string;
  readonly id?: string;
}

/** One entry of a transcript. */
export interface Item {
  readonly id: ItemId;
  readonly kind: ItemKind;
  readonly author?: Author;
  readonly parts: readonly Part[];
  /** How it ended; absent while it is open and where the question makes no sense. */
  readonly stop?: Stop;
  /** Its content was removed on purpose. */
  readonly redacted?: true;
  readonly metadata?: Metadata;
}

/** The version of the transcript's format, which is not that of the records. */
export const transcriptVersion = 1;
