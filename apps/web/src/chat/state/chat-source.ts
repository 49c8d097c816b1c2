import type { LiveItem } from '@millrace/client';
import type { FoldState, ItemId, Part, PartId } from '@millrace/core';
import type { FactBook } from './fact-book.ts';

/**
 * What the chat shows: a task as it is, or as it was at a record. What did not change is the same
 * object each time, so that only what changed renders.
 */
export interface ChatSource {
  readonly id: string;
  /** Bound; calls back after each change. */
  readonly subscribe: (listener: () => void) => () => void;
  /** The same list until an item comes or goes. */
  readonly itemIds: readonly ItemId[];
  readonly state: FoldState;
  readonly facts: FactBook;
  item(id: ItemId): LiveItem | undefined;
  part(id: PartId): Part | undefined;
  blob(hash: string): Promise<Blob>;
}
