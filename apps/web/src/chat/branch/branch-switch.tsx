import type { Attachment } from '@millrace/client';
import type { ItemId } from '@millrace/core';
import { createContext, useContext } from 'react';
import { navigate } from '../../app/route.tsx';
import { IconButton } from '../../design/button.tsx';
import { ChevronIcon, LeftIcon } from '../../design/icons.tsx';

/** The actions that are available for an item. */
export interface ItemActions {
  /** Replaces a message in a new branch, and opens the branch. Rejects if there is no branch. */
  readonly edit?:
    | ((id: ItemId, text: string, attachments: readonly Attachment[]) => Promise<void>)
    | undefined;
  readonly regenerate?: ((id: ItemId) => void) | undefined;
  /**
   * Returns the tasks that branch off at the item, and the position of this task among them.
   * Returns undefined if there is only one.
   */
  branches(id: ItemId): { readonly ids: readonly string[]; readonly at: number } | undefined;
}

export const ItemActionsContext = createContext<ItemActions>({ branches: () => undefined });

export function useItemActions(): ItemActions {
  return useContext(ItemActionsContext);
}

/** Shows which branch of the conversation this is, with buttons to the other branches. */
export function BranchSwitch({ itemId }: { readonly itemId: ItemId }) {
  const { branches } = useItemActions();
  const position = branches(itemId);
  if (position === undefined) return null;
  const { ids, at } = position;
  const go = (to: number) => {
    const id = ids[to];
    if (id !== undefined) navigate({ page: 'task', id });
  };
  return (
    <fieldset className="branch-switch" aria-label="Branches">
      <IconButton
        size="small"
        label="Previous branch"
        disabled={at === 0}
        onClick={() => go(at - 1)}
      >
        <LeftIcon />
      </IconButton>
      <span>
        {at + 1} / {ids.length}
      </span>
      <IconButton
        size="small"
        label="Next branch"
        disabled={at === ids.length - 1}
        onClick={() => go(at + 1)}
      >
        <ChevronIcon />
      </IconButton>
    </fieldset>
  );
}
