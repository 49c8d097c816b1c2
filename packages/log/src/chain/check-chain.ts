import type { LogRecord } from '@millrace/core';
import type { SessionInfo } from '../contract/session-info.ts';
import { indexAfter } from '../storage/record-list.ts';
import type { ChainHead } from '../storage/rows.ts';
import { decodeLink, type GroupLink, type Link, type OffsetRange } from './link.ts';
import { byLink, governingLinks, lastCovering } from './rewrite-chain.ts';
import { commitmentOf, groupRecords, linkHash } from './seal.ts';

/** A difference between the records and the hash chain of a session. */
export interface ChainProblem {
  /** Says what is wrong, without content of the session. */
  readonly message: string;
  /** The first and the last offset that it concerns. Undefined if it concerns the whole chain. */
  readonly offsets?: OffsetRange | undefined;
  /** The number of the line in the lines of `verifyExport`. Undefined if it concerns no single line. */
  readonly line?: number | undefined;
}

/** Content that a rewrite took out of the session, or replaced. */
export interface ChainRewrite {
  /** The operation of the log: it settled a turn, redacted an item, or imported the session. */
  readonly reason: 'settled' | 'redacted' | 'imported';
  /** The number of the settled turn. */
  readonly turn?: number | undefined;
  /** The id of the redacted item. */
  readonly item?: string | undefined;
  /** The offsets whose records were removed or changed. */
  readonly offsets: readonly OffsetRange[];
  /** The number of records that were removed. */
  readonly removed: number;
  /** The number of the link that describes the rewrite. */
  readonly link: number;
}

/** The session that a copy was made of. */
export interface ChainOrigin {
  readonly session: string;
  /** The last copied offset. */
  readonly through: number;
  /** The end of the original's chain at that moment. Undefined if the original had no chain. */
  readonly chain?: { readonly count: number; readonly hash: string } | undefined;
}

/** The result of a verification. */
export interface ChainReport {
  /** True if the session has a chain and there is no problem. */
  readonly isValid: boolean;
  /** The end of the chain. Undefined if the session has no chain. */
  readonly chain: SessionInfo['chain'];
  /** The offset of the last record. */
  readonly through: number;
  /** The differences that were found, at most 100. */
  readonly problems: readonly ChainProblem[];
  /** The records that settling, redactions and imports removed or changed, in order. */
  readonly rewrites: readonly ChainRewrite[];
  /**
   * The offsets before the last signed head whose records a rewrite changed or removed after the signature. The
   * head does not prove what these offsets contain now. Undefined if there are none.
   */
  readonly unproven?: readonly OffsetRange[] | undefined;
  /** The offsets before the chain started. No link covers their records. */
  readonly uncovered?: OffsetRange | undefined;
  /** The original, if the session is a copy. */
  readonly origin?: ChainOrigin | undefined;
}

/** Maximum number of problems in a report. */
const maxProblems = 100;

/** Records of a session, and the end of the chain that its store or file gives. */
export interface ChainedRecords {
  /** All records of the session, or its last batches. */
  readonly records: readonly LogRecord[];
  readonly chain: NonNullable<SessionInfo['chain']>;
  readonly through: number;
  /**
   * The end of the chain before the records, if earlier batches are already checked. `chain.start` must then be
   * the first offset after them. Default: the records contain the whole chain.
   */
  readonly before?: Pick<ChainHead, 'count' | 'hash'> | undefined;
}

/** The findings of `checkChain`. */
export interface CheckedChain extends ChainReport {
  /** The hashes of all links, in order. Signed heads are compared with them. */
  readonly hashes: readonly string[];
}

/** Compares records with their hash chain. */
export function checkChain(chained: ChainedRecords): CheckedChain {
  const { records, chain, through } = chained;
  const problems: ChainProblem[] = [];
  const report = (message: string, offsets?: OffsetRange) => {
    if (problems.length < maxProblems) problems.push({ message, ...(offsets && { offsets }) });
  };
  const isSorted = checkOrder(records, report);
  const links = readLinks(records, report);
  checkRanges(links, chain.start, through, report);
  // Records in a wrong order cannot be assigned to links, and the problem is already known.
  const own = isSorted ? byLink(records, governingLinks(records, links)) : new Map();
  const hashes = isSorted ? checkLinks(links, own, chained, report) : [];
  const { start } = chain;
  if (isSorted) checkRecords(records, links, { own, start, report });
  const [first] = records;
  return {
    isValid: problems.length === 0,
    chain,
    through,
    problems,
    rewrites: links.flatMap((link) => rewriteOf(link, records)),
    ...(first !== undefined && first.offset < start && { uncovered: [first.offset, start - 1] }),
    ...originOf(links[0]),
    hashes,
  };
}

