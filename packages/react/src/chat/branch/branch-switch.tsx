import type { Attachment } from '@millrace/client';
import type { ItemId } from '@millrace/core';
import { createContext, useContext } from 'react';
import { IconButton } from '../../design/button.tsx';
import { ChevronIcon, LeftIcon } from '../../design/icons.tsx';
import { useLabels } from '../../labels/use-labels.ts';

/** The actions that are available for an item. */
export interface ItemActions {
  /**
   * Replaces a message in a new branch and opens that branch. Rejects if the branch cannot be
   * created.
   */
  readonly edit?:
    | ((id: ItemId, text: string, attachments: readonly Attachment[]) => Promise<void>)
    | undefined;
  /** Answers again in a new branch. */
  readonly regenerate?: ((id: ItemId) => void) | undefined;
  /**
   * Returns the tasks that branch at the item, and the position of this task in that list. Returns
   * undefined if there is only one task.
   */
  branches(id: ItemId): { readonly ids: readonly string[]; readonly at: number } | undefined;
  /** Opens another branch. Default: the user cannot change the branch. */
  readonly open?: ((id: string) => void) | undefined;
}

/** The context with the actions for the items of a session. */
export const ItemActionsContext = createContext<ItemActions>({ branches: () => undefined });

/** Returns the actions that are available for an item. */
export function useItemActions(): ItemActions {
  return useContext(ItemActionsContext);
}

/**
 * Shows the number of this branch, with buttons that open the other branches of the conversation.
 */
export function BranchSwitch({ itemId }: { readonly itemId: ItemId }) {
  const t = useLabels();
  const { branches, open } = useItemActions();
  const position = branches(itemId);
  if (position === undefined) return null;
  const { ids, at } = position;
  const go = (to: number) => {
    const id = ids[to];
    if (id !== undefined) open?.(id);
  };
  return (
    <fieldset className="branch-switch" aria-label={t.branches}>
      <IconButton
        size="small"
        label={t.previousBranch}
        disabled={open === undefined || at === 0}
        onClick={() => go(at - 1)}
      >
        <LeftIcon />
      </IconButton>
      <span>
        {at + 1} / {ids.length}
      </span>
      <IconButton
        size="small"
        label={t.nextBranch}
        disabled={open === undefined || at === ids.length - 1}
        onClick={() => go(at + 1)}
      >
        <ChevronIcon />
      </IconButton>
    </fieldset>
  );
}
