import type { ItemId } from '@millrace/core';
import { useMemo } from 'react';
import type { ChatSource } from './state/chat-source.ts';
import type { Notice } from './state/notice.ts';
import { useRead } from './state/use-source.ts';

export type Row =
  | { readonly type: 'item'; readonly key: string; readonly id: ItemId }
  | { readonly type: 'notice'; readonly key: string; readonly notice: Notice };

const idsOf = ({ itemIds }: ChatSource) => itemIds;
const noticesOf = ({ facts }: ChatSource) => facts.notices;

/** What stands below one another. The same list until an item or a notice comes or goes. */
export function useRows(source: ChatSource): readonly Row[] {
  const ids = useRead(source, idsOf);
  const notices = useRead(source, noticesOf);
  return useMemo(() => rowsOf(source, ids, notices), [source, ids, notices]);
}

function rowsOf(
  source: ChatSource,
  ids: readonly ItemId[],
  notices: readonly Notice[],
): readonly Row[] {
  const after = Map.groupBy(notices, (notice) => notice.after);
  const rowsAfter = (id: ItemId | undefined) =>
    (after.get(id) ?? []).map((notice): Row => ({ type: 'notice', key: `n${notice.id}`, notice }));
  const rows = ids.flatMap((id): readonly Row[] => {
    // Results are shown with their calls.
    const isShown = source.item(id)?.kind !== 'tool';
    const own: readonly Row[] = isShown ? [{ type: 'item', key: `i${id}`, id }] : [];
    return [...own, ...rowsAfter(id)];
  });
  return [...rowsAfter(undefined), ...rows];
}
