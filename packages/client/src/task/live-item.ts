import type { Item, ItemState, OpenPart, Part, PartId } from '@millrace/core';
import { livePart, toItem } from '@millrace/core';

/** An item with what is streaming of it as far as it came. The same object as long as nothing changes. */
export interface LiveItem extends Item {
  /** Of its parts, in the same order. */
  readonly partIds: readonly PartId[];
  /** More may come. */
  readonly isOpen: boolean;
  /** In ms since 1970. */
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
}

/** What a live item was made of: the same gives the same. */
export interface ItemSource {
  readonly state: ItemState;
  /** Its streaming parts. */
  readonly open: readonly OpenPart[];
  readonly item: LiveItem;
}

export function makeItem(
  state: ItemState,
  open: readonly OpenPart[],
  before: ItemSource | undefined,
): ItemSource {
  if (before?.state === state && isSameList(before.open, open)) return before;
  const shown = state.parts.flatMap(({ id, part: committed }) => {
    const part = committed ?? shownPart(open.find((one) => one.id === id));
    return part === undefined ? [] : [{ id, part }];
  });
  const ids = shown.map(({ id }) => id);
  const known = before?.item.partIds ?? [];
  const item: LiveItem = {
    ...toItem(state),
    parts: shown.map(({ part }) => part),
    partIds: isSameList(known, ids) ? known : ids,
    isOpen: state.finished === undefined,
    startedAt: state.startedAt,
    finishedAt: state.finishedAt,
  };
  return { state, open, item };
}

// An open part is another object with each change, so it stands for what it shows.
const shownParts = new WeakMap<OpenPart, Part>();

function shownPart(open: OpenPart | undefined): Part | undefined {
  if (open === undefined) return undefined;
  const part = shownParts.get(open) ?? livePart(open);
  shownParts.set(open, part);
  return part;
}

export function isSameList<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((entry, index) => entry === b[index]);
}
