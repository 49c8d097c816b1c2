/** The place of an entry in an index. */
export interface EntryStart {
  readonly at: number;
  /**
   * True if the entry stores its complete name. In version 4, a name can reuse the start of the previous
   * name.
   */
  readonly isWhole: boolean;
}

/**
 * The extensions that do not change entries. The extension `link` is not harmless, because it refers to a
 * second file with entries. `sdir` is not harmless, because it replaces the entries of a folder by an object.
 * `NAME` belongs to libgit2, and git ignores it.
 */
const harmlessExtensions: ReadonlySet<string> = new Set(
  'TREE REUC NAME UNTR FSMN EOIE IEOT'.split(' '),
);

/**
 * Returns the reason why the extensions of an index are a risk. They are between the offsets `from` and `end`. Throws a
 * `RangeError` if a number points outside the file.
 */
export function findExtensionRisk(
  index: Buffer,
  from: number,
  end: number,
  starts: readonly EntryStart[],
  { isSplit = false }: { readonly isSplit?: boolean } = {},
): string | undefined {
  let at = from;
  while (at < end) {
    const name = index.toString('latin1', at, at + 4);
    const size = index.readUInt32BE(at + 4);
    const next = at + 8 + size;
    if (next > end) return 'the index is damaged';
    if (name === 'link' && !isSplit) return 'the index is split into two files';
    if (name !== 'link' && !harmlessExtensions.has(name))
      return 'the index has an unknown extension';
    if (name === 'IEOT' && !isTableOf(index.subarray(at + 8, next), starts))
      return 'the index has a second list of entries';
    // Git's threads search for extensions at this offset.
    if (name === 'EOIE' && index.readUInt32BE(at + 8) !== from)
      return 'the index has a second end of its entries';
    at = next;
  }
  return at === end ? undefined : 'the index is damaged';
}

/**
 * True if the blocks in an offset table contain exactly these entries. Git's threads read entries at these
 * offsets and not one after the other. A block must start with a complete name, because a thread does not
 * have the previous name.
 */
function isTableOf(table: Buffer, starts: readonly EntryStart[]): boolean {
  if (table.length % 8 !== 4 || table.readUInt32BE(0) !== 1) return false;
  let entry = 0;
  for (let at = 4; at < table.length; at += 8) {
    const start = starts[entry];
    if (table.readUInt32BE(at) !== start?.at || !start.isWhole) return false;
    entry += table.readUInt32BE(at + 4);
  }
  return entry === starts.length;
}