type Report = (message: string, offsets?: OffsetRange) => void;

function checkOrder(records: readonly LogRecord[], report: Report): boolean {
  let last = 0;
  let isSorted = true;
  for (const { offset } of records) {
    if (offset <= last) {
      report(`a record with offset ${offset} follows offset ${last}`, [offset, last]);
      isSorted = false;
    }
    last = Math.max(last, offset);
  }
  return isSorted;
}

function readLinks(records: readonly LogRecord[], report: Report): readonly Link[] {
  const links: Link[] = [];
  for (const { offset, links: texts = [] } of records)
    for (const text of texts) {
      const link = decodeLink(text);
      if (link === undefined)
        report(`the link at offset ${offset} is not readable`, [offset, offset]);
      else links.push(link);
    }
  return links.sort((a, b) => a.number - b.number);
}

/**
 * Checks that the links of batches cover all offsets, without gaps. A link without its salt has an unchecked
 * range, so a gap is the only sign of a wrong one.
 */
function checkRanges(links: readonly Link[], start: number, through: number, report: Report): void {
  let next = start;
  // Offsets at the end of a copy, and between two of its links, can be missing, because their records were
  // removed before the copy.
  let isCopy = false;
  for (const link of links) {
    if (isRewrite(link)) {
      // An import can add a record at the end.
      next = Math.max(next, (link.ranges.at(-1)?.[1] ?? 0) + 1);
      continue;
    }
    const [first = 0, last = 0] = link.ranges[0] ?? [];
    isCopy ||= noteOf(link) === 'copy';
    const isNext = isCopy ? first >= next : first === next;
    if (!isNext || last < first || link.ranges.length !== 1)
      report(`link ${link.number} does not start at offset ${next}`, [next, last]);
    next = Math.max(next, last + 1);
    isCopy &&= noteOf(link) === 'copy';
  }
  if (isCopy ? next > through + 1 : links.length > 0 && next !== through + 1)
    report(`the chain ends at offset ${next - 1}, and the session at offset ${through}`, [
      next,
      through,
    ]);
}

type LinkRecords = ReadonlyMap<Link, readonly LogRecord[]>;

/** Checks that each link continues the link before it. Returns the hashes of the links. */
function checkLinks(
  links: readonly Link[],
  own: LinkRecords,
  { chain, before }: ChainedRecords,
  report: Report,
): readonly string[] {
  const hashes: string[] = [];
  const checked = before?.count ?? 0;
  let expected = checked + 1;
  let place: OffsetRange | undefined;
  for (const link of links) {
    const { number, previous } = link;
    if (number !== expected)
      report(`link ${expected} is expected, and link ${number} is found`, rangeOf(link));
    else if (number > 1 && previous !== (hashes.at(-1) ?? before?.hash))
      report(`link ${number - 1} and its records do not match link ${number}`, place);
    hashes.push(linkHash(link, own.get(link) ?? []));
    expected = number + 1;
    place = rangeOf(link);
  }
  const last = hashes.at(-1);
  const count = checked + links.length;
  if (count !== chain.count)
    report(`the chain has ${count} links, and ${chain.count} are expected`);
  else if (last !== undefined && last !== chain.hash)
    report(`link ${chain.count} and its records do not match the end of the chain`, place);
  return hashes;
}

interface RecordCheck {
  readonly own: LinkRecords;
  readonly start: number;
  readonly report: Report;
}

/** Checks each group of records against its commitment. */
function checkRecords(
  records: readonly LogRecord[],
  links: readonly Link[],
  { own, start, report }: RecordCheck,
): void {
  let covered = 0;
  for (const some of own.values()) covered += some.length;
  if (covered !== records.length - indexAfter(records, start - 1))
    report('there are records that no link covers', [start, records.at(-1)?.offset ?? start]);
  const isReplaced = replacedOffsets(links);
  for (const link of links) {
    const some = own.get(link) ?? [];
    if (link.groups === undefined) {
      // The hash of the link covers its records. Without a salt, a rewrite must have replaced them all.
      const [first = 0] = link.ranges[0] ?? [];
      const isRewritten = isReplaced(first, link.number);
      if (link.hash === undefined ? isRewritten : !isRewritten || some.length > 0)
        report(`link ${link.number} does not fit the rewrites after it`, rangeOf(link));
    } else {
      checkGroups(link, some, isReplaced, report);
      checkRewrite(link, some, report);
    }
  }
}

