/**
 * An immutable list that grows at its end without copying: a linked list of short arrays, newest
 * first. Changes near the end are cheap.
 */
export interface Sequence<T> {
  readonly before: Sequence<T> | undefined;
  readonly chunk: readonly T[];
  /** Present on the oldest link if the list has older entries that were not loaded. */
  readonly isCut?: true;
}

const chunkLength = 32;

export function emptySequence<T>(): Sequence<T> {
  return { before: undefined, chunk: [] };
}

export function push<T>(sequence: Sequence<T>, entry: T): Sequence<T> {
  const { before, chunk } = sequence;
  return chunk.length < chunkLength
    ? { before, chunk: [...chunk, entry] }
    : { before: sequence, chunk: [entry] };
}

/** Returns an empty list, which is marked as cut: older entries exist but were not loaded. */
export function cutSequence<T>(): Sequence<T> {
  // `push` adds an entry to the newest link, so the link with the mark must not be the newest.
  return { before: { before: undefined, chunk: [], isCut: true }, chunk: [] };
}

/** Returns whether the list has older entries that were not loaded. */
export function isCut<T>(sequence: Sequence<T>): boolean {
  let link = sequence;
  while (link.before !== undefined) link = link.before;
  return link.isCut === true;
}

/** Lists the entries in order. */
export function toArray<T>(sequence: Sequence<T>): readonly T[] {
  return links(sequence)
    .reverse()
    .flatMap(({ chunk }) => chunk);
}

/** Returns the last entry that fits, or undefined if no entry does. */
export function findLast<T>(sequence: Sequence<T>, fits: (entry: T) => boolean): T | undefined {
  for (let link: Sequence<T> | undefined = sequence; link !== undefined; link = link.before) {
    const found = link.chunk.findLast(fits);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Returns, in order, all entries that were added or changed since `earlier`. The result can also
 * contain unchanged entries that share a link with a changed one. The cost depends on the number of
 * these entries, not on the length of the list.
 */
export function entriesSince<T>(sequence: Sequence<T>, earlier: Sequence<T>): readonly T[] {
  const shared = sharedLink(sequence, earlier);
  const found: (readonly T[])[] = [];
  for (let link: Sequence<T> | undefined = sequence; link !== shared; link = link?.before)
    if (link !== undefined) found.push(link.chunk);
  return found.reverse().flat();
}

/**
 * Returns the newest link that both lists contain. It walks both lists together, from their ends.
 */
function sharedLink<T>(one: Sequence<T>, other: Sequence<T>): Sequence<T> | undefined {
  const [ones, others] = [new Set<Sequence<T>>(), new Set<Sequence<T>>()];
  let [a, b]: (Sequence<T> | undefined)[] = [one, other];
  while (a !== undefined || b !== undefined) {
    if (a !== undefined && (a === b || others.has(a))) return a;
    if (b !== undefined && ones.has(b)) return b;
    if (a !== undefined) ones.add(a);
    if (b !== undefined) others.add(b);
    [a, b] = [a?.before, b?.before];
  }
  return undefined;
}

/** Returns the list with one entry replaced. */
export function replace<T>(sequence: Sequence<T>, old: T, entry: T): Sequence<T> {
  const newer: Sequence<T>[] = [];
  for (let link: Sequence<T> | undefined = sequence; link !== undefined; link = link.before) {
    const index = link.chunk.lastIndexOf(old);
    if (index >= 0) {
      const changed = { before: link.before, chunk: link.chunk.with(index, entry) };
      return newer.reduceRight<Sequence<T>>((before, { chunk }) => ({ before, chunk }), changed);
    }
    newer.push(link);
  }
  return sequence;
}

/** Applies `change` to every matching entry. An entry is removed if `change` returns undefined. */
export function changeAll<T>(
  sequence: Sequence<T>,
  isConcerned: (entry: T) => boolean,
  change: (entry: T) => T | undefined,
): Sequence<T> {
  const changed = (entry: T) => (isConcerned(entry) ? change(entry) : entry);
  const chunkOf = ({ chunk }: Sequence<T>) =>
    chunk.some(isConcerned) ? chunk.map(changed).filter((entry) => entry !== undefined) : chunk;
  return (
    links(sequence).reduceRight<Sequence<T> | undefined>((before, link) => {
      const chunk = chunkOf(link);
      return chunk === link.chunk && before === link.before ? link : { before, chunk };
    }, undefined) ?? sequence
  );
}

/** Returns the links, newest first. */
function links<T>(sequence: Sequence<T>): Sequence<T>[] {
  const found: Sequence<T>[] = [];
  for (let link: Sequence<T> | undefined = sequence; link !== undefined; link = link.before) {
    found.push(link);
  }
  return found;
}
