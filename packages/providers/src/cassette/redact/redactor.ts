import { keyPatterns } from '../../errors/key-patterns.ts';
import { concatBytes, decodeUtf8, fromLatin1, toLatin1 } from '../bytes.ts';
import { CassetteError } from '../cassette.ts';
import { secretForms } from './secret-forms.ts';

/**
 * What stands where a secret stood in a URL, a header or a request. The parentheses are allowed in all
 * of them, even in a host, and in no key, so that it never becomes part of one.
 */
export const redacted = '(redacted)';

/** What each byte of a secret becomes in a response, so that every chunk keeps its length. */
const mask = '*';
const maskByte = 42;

/** From where to where, the end excluded. */
type Range = readonly [start: number, end: number];

/** Takes secrets out: those it was told of, and whatever looks like a key. */
export interface Redactor {
  text(text: string): string;
  bytes(bytes: Uint8Array): Uint8Array;
  /** A body in chunks, of which a secret may lie across several; `isCut`: and one may be cut short. */
  chunks(chunks: readonly Uint8Array[], isCut: boolean): readonly Uint8Array[];
}

export function createRedactor(secrets: readonly string[] = []): Redactor {
  checkSecrets(secrets);
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
    const beginnings = isCut ? forms.map(({ startAtEndOf }) => startAtEndOf(text)) : [];
    for (const start of beginnings) whole.fill(maskByte, start ?? whole.length);
    return split(whole, given);
  }

  return {
    bytes,
    chunks,
    text: (text) => decodeUtf8(bytes(new TextEncoder().encode(text))),
  };
}

// A key may come to light when what stood in front of it is gone, but not over and over.
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

/** In order, those that touch as one, so that nothing is replaced twice. */
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

// Shorter ones would take ordinary words out, an empty one everything.
const minSecretLength = 6;
const maxSecretLength = 4096;

/** Throws for one that cannot be looked for: what is overlooked here would be in the recording. */
function checkSecrets(secrets: unknown): void {
  if (!Array.isArray(secrets)) throw badOption('secrets', 'they are no list', 'give them as one');
  for (const [index, secret] of secrets.entries()) checkSecret(secret, `secrets[${index}]`);
}

function checkSecret(secret: unknown, path: string): void {
  if (typeof secret !== 'string') {
    const found = secret === null ? 'null' : typeof secret;
    throw badOption(path, `it is ${found}, not a text`, 'give the secret itself, or leave it out');
  }
  if (secret.length >= minSecretLength && secret.length <= maxSecretLength) return;
  const found = `it has ${secret.length} characters`;
  throw badOption(
    path,
    found,
    `give one of ${minSecretLength} to ${maxSecretLength}, or leave it out`,
  );
}

function badOption(path: string, found: string, way: string): CassetteError {
  return new CassetteError('bad_option', `Cannot redact ${path}: ${found}; ${way}`, { path });
}
