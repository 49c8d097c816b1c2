import { encodeRecord, type LogRecord } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import { withoutLinks } from '../storage/record-line.ts';
import { indexAfter } from '../storage/record-list.ts';
import type { ChainHead } from '../storage/rows.ts';
import { decodeLink, encodeLink, groupLinkHash, type Link, type OffsetRange } from './link.ts';
import { advance, commitTo, groupRecords, linkHash, type SealedRecords } from './seal.ts';

/** A link, and the offset of the record that has it. */
interface PlacedLink {
  readonly link: Link;
  readonly at: number;
}

/**
 * Continues the chain after a rewrite: settling, redaction, or an import that changed records. `old` and
 * `next` are the records before and after it. The new link covers all records of the groups that the rewrite
 * has changed. These groups lose their salts in the earlier links, so that nobody can guess removed content.
 * All earlier links stay.
 */
export function rewriteChain(
  chain: ChainHead,
  old: readonly LogRecord[],
  next: readonly LogRecord[],
  note: string,
): SealedRecords {
  const placed = linksOf(old);
  const changes = changedGroups(old, next, placed);
  const bare = next.map(withoutLinks);
  const texts = new Map<number, string[]>();
  const attach = (at: number, text: string) => {
    const carrier = bare[Math.min(indexAfter(bare, at - 1), bare.length - 1)]?.offset ?? at;
    const known = texts.get(carrier);
    if (known === undefined) texts.set(carrier, [text]);
    else known.push(text);
  };
  for (const { link, at } of placed) attach(at, encodeLink(changes.opened.get(link) ?? link));
  let head = chain;
  if (changes.offsets.length > 0) {
    const covered = new Set(changes.offsets);
    const link = {
      number: chain.count + 1,
      ranges: toRanges(changes.offsets),
      previous: chain.hash,
      groups: commitTo(bare.filter(({ offset }) => covered.has(offset))),
      note,
    };
    attach(bare.at(-1)?.offset ?? 0, encodeLink(link));
    head = advance(chain, link.number, groupLinkHash(link));
  }
  const records = bare.map((record) => {
    const links = texts.get(record.offset);
    return links === undefined ? record : { ...record, links };
  });
  return { records, chain: head };
}

/** Returns the links of records, sorted by their numbers. Throws `corrupt` for a link that is not readable. */
export function linksOf(records: readonly LogRecord[]): readonly PlacedLink[] {
  const placed = records.flatMap(({ offset, links = [] }) =>
    links.map((text): PlacedLink => {
      const link = decodeLink(text);
      if (link === undefined) throw unreadableLink(offset);
      return { link, at: offset };
    }),
  );
  return placed.sort((a, b) => a.link.number - b.link.number);
}

function unreadableLink(offset: number): LogError {
  const message = `Cannot continue the hash chain at offset ${offset}: a link is not readable. Verify the session, and restore a backup`;
  return new LogError('corrupt', message, { offset });
}

/** Returns the last link that covers each record, by offset. Records without a link have no entry. */
export function governingLinks(
  records: readonly LogRecord[],
  links: readonly Link[],
): ReadonlyMap<number, Link> {
  return lastCovering(
    records.map(({ offset }) => offset),
    links,
  );
}

/**
 * Returns for each offset the last link that covers it. Links and offsets must be sorted. Each offset is
 * assigned once, so the time does not depend on how many links of a hostile file cover the same offsets.
 */
export function lastCovering(
  offsets: readonly number[],
  links: readonly Link[],
): ReadonlyMap<number, Link> {
  const found = new Map<number, Link>();
  // For each index, the next index without a link. Later steps make the paths shorter.
  const next = Array.from({ length: offsets.length + 1 }, (_, index) => index);
  const free = (from: number): number => {
    let at = from;
    for (let to = next[at] ?? at; to !== at; to = next[at] ?? at) {
      next[at] = next[to] ?? to;
      at = to;
    }
    return at;
  };
  for (const link of links.toReversed())
    for (const [first, last] of link.ranges)
      for (let at = free(firstAtLeast(offsets, first)); at < offsets.length; at = free(at)) {
        const offset = offsets[at] ?? 0;
        if (offset > last) break;
        found.set(offset, link);
        next[at] = at + 1;
      }
  return found;
}

function firstAtLeast(offsets: readonly number[], least: number): number {
  let [low, high] = [0, offsets.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((offsets[middle] ?? 0) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface ChangedGroups {
  /** The links without the salts of these groups. Only changed links are present. */
  readonly opened: ReadonlyMap<Link, Link>;
  /** The offsets of all old records of these groups, and of all new records, sorted. */
  readonly offsets: readonly number[];
}

function changedGroups(
  old: readonly LogRecord[],
  next: readonly LogRecord[],
  placed: readonly PlacedLink[],
): ChangedGroups {
  const governing = governingLinks(
    old,
    placed.map(({ link }) => link),
  );
  const known = new Set(old.map(({ offset }) => offset));
  const after = new Map(next.map((record) => [record.offset, record]));
  const offsets = next.flatMap(({ offset }) => (known.has(offset) ? [] : offset));
  const opened = new Map<Link, Link>();
  for (const [link, records] of byLink(old, governing)) {
    const firsts = new Set<number>();
    for (const group of groupRecords(records).values()) {
      if (group.every((record) => isSame(record, after.get(record.offset)))) continue;
      firsts.add(group[0]?.offset ?? 0);
      for (const { offset } of group) offsets.push(offset);
    }
    if (firsts.size > 0) opened.set(link, withoutSalts(link, records, firsts));
  }
  return { opened, offsets: offsets.sort((a, b) => a - b) };
}

/** Returns the records of each link, without the records that no link covers. */
export function byLink(
  records: readonly LogRecord[],
  governing: ReadonlyMap<number, Link>,
): ReadonlyMap<Link, readonly LogRecord[]> {
  const found = new Map<Link, LogRecord[]>();
  for (const record of records) {
    const link = governing.get(record.offset);
    if (link === undefined) continue;
    const own = found.get(link);
    if (own === undefined) found.set(link, [record]);
    else own.push(record);
  }
  return found;
}

function isSame(one: LogRecord, other: LogRecord | undefined): boolean {
  if (one === other) return true;
  if (other === undefined) return false;
  return encodeRecord(withoutLinks(one)) === encodeRecord(withoutLinks(other));
}

function withoutSalts(
  link: Link,
  records: readonly LogRecord[],
  firsts: ReadonlySet<number>,
): Link {
  if (link.groups === undefined) return { ...link, salt: '', hash: linkHash(link, records) };
  const groups = link.groups.map((group) =>
    firsts.has(group.first) ? { ...group, salt: '' } : group,
  );
  return { ...link, groups };
}

function toRanges(offsets: readonly number[]): readonly OffsetRange[] {
  const ranges: [number, number][] = [];
  for (const offset of offsets) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === offset - 1) last[1] = offset;
    else ranges.push([offset, offset]);
  }
  return ranges;
}
