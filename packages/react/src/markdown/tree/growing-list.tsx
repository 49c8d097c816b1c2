import { Fragment, memo, type ReactNode } from 'react';

/** Maximum number of entries, or of inner groups, in a group. */
const fanOut = 32;

type Group<T> = LeafGroup<T> | BranchGroup<T>;

interface LeafGroup<T> {
  readonly height: 0;
  readonly entries: readonly T[];
}

interface BranchGroup<T> {
  readonly height: number;
  readonly groups: readonly Group<T>[];
}

/**
 * An immutable list that grows at its end. A longer list shares almost all groups with the previous
 * list. Only the last groups are new. So appending and rendering take a few dozen steps, even for a
 * long list. An entry stays in its group, so React keeps its element.
 */
export class GrowingList<T> {
  readonly size: number;
  /** The first group contains 32 entries. Each further group contains 32 times as many. */
  readonly groups: readonly Group<T>[];

  constructor(size = 0, groups: readonly Group<T>[] = []) {
    this.size = size;
    this.groups = groups;
  }

  get last(): T | undefined {
    let group = this.groups.at(-1);
    while (group !== undefined && 'groups' in group) group = group.groups.at(-1);
    return group?.entries.at(-1);
  }

  /** Returns a list with one more entry. */
  append(entry: T): GrowingList<T> {
    const last = this.groups.at(-1);
    const grown = last && withEntry(last, entry);
    const groups =
      grown === undefined
        ? [...this.groups, groupWith(this.groups.length, entry)]
        : [...this.groups.slice(0, -1), grown];
    return new GrowingList(this.size + 1, groups);
  }

  /** Returns a list whose last entry is replaced. */
  replaceLast(entry: T): GrowingList<T> {
    const last = this.groups.at(-1);
    if (last === undefined) return this.append(entry);
    return new GrowingList(this.size, [...this.groups.slice(0, -1), withLast(last, entry)]);
  }

  *[Symbol.iterator](): Generator<T> {
    for (const group of this.groups) yield* entriesOf(group);
  }
}

/** Returns a group with one more entry. Returns undefined if the group is full. */
function withEntry<T>(group: Group<T>, entry: T): Group<T> | undefined {
  if (!('groups' in group)) {
    if (group.entries.length === fanOut) return undefined;
    return { height: 0, entries: [...group.entries, entry] };
  }
  const { height, groups } = group;
  const last = groups.at(-1);
  const grown = last && withEntry(last, entry);
  if (grown !== undefined) return { height, groups: [...groups.slice(0, -1), grown] };
  if (groups.length === fanOut) return undefined;
  return { height, groups: [...groups, groupWith(height - 1, entry)] };
}

function groupWith<T>(height: number, entry: T): Group<T> {
  return height === 0
    ? { height: 0, entries: [entry] }
    : { height, groups: [groupWith(height - 1, entry)] };
}

function withLast<T>(group: Group<T>, entry: T): Group<T> {
  if (!('groups' in group)) return { height: 0, entries: [...group.entries.slice(0, -1), entry] };
  const last = group.groups.at(-1);
  if (last === undefined) return group;
  return { height: group.height, groups: [...group.groups.slice(0, -1), withLast(last, entry)] };
}

function* entriesOf<T>(group: Group<T>): Generator<T> {
  if ('groups' in group) for (const inner of group.groups) yield* entriesOf(inner);
  else yield* group.entries;
}

export interface GrowingListViewProps<T> {
  readonly list: GrowingList<T>;
  /** Renders up to 32 consecutive entries. Pass the same function on each rendering. */
  readonly render: (entries: readonly T[]) => ReactNode;
}

/** Renders a list. It renders only the groups that changed. */
export function GrowingListView<T>({ list, render }: GrowingListViewProps<T>) {
  return list.groups.map((group, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a group never changes its position
    <GroupView key={index} group={group} render={render} />
  ));
}

interface GroupViewProps<T> {
  readonly group: Group<T>;
  readonly render: (entries: readonly T[]) => ReactNode;
}

// This is an arrow function, because inner groups must use the memoized component. Inside a named
// function, the same name would refer to the function itself.
const GroupView = memo(<T,>({ group, render }: GroupViewProps<T>): ReactNode => {
  if (!('groups' in group)) return <Fragment>{render(group.entries)}</Fragment>;
  return group.groups.map((inner, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a group never changes its position
    <GroupView key={index} group={inner} render={render} />
  ));
}) as <T>(props: GroupViewProps<T> & { readonly key?: number }) => ReactNode;
