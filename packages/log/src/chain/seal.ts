import type { LogRecord } from '@millrace/core';
import { type AppendRecord, continuesRun, encodeUnlinkedRun } from '../storage/append-run.ts';
import { encodeUnlinked, withoutLinks } from '../storage/record-line.ts';
import type { ChainHead } from '../storage/rows.ts';
import {
  assertCanHash,
  encodeLink,
  groupLinkHash,
  type Link,
  type LinkGroup,
  newChain,
  newSalt,
  sha256,
} from './link.ts';

/** Records with their links, and the new end of the chain. */
export interface SealedRecords {
  readonly records: readonly LogRecord[];
  readonly chain: ChainHead;
}

/** The functions that an append to a session with a chain needs. They are loaded on demand. */
export interface ChainCode {
  readonly newChain: typeof newChain;
  readonly sealBatch: typeof sealBatch;
}

/** Returns the functions. Throws `bad_option` if this runtime has no synchronous SHA-256. */
export function createChainCode(): ChainCode {
  assertCanHash();
  return { newChain, sealBatch };
}

/** Adds a link for one batch. The last record of the batch gets the link. */
export function sealBatch(
  chain: ChainHead,
  records: readonly LogRecord[],
  note = 'append',
): SealedRecords {
  const first = records[0];
  const last = records[records.length - 1];
  if (first === undefined || last === undefined) return { records, chain };
  const number = chain.count + 1;
  const { offset } = last;
  if (note === 'append') {
    // This code runs for each append, so a batch with one group has a short link and only one hash.
    const content = streamedText(records) ?? singleGroupText(records);
    if (content !== undefined) {
      const text = `${number} ${first.offset}-${offset} ${chain.hash} ${newSalt()}`;
      const head = advance(chain, number, sha256(`${text}\n${content}`));
      return { records: withLink(records, last, text), chain: head };
    }
  }
  const ranges = [[first.offset, offset]] as const;
  const link = { number, ranges, previous: chain.hash, groups: commitTo(records), note };
  const head = advance(chain, number, groupLinkHash(link));
  return { records: withLink(records, last, encodeLink(link)), chain: head };
}

/** Returns the end of the chain after a new link. */
export function advance({ start, isWide }: ChainHead, count: number, hash: string): ChainHead {
  return isWide === undefined ? { count, start, hash } : { count, start, hash, isWide };
}

/** Returns the text of records that are one run of streamed text. Returns undefined for other records. */
function streamedText(records: readonly LogRecord[]): string | undefined {
  let before: AppendRecord | undefined;
  for (const record of records) {
    if (record.delta?.type !== 'append_text') return undefined;
    const append = record as AppendRecord;
    const isSame = before === undefined || before.delta.partId === append.delta.partId;
    if (!isSame || (before !== undefined && !continuesRun(before, append))) return undefined;
    before = append;
  }
  const run = records as readonly AppendRecord[];
  return run[0] && encodeUnlinkedRun(run[0], run);
}

function singleGroupText(records: readonly LogRecord[]): string | undefined {
  return groupRecords(records).size === 1 ? groupText(records) : undefined;
}

function withLink(
  records: readonly LogRecord[],
  last: LogRecord,
  text: string,
): readonly LogRecord[] {
  const linked = records.slice();
  linked[linked.length - 1] = linkedRecord(last, [text]);
  return linked;
}

/** Returns the record with links. Object literals are faster than a spread, and this code runs once per append. */
function linkedRecord(record: LogRecord, links: readonly string[]): LogRecord {
  const { v, offset, time, turn, attempt, producer, delta, fact } = record;
  return delta === undefined
    ? { v, offset, time, turn, attempt, producer, fact, links }
    : { v, offset, time, turn, attempt, producer, delta, links };
}

/**
 * Returns the hash of a link. `records` are the records that the link covers. They are not needed if the link
 * has groups, or if a rewrite has removed its salt.
 */
export function linkHash(link: Link, records: readonly LogRecord[]): string {
  if (link.groups !== undefined) return groupLinkHash(link);
  return link.hash ?? sha256(`${encodeLink(link)}\n${groupText(records)}`);
}

/** The number of records in one link of a copy. It limits the length of a link. */
const recordsPerLink = 64;

/** Starts a chain for the records of a copied session. Each link covers some of the records. */
export function sealCopy(
  chain: ChainHead,
  records: readonly LogRecord[],
  note: string,
): SealedRecords {
  let head = chain;
  const sealed: LogRecord[] = [];
  for (let at = 0; at < records.length; at += recordsPerLink) {
    const slice = records.slice(at, at + recordsPerLink).map(withoutLinks);
    const linked = sealBatch(head, slice, note);
    for (const record of linked.records) sealed.push(record);
    head = linked.chain;
  }
  return { records: sealed, chain: head };
}

/** Returns new commitments to the groups of the records. */
export function commitTo(records: readonly LogRecord[]): readonly LinkGroup[] {
  const groups: LinkGroup[] = [];
  for (const own of groupRecords(records).values()) {
    const salt = newSalt();
    groups.push({ first: own[0]?.offset ?? 0, salt, commitment: commitmentOf(salt, own) });
  }
  return groups;
}

/** Returns the commitment to the records of a group. */
export function commitmentOf(salt: string, records: readonly LogRecord[]): string {
  return sha256(`${salt}\n${groupText(records)}`);
}

/**
 * Divides records into groups by their content, in the order of their first records. A group contains the
 * deltas of one part. The facts without content are one group. Each other record is a group of its own. A
 * redaction removes whole groups, so the other groups stay verifiable.
 */
export function groupRecords(
  records: readonly LogRecord[],
): ReadonlyMap<string, readonly LogRecord[]> {
  const groups = new Map<string, LogRecord[]>();
  let lastKey: string | undefined;
  let last: LogRecord[] = [];
  for (const record of records) {
    const key = groupKey(record);
    if (key !== lastKey) {
      last = groups.get(key) ?? [];
      if (last.length === 0) groups.set(key, last);
      lastKey = key;
    }
    last.push(record);
  }
  return groups;
}

function groupKey({ offset, delta, fact }: LogRecord): string {
  if (delta !== undefined) return delta.type === 'unknown' ? `${offset}` : delta.partId;
  return plainFacts.has(fact.type) ? 'facts' : `${offset}`;
}

/** The facts that no redaction changes. */
const plainFacts: ReadonlySet<string> = new Set([
  ...['run_started', 'run_finished', 'turn_started', 'turn_finished', 'aborted'],
  ...['item_started', 'item_finished', 'item_redacted', 'response_started', 'usage_reported'],
  ...['attempt_superseded', 'retry_scheduled', 'command_consumed', 'tool_execution_finished'],
]);

/**
 * Returns the text of a group: one line for each run of text appends, and one line for each other record.
 * Links are not part of the text.
 */
function groupText(records: readonly LogRecord[]): string {
  const lines: string[] = [];
  let run: AppendRecord[] = [];
  const endRun = () => {
    const [first] = run;
    if (first !== undefined) lines.push(encodeUnlinkedRun(first, run));
    run = [];
  };
  for (const record of records) {
    if (record.delta?.type !== 'append_text') {
      endRun();
      lines.push(encodeUnlinked(record));
      continue;
    }
    const before = run.at(-1);
    if (before !== undefined && !continuesRun(before, record)) endRun();
    run.push(record as AppendRecord);
  }
  endRun();
  return lines.join('\n');
}
