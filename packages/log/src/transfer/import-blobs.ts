import { fromBase64 } from '@millrace/core';
import type { BlobRef } from '../contract/blob-store.ts';
import type { Log } from '../contract/log.ts';
import { blobHash } from '../shelf/blob-hash.ts';
import { BadLine } from './bad-line.ts';
import { countIn, fieldsOf, textIn } from './line-fields.ts';
import { badLine, type Lines, readLines } from './read-lines.ts';

/**
 * Stores what `exportBlobs` gave, and says what that is. Each blob is held against its name before it
 * is stored; after an error, those before it are there, and nobody refers to them.
 */
export async function importBlobs(log: Log, lines: Lines): Promise<readonly BlobRef[]> {
  const stored: BlobRef[] = [];
  let growing: GrowingBlob | undefined;
  const last = await readLines(lines, 'blobs', async (line) => {
    const piece = decodePiece(line);
    growing ??= new GrowingBlob(piece);
    growing.add(piece);
    if (!growing.isWhole) return;
    stored.push(await log.blobs.put(await growing.bytes()));
    growing = undefined;
  });
  if (growing !== undefined)
    throw badLine(new BadLine('the file ends within a blob'), last + 1, 'blobs');
  return stored;
}

interface Piece {
  readonly hash: string;
  readonly length: number;
  readonly at: number;
  readonly bytes: Uint8Array;
}

function decodePiece(line: string): Piece {
  const fields = fieldsOf(line);
  const hash = textIn(fields, 'hash');
  if (!/^[0-9a-f]{64}$/.test(hash))
    throw new BadLine('hash is not a SHA-256 in hexadecimal digits');
  const bytes = fromBase64(textIn(fields, 'bytes'));
  if (bytes === undefined) throw new BadLine('bytes is not base64');
  return { hash, length: countIn(fields, 'length'), at: countIn(fields, 'at'), bytes };
}

class GrowingBlob {
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
    if (!isSame || !fits || !isSome) throw new BadLine('it does not go on where its blob ended');
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
    throw new BadLine(`the blob that ends here is not ${this.#hash}`);
  }
}
