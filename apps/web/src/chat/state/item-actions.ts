import type { ItemId } from '@millrace/core';
import { createContext, useContext } from 'react';

/** What can be done about an item, where it can. */
export interface ItemActions {
  readonly edit?: ((id: ItemId, text: string) => void) | undefined;
  readonly regenerate?: ((id: ItemId) => void) | undefined;
  /** The tasks that go on from there, and which of them this is; undefined where there is one way only. */
  branches(id: ItemId): { readonly ids: readonly string[]; readonly at: number } | undefined;
}

export const ItemActionsContext = createContext<ItemActions>({ branches: () => undefined });

export function useItemActions(): ItemActions {
  return useContext(ItemActionsContext);
}
