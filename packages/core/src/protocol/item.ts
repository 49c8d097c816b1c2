import type { ItemId } from '../ids.ts';
import type { Metadata, Part } from './part.ts';
import type { Stop } from './stop.ts';

/** The kinds of items. */
export type ItemKind =
  | 'system'
  | 'developer'
  | 'user'
  | 'assistant'
  | 'tool'
  | 'context'
  | 'notification';

/** The author of an item. */
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
  /** The reason why the item ended. Absent while the item is open, and for items that cannot stop early. */
  readonly stop?: Stop;
  /** True if the content was removed on purpose. */
  readonly redacted?: true;
  readonly metadata?: Metadata;
}

/** The version of the transcript format. It is independent of the version of records. */
export const transcriptVersion = 1;
