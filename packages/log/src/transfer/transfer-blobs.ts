import { fromBase64, type SessionId, sessionId, toBase64 } from '@millrace/core';
import { readWholeSession } from '../any-log/read-session.ts';
import type { BlobRef } from '../contract/blob-store.ts';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { blobHash, referencedBlobs } from '../storage/blob-references.ts';
import {
  BadLineError,
  countIn,
  type LineSource,
  parseFields,
  readLines,
  textIn,
  toImportError,
} from './lines.ts';

/** The number of bytes of a blob per line, so that a large blob does not become one very long line. */
const pieceBytes = 3 * 2 ** 18;

/**
 * Exports the blobs that a session references as JSON lines. A blob is encoded in base64 and takes one or
 * more lines.
 *
 * @example for await (const line of exportBlobs(log, session)) file.write(`${line}\n`);
 */
export async function* exportBlobs(log: Log, id: string): AsyncGenerator<string> {
  const session = sessionId(id);
  const { records } = await readWholeSession(log, session);
  for (const hash of new Set(referencedBlobs(records))) {
    const bytes = await log.blobs.get(hash);
    if (bytes === undefined) throw missingBlob(session, hash);
    yield* pieces(hash, bytes);
  }
}

function* pieces(hash: string, bytes: Uint8Array): Generator<string> {
  const { length } = bytes;
  for (let at = 0; at === 0 || at < length; at += pieceBytes) {
    yield encodePiece({ hash, length, at, bytes: bytes.subarray(at, at + pieceBytes) });
  }
}

function encodePiece({ hash, length, at, bytes }: Piece): string {
  return JSON.stringify({ hash, length, at, bytes: toBase64(bytes) });
}

function missingBlob(session: SessionId, hash: string): LogError {
  const message = `Cannot export blob ${hash} of session ${session}: the store does not contain it. Restore a backup`;
  return new LogError('corrupt', message, { session, hash });
}

/**
 * Stores the blobs that `exportBlobs` wrote and returns their references. It checks the hash of each blob
 * before it stores the blob. After an error, the blobs that were already stored stay in the log without
 * references.
 *
 * @example await importBlobs(log, createInterface({ input: createReadStream('session.blobs.jsonl') }));
 */
export async function importBlobs(log: Log, lines: LineSource): Promise<readonly BlobRef[]> {
  const stored: BlobRef[] = [];
  const reader = new BlobReader();
  const last = await readLines(lines, 'blobs', async (line) => {
    const whole = await reader.take(line);
    if (whole !== undefined) stored.push(await log.blobs.put(whole.bytes));
  });
  if (reader.isInside)
    throw toImportError(new BadLineError('the file ends inside a blob'), last + 1, 'blobs');
  return stored;
}

/** True if a line of an exported file is a line of `exportBlobs`. */
export function isBlobLine(line: string): boolean {
  return line.startsWith('{"hash":');
}

/** Reads the lines of `exportBlobs` one by one, and checks the hash of each blob. */
export class BlobReader {
  readonly #isExact: boolean;
  #growing: BlobAssembler | undefined;

  /** `isExact`: true if each line must be exactly the text that `exportBlobs` writes. Default: false. */
  constructor({ isExact = false }: { readonly isExact?: boolean } = {}) {
    this.#isExact = isExact;
  }

  /** True if the last line does not end its blob. */
  get isInside(): boolean {
    return this.#growing !== undefined;
  }

  /**
   * Reads a line. Returns the blob that ends with it. Throws a `BadLineError` if the line is wrong. The next line
   * then starts a new blob.
   */
  async take(
    line: string,
  ): Promise<{ readonly hash: string; readonly bytes: Uint8Array } | undefined> {
    const before = this.#growing;
    this.#growing = undefined;
    const piece = decodePiece(line);
    if (this.#isExact && encodePiece(piece) !== line)
      throw new BadLineError('its text has changed');
    const growing = before ?? new BlobAssembler(piece);
    growing.add(piece);
    if (growing.isWhole) return { hash: piece.hash, bytes: await growing.bytes() };
    this.#growing = growing;
    return undefined;
  }
}

interface Piece {
  readonly hash: string;
  readonly length: number;
  readonly at: number;
  readonly bytes: Uint8Array;
}

function decodePiece(line: string): Piece {
  const fields = parseFields(line);
  const hash = textIn(fields, 'hash');
  if (!/^[0-9a-f]{64}$/.test(hash))
    throw new BadLineError('hash is not a SHA-256 in hexadecimal digits');
  const bytes = fromBase64(textIn(fields, 'bytes'));
  if (bytes === undefined) throw new BadLineError('bytes is not base64');
  return { hash, length: countIn(fields, 'length'), at: countIn(fields, 'at'), bytes };
}

class BlobAssembler {
  readonly #hash: string;
  readonly #length: number;
  readonly #pieces: Uint8Array[] = [];
  #end = 0;

  constructor({ hash, length }: Piece) {
    this.#hash = hash;
    this.#length = length;
  }

  get isWhole(): boolean {
    return this.#end === this.#length;
  }

  add({ hash, length, at, bytes }: Piece): void {
    const isSame = hash === this.#hash && length === this.#length;
    const fits = at === this.#end && at + bytes.length <= length;
    const isSome = bytes.length > 0 || length === 0;
    if (!isSame || !fits || !isSome) throw new BadLineError('it does not continue its blob');
    this.#pieces.push(bytes);
    this.#end += bytes.length;
  }

  async bytes(): Promise<Uint8Array> {
    const whole = new Uint8Array(this.#length);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    const digest = await blobHash(whole);
    if (digest === this.#hash) return whole;
    throw new BadLineError(`the blob that ends here does not have the hash ${this.#hash}`);
  }
}
