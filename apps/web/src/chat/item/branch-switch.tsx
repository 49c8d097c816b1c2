import type { ItemId } from '@millrace/core';
import { navigate } from '../../app/route.ts';
import { IconButton } from '../../design/button.tsx';
import { ChevronIcon, LeftIcon } from '../../design/icons.tsx';
import { useItemActions } from '../state/item-actions.ts';

/** Where a talk went several ways from an item on: which one this is, and the way to the others. */
export function BranchSwitch({ itemId }: { readonly itemId: ItemId }) {
  const { branches } = useItemActions();
  const found = branches(itemId);
  if (found === undefined) return null;
  const { ids, at } = found;
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
