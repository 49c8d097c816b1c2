import { sessionId } from '@millrace/core';
import { requireSessionInfo } from '../any-log/read-session.ts';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';

/**
 * The signed end of a session's chain. Give it to a person who does not control the store. With it, this
 * person can detect each later change of the records before it, even if the whole chain was computed again.
 */
export interface SignedHead {
  readonly millrace: 'head';
  readonly v: 1;
  /** The session that was signed. */
  readonly session: string;
  /** The number of links at that moment. */
  readonly count: number;
  /** The first offset that the chain covers. */
  readonly start: number;
  /** The hash of the last link at that moment. */
  readonly hash: string;
  /** The offset of the last record at that moment. */
  readonly through: number;
  /** The time of the signature, in milliseconds since 1970, on the clock of the signer. */
  readonly time: number;
  /** The Ed25519 signature as base64url. */
  readonly signature: string;
}

/** The type of a key of Web Crypto. Some type libraries do not declare `CryptoKey` as a global type. */
export type Ed25519Key = Parameters<typeof crypto.subtle.sign>[1];

/**
 * Signs the end of a session's chain with a private Ed25519 key of Web Crypto. Throws `bad_option` if the
 * session has no chain.
 *
 * @example const head = await signHead(log, session, privateKey);
 */
export async function signHead(
  log: Log,
  session: string,
  privateKey: Ed25519Key,
): Promise<SignedHead> {
  const { chain, through } = await requireSessionInfo(log, sessionId(session));
  if (chain === undefined || chain.count === 0) throw withoutChain(session);
  const { count, start, hash } = chain;
  const head = { session, count, start, hash, through, time: Date.now() };
  const bytes = await crypto.subtle.sign('Ed25519', privateKey, signedBytes(head));
  return { millrace: 'head', v: 1, ...head, signature: toBase64Url(new Uint8Array(bytes)) };
}

/** Returns whether the signature of a head belongs to the public key. */
export async function isSignedBy(head: SignedHead, publicKey: Ed25519Key): Promise<boolean> {
  const signature = fromBase64Url(head.signature);
  if (signature === undefined) return false;
  return crypto.subtle.verify('Ed25519', publicKey, signature, signedBytes(head));
}

/** Parses the JSON text of a head. Throws `bad_option` for every other text. */
export function parseHead(text: string): SignedHead {
  const head = parsed(text);
  const isHead =
    head?.millrace === 'head' &&
    head.v === 1 &&
    [head.session, head.hash, head.signature].every((one) => typeof one === 'string') &&
    [head.count, head.start, head.through, head.time].every((one) => Number.isSafeInteger(one));
  if (head === undefined || !isHead)
    throw new LogError('bad_option', 'Cannot read a signed head: it is not a file of `signHead`');
  return head;
}

function parsed(text: string): SignedHead | undefined {
  try {
    return (JSON.parse(text) ?? undefined) as SignedHead | undefined;
  } catch {
    return undefined;
  }
}

/** Returns the bytes that are signed: a JSON array with the fields in a fixed order. */
function signedBytes(head: Omit<SignedHead, 'millrace' | 'v' | 'signature'>) {
  const { session, count, start, hash, through, time } = head;
  const fields = ['millrace head', 1, session, count, start, hash, through, time];
  return new TextEncoder().encode(JSON.stringify(fields));
}

function toBase64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Decodes base64url. Returns undefined for a text that `toBase64Url` cannot have written. */
function fromBase64Url(text: string) {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    // The last letter has bits that are not part of a byte. Without this check, they could have any value.
    return toBase64Url(bytes) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}

function withoutChain(session: string): LogError {
  const message = `Cannot sign session ${session}: it has no hash chain. Open the log with the option chain, and append a record`;
  return new LogError('bad_option', message, { session });
}
