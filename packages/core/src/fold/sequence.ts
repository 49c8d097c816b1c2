/**
 * An immutable list that grows at its end without copying: a linked list of short arrays, newest
 * first. Changes near the end are cheap.
 */
export interface Sequence<T> {
  readonly before: Sequence<T> | undefined;
  readonly chunk: readonly T[];
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

/** Lists the entries in order. */
export function toArray<T>(sequence: Sequence<T>): readonly T[] {
  return links(sequence)
    .reverse()
    .flatMap(({ chunk }) => chunk);
}

export function findLast<T>(sequence: Sequence<T>, fits: (entry: T) => boolean): T | undefined {
  for (let link: Sequence<T> | undefined = sequence; link !== undefined; link = link.before) {
    const found = link.chunk.findLast(fits);
    if (found !== undefined) return found;
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

/** Changes every matching entry. The entry is removed if the change returns undefined. */
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