/**
 * Checks the records that a rewrite left. A settlement leaves the snapshot of its turn, and the other rewrites
 * leave facts. So a rewrite cannot replace a streamed text by another one.
 */
function checkRewrite(link: GroupLink, records: readonly LogRecord[], report: Report): void {
  if (!isRewrite(link)) return;
  const [kind, about] = link.note.split(' ');
  for (const { offset, turn, delta, fact } of records) {
    const isSnapshot = fact?.type === 'snapshot';
    const isPossible =
      kind === 'settle'
        ? isSnapshot && turn === Number(about)
        : delta === undefined && (kind === 'redact' || !isSnapshot);
    if (!isPossible)
      report(`the record is not one that the rewrite of link ${link.number} can leave`, [
        offset,
        offset,
      ]);
  }
}

/**
 * Returns the offsets of the records that were rewritten after the link with the number `count`. Offsets
 * after `through` are omitted. The ranges are sorted and do not overlap.
 */
export function rewrittenAfter(
  rewrites: readonly ChainRewrite[],
  { count, through }: { readonly count: number; readonly through: number },
): readonly OffsetRange[] {
  const ranges = rewrites
    .filter(({ link }) => link > count)
    .flatMap(({ offsets }) => offsets)
    .filter(([first]) => first <= through)
    .sort(([one], [other]) => one - other);
  const joined: [number, number][] = [];
  for (const [first, end] of ranges) {
    const last = Math.min(end, through);
    const before = joined.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

function checkGroups(
  { groups, number }: GroupLink,
  records: readonly LogRecord[],
  isReplaced: (offset: number, number: number) => boolean,
  report: Report,
): void {
  const found = new Map(
    [...groupRecords(records).values()].map((group) => [group[0]?.offset, group]),
  );
  for (const { first, salt, commitment } of groups) {
    if (isReplaced(first, number)) continue;
    const group = found.get(first);
    found.delete(first);
    if (group === undefined) report(`records of link ${number} are missing`, [first, first]);
    else if (commitmentOf(salt, group) !== commitment)
      report(`records of link ${number} have changed`, placeOf(group));
  }
  for (const group of found.values())
    report(`link ${number} does not have these records`, placeOf(group));
}

/** Returns a function that tells whether a later rewrite covers the first offset of a group. */
function replacedOffsets(links: readonly Link[]): (offset: number, number: number) => boolean {
  const firsts = links.flatMap(({ groups, ranges }) =>
    groups === undefined ? (ranges[0]?.[0] ?? 0) : groups.map(({ first }) => first),
  );
  const sorted = [...new Set(firsts)].sort((a, b) => a - b);
  const last = lastCovering(sorted, links.filter(isRewrite));
  return (offset, number) => (last.get(offset)?.number ?? 0) > number;
}

function placeOf(group: readonly LogRecord[]): OffsetRange {
  return [group[0]?.offset ?? 0, group.at(-1)?.offset ?? 0];
}

function rangeOf({ ranges }: Link): OffsetRange {
  return [ranges[0]?.[0] ?? 0, ranges.at(-1)?.[1] ?? 0];
}

const reasons = { settle: 'settled', redact: 'redacted', import: 'imported' } as const;

function isRewrite(link: Link): link is GroupLink {
  return Object.hasOwn(reasons, noteOf(link));
}

/** Returns the first word of a link's note. The link of a batch with one group has no note. */
function noteOf(link: Link | undefined): string {
  return link?.groups === undefined ? 'append' : (link.note.split(' ')[0] ?? '');
}

function rewriteOf(link: Link, records: readonly LogRecord[]): readonly ChainRewrite[] {
  if (!isRewrite(link)) return [];
  const [kind = '', about = ''] = link.note.split(' ');
  const reason = reasons[kind as keyof typeof reasons];
  let removed = 0;
  for (const [first, last] of link.ranges)
    removed += last - first + 1 - (indexAfter(records, last) - indexAfter(records, first - 1));
  return [
    {
      reason,
      ...(reason === 'settled' && { turn: Number(about) }),
      ...(reason === 'redacted' && { item: decoded(about) }),
      offsets: link.ranges,
      removed,
      link: link.number,
    },
  ];
}

function originOf(first: Link | undefined): Pick<ChainReport, 'origin'> {
  const note = first?.groups === undefined ? '' : first.note;
  const [kind, session, through, count, hash] = note.split(' ');
  if (kind !== 'copy' || session === undefined || through === undefined) return {};
  const chain = hash === undefined ? {} : { chain: { count: Number(count), hash } };
  return { origin: { session: decoded(session), through: Number(through), ...chain } };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
