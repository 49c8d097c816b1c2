import { keyPatterns } from '../../errors/redact.ts';
import { concatBytes, decodeUtf8, fromLatin1, toLatin1 } from '../bytes.ts';
import { CassetteError } from '../cassette.ts';
import { secretForms } from './secret-forms.ts';

/**
 * The text that replaces a secret in a URL, a header or a request. Parentheses are valid in all these places,
 * even in a host name. Keys never contain parentheses, so the text never looks like part of a key.
 */
export const redacted = '(redacted)';

/**
 * The character that replaces each byte of a secret in a response. Every chunk therefore keeps its length.
 */
const mask = '*';
const maskByte = 42;

/** A range of positions. The end is exclusive. */
type Range = readonly [start: number, end: number];

/** Removes the given secrets and all texts that look like an API key. */
export interface Redactor {
  text(text: string): string;
  bytes(bytes: Uint8Array): Uint8Array;
  /**
   * Redacts a body in chunks. A secret may span several chunks. If `isCut` is true, the body may
   * also end inside a secret.
   */
  chunks(chunks: readonly Uint8Array[], isCut: boolean): readonly Uint8Array[];
  /** Returns a redactor that also removes these secrets. */
  with(more: readonly string[]): Redactor;
}

export function createRedactor(secrets: readonly string[] = []): Redactor {
  checkSecrets(secrets);
  return redactorOf(secrets);
}

function redactorOf(secrets: readonly string[]): Redactor {
  const forms = secrets.map(secretForms);
  const patterns = [...keyPatterns, ...forms.map(({ pattern }) => pattern)];
  const rangesIn = (text: string) => secretRanges(text, patterns);

  function bytes(given: Uint8Array): Uint8Array {
    const text = toLatin1(given);
    const ranges = rangesIn(text);
    return ranges.length === 0 ? given : fromLatin1(replace(text, ranges, () => redacted));
  }

  function chunks(given: readonly Uint8Array[], isCut: boolean): readonly Uint8Array[] {
    const whole = concatBytes(given);
    const text = toLatin1(whole);
    for (const [start, end] of rangesIn(text)) whole.fill(maskByte, start, end);
    const beginnings = isCut ? forms.map(({ partialStartIn }) => partialStartIn(text)) : [];
    for (const start of beginnings) whole.fill(maskByte, start ?? whole.length);
    return split(whole, given);
  }

  return {
    bytes,
    chunks,
    with: (more) => redactorOf([...new Set([...secrets, ...more])]),
    text: (text) => decodeUtf8(bytes(new TextEncoder().encode(text))),
  };
}

// Maximum number of searches through a text. Removing one secret may reveal a key next to it, so one search
// is not enough.
const maxPasses = 8;

function secretRanges(text: string, patterns: readonly RegExp[]): readonly Range[] {
  let found: readonly Range[] = [];
  let rest = text;
  for (let pass = 0; pass < maxPasses; pass++) {
    const ranges = union(patterns.flatMap((pattern) => [...rest.matchAll(pattern)].map(rangeOf)));
    const masked = replace(rest, ranges, ({ length }) => mask.repeat(length));
    if (masked === rest) break;
    found = union([...found, ...ranges]);
    rest = masked;
  }
  return found;
}

function rangeOf({ index, 0: match, 1: secret = match }: RegExpExecArray): Range {
  const end = index + match.length;
  return [end - secret.length, end];
}

/** Sorts the ranges and joins those that overlap or touch, so that no range is replaced twice. */
function union(ranges: readonly Range[]): readonly Range[] {
  const merged: Range[] = [];
  for (const [start, end] of ranges.toSorted(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last === undefined || start > last[1]) merged.push([start, end]);
    else merged[merged.length - 1] = [last[0], Math.max(last[1], end)];
  }
  return merged;
}

function replace(text: string, ranges: readonly Range[], by: (secret: string) => string): string {
  let at = 0;
  let result = '';
  for (const [start, end] of ranges) {
    result += text.slice(at, start) + by(text.slice(start, end));
    at = end;
  }
  return result + text.slice(at);
}

function split(whole: Uint8Array, like: readonly Uint8Array[]): readonly Uint8Array[] {
  let at = 0;
  return like.map(({ length }) => {
    at += length;
    return whole.subarray(at - length, at);
  });
}

// The minimum length of a secret. A shorter secret would also match ordinary words, and an empty secret would
// match everywhere.
const minSecretLength = 6;
const maxSecretLength = 4096;

/** Throws if a secret is not searchable, because it would otherwise stay in the recording. */
function checkSecrets(secrets: unknown): void {
  if (!Array.isArray(secrets)) throw badOption('secrets', 'it is not a list', 'pass an array');
  for (const [index, secret] of secrets.entries()) checkSecret(secret, `secrets[${index}]`);
}

function checkSecret(secret: unknown, path: string): void {
  if (typeof secret !== 'string') {
    const found = secret === null ? 'null' : typeof secret;
    throw badOption(path, `it is ${found}, not a string`, 'pass the secret itself or omit it');
  }
  if (secret.length >= minSecretLength && secret.length <= maxSecretLength) return;
  const found = `it has ${secret.length} characters`;
  throw badOption(
    path,
    found,
    `pass one of ${minSecretLength} to ${maxSecretLength} characters, or omit it`,
  );
}

function badOption(path: string, found: string, way: string): CassetteError {
  return new CassetteError('bad_option', `Cannot redact ${path}: ${found}; ${way}`, { path });
}
