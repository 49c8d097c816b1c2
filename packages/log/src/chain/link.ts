import { LogError } from '../contract/log-error.ts';
import type { ChainHead } from '../storage/rows.ts';

/**
 * A link of a session's hash chain. A link commits to the records of one batch, or to the records that a
 * rewrite has changed. PROTOCOL.md describes its text.
 */
export type Link = BatchLink | GroupLink;

interface LinkHead {
  /** The position in the chain: 1, 2, 3 … */
  readonly number: number;
  /** The offsets that the link covers. For a rewrite, they include the offsets of removed records. */
  readonly ranges: readonly OffsetRange[];
  /** The hash of the link before this link. In link 1, it is the random id of the chain. */
  readonly previous: string;
}

/** The link of a batch with one group of records, for example streamed text. Most links are of this kind. */
interface BatchLink extends LinkHead {
  /** The salt of the hash. Empty if a rewrite has removed content of the batch. */
  readonly salt: string;
  /** The hash of the link. It is present only if the salt was removed. */
  readonly hash?: string;
  readonly groups?: undefined;
}

/** The link of a batch with several groups, of a rewrite, or of a copy. */
export interface GroupLink extends LinkHead {
  readonly groups: readonly LinkGroup[];
  /** The operation that wrote the link: `append`, `settle 3`, `redact item`, `copy …` or `import`. */
  readonly note: string;
}

/** The offsets of the first and the last record of a range. */
export type OffsetRange = readonly [first: number, last: number];

/** The commitment to the records of one part, or to facts. */
export interface LinkGroup {
  /** The offset of the group's first record when the link was written. */
  readonly first: number;
  /** The salt of the commitment. Empty if a rewrite has removed content of the group. */
  readonly salt: string;
  /** The SHA-256 of the salt and the group's records. */
  readonly commitment: string;
}

/** Encodes a link as text. Stores keep this text in the field `links` of a record. */
export function encodeLink(link: Link): string {
  const head = headText(link);
  if (link.groups === undefined)
    return `${head} ${link.hash === undefined ? link.salt : `=${link.hash}`}`;
  return `${head} ${groupsText(link.groups)} ${link.note}`;
}

/** Returns the hash of a link with groups. Its salts are not hashed, because a redaction removes salts. */
export function groupLinkHash(link: GroupLink): string {
  const groups = link.groups.map((group) => ({ ...group, salt: '' }));
  return sha256(`${headText(link)} ${groupsText(groups)} ${link.note}`);
}

function headText({ number, ranges, previous }: LinkHead): string {
  return `${number} ${ranges.map(([first, last]) => `${first}-${last}`).join(',')} ${previous}`;
}

function groupsText(groups: readonly LinkGroup[]): string {
  if (groups.length === 0) return '-';
  return groups.map(({ first, salt, commitment }) => `${first}:${salt}:${commitment}`).join(',');
}

/** Decodes a link. Returns undefined for a text that `encodeLink` cannot have written. */
export function decodeLink(text: string): Link | undefined {
  const [number = '', covered = '', previous = '', content = '', ...note] = text.split(' ');
  const head = { number: Number(number), ranges: covered.split(',').map(toRange), previous };
  const link: Link =
    note.length > 0
      ? {
          ...head,
          groups: content === '-' ? [] : content.split(',').map(toGroup),
          note: note.join(' '),
        }
      : { ...head, ...toBatch(content) };
  const firsts = link.groups?.map(({ first }) => first) ?? [];
  const numbers = [link.number, ...link.ranges.flat(), ...firsts];
  const isValid = numbers.every((one) => Number.isSafeInteger(one) && one > 0);
  return isValid && encodeLink(link) === text ? link : undefined;
}

function toBatch(content: string): Pick<BatchLink, 'salt' | 'hash'> {
  return content.startsWith('=') ? { salt: '', hash: content.slice(1) } : { salt: content };
}

function toRange(text: string): OffsetRange {
  const [first, last] = text.split('-');
  return [Number(first), Number(last)];
}

function toGroup(text: string): LinkGroup {
  const [first, salt = '', commitment = ''] = text.split(':');
  return { first: Number(first), salt, commitment };
}

/** The parts of `node:crypto` that a chain needs. They are synchronous, like the transactions of a store. */
interface SyncCrypto {
  hash(algorithm: string, data: string, encoding: string): string;
  randomBytes(size: number): { toString(encoding: string): string };
}

interface Host {
  readonly process?: { getBuiltinModule?(name: string): unknown };
}

let found: SyncCrypto | undefined;

/** Returns whether this runtime has a synchronous SHA-256. Browsers do not have it. */
export function canHash(): boolean {
  found ??= (globalThis as Host).process?.getBuiltinModule?.('node:crypto') as typeof found;
  return found !== undefined;
}

function syncCrypto(): SyncCrypto {
  assertCanHash();
  return found as SyncCrypto;
}

/** Throws `bad_option` if this runtime has no synchronous SHA-256. */
export function assertCanHash(): void {
  if (canHash()) return;
  const message =
    'Cannot use a hash chain: this runtime has no node:crypto. Use Node, Bun or Deno for this log';
  throw new LogError('bad_option', message);
}

/** Returns the SHA-256 of a text as 43 characters of base64url. */
export function sha256(text: string): string {
  return syncCrypto().hash('sha256', text, 'base64url');
}

/** The length of a salt. 16 characters of base64url are 12 bytes. */
const saltLength = 16;
let salts = '';
let nextSalt = 0;

/** Returns a random salt. Salts are created in advance, because one call for each salt would be slow. */
export function newSalt(): string {
  if (nextSalt >= salts.length) {
    salts = syncCrypto()
      .randomBytes(12 * 256)
      .toString('base64url');
    nextSalt = 0;
  }
  nextSalt += saltLength;
  return salts.slice(nextSalt - saltLength, nextSalt);
}

/**
 * Returns the head of a chain without links, for a session whose last offset is `through`. Its hash is a random
 * id, which identifies the chain.
 */
export function newChain(through: number): ChainHead {
  const hash = syncCrypto().randomBytes(32).toString('base64url');
  return { count: 0, start: through + 1, hash };
}
