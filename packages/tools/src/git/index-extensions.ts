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

/** The extensions that a reader also accepts. Default: none. */
interface Accepted {
  /** True if the index may refer to a shared file. */
  readonly isSplit?: boolean | undefined;
  /** True if the index may have entries for whole folders. */
  readonly mayFold?: boolean | undefined;
}

/** Returns the content of an extension. Returns undefined if there is none, or if there are several. */
export function findExtension(
  index: Buffer,
  wanted: string,
  from: number,
  end: number,
): Buffer | undefined {
  const found: Buffer[] = [];
  const code = Buffer.from(wanted, 'latin1').readUInt32BE();
  for (let at = from; at < end; at += 8 + index.readUInt32BE(at + 4))
    if (index.readUInt32BE(at) === code)
      found.push(index.subarray(at + 8, at + 8 + index.readUInt32BE(at + 4)));
  return found.length === 1 ? found[0] : undefined;
}

/**
 * True if the extension of a file monitor has a usual token. Git passes this text to the monitor program that the
 * user has configured. Version 1 has a time in its place.
 */
function isPlainToken(content: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these bytes are the version and the end
  return /^\0\0\0(?:\x01|\x02[\w:.@+-]{0,200}\0)/.test(content);
}

/**
 * Returns the reason why the extensions of an index are a risk. They are between the offsets `from` and `end`. Throws a
 * `RangeError` if a number points outside the file.
 */
export function findExtensionRisk(
  index: Buffer,
  from: number,
  end: number,
  starts: readonly EntryStart[],
  { isSplit = false, mayFold = false }: Accepted = {},
): string | undefined {
  let at = from;
  const seen = new Set<string>();
  while (at < end) {
    const name = index.toString('latin1', at, at + 4);
    const size = index.readUInt32BE(at + 4);
    const next = at + 8 + size;
    if (next > end) return 'the index is damaged';
    if (name === 'link' && !isSplit) return 'the index is split into two files';
    if (name === 'FSMN' && !isPlainToken(index.toString('latin1', at + 8, next)))
      return 'the index has an unusual token for a monitor';
    const isKnown = name === 'link' || (name === 'sdir' && mayFold) || harmlessExtensions.has(name);
    if (!isKnown) return 'the index has an unknown extension';
    if (seen.has(name)) return 'the index has an extension twice';
    seen.add(name);
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
