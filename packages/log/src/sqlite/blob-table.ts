import type { LogRecord } from '@millrace/core';
import { blobPieceBytes, blobPieces, piecesOf } from '../storage/blob-pieces.ts';
import { referencedBlobs } from '../storage/blob-references.ts';
import { checkedBlob, corruptRow, pieceChecksum } from './checked-rows.ts';
import type { Statements } from './statements.ts';

/**
 * The blobs, their references and their holds. A hold protects a stored blob until a record references it.
 * Each `put` adds a hold.
 */
export class BlobTable {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  get(hash: string): Uint8Array | undefined {
    const bytes = this.#read(hash, 0, Number.MAX_SAFE_INTEGER);
    return bytes && checkedBlob(bytes, hash);
  }

  /** Reads a slice of a blob. It checks the checksums of the pieces that contain the slice. */
  slice(hash: string, start: number, end: number): Uint8Array | undefined {
    return this.#read(hash, start, Math.min(end, Number.MAX_SAFE_INTEGER));
  }

  /** Returns whether a long blob is stored in one row. Earlier versions stored long blobs in this way. */
  isUnsplit(hash: string): boolean {
    return this.#statements.isUnsplitBlob.get(hash, blobPieceBytes) !== undefined;
  }

  /** Moves the bytes of a blob into pieces. */
  split(hash: string): void {
    const bytes = this.isUnsplit(hash) ? this.get(hash) : undefined;
    if (bytes === undefined) return;
    this.#statements.splitBlob.run(bytes.length, hash);
    this.#putPieces(hash, bytes);
  }

  #read(hash: string, start: number, end: number): Uint8Array | undefined {
    const { first, last, offset } = piecesOf(start, end);
    const rows = this.#statements.blobPieces.all(first, last, hash);
    const [row] = rows;
    if (row === undefined) return this.#assertMissing(hash);
    if (row['length'] === null) return checkedBlob(row['whole'], hash).slice(start, end);
    const length = Math.max(0, Math.min(end, Number(row['length'])) - start);
    if (length === 0) return new Uint8Array();
    const slice = new Uint8Array(length);
    // The first piece may start before the slice, and the last piece may end after it.
    let at = -offset;
    for (const [index, { piece, sum, bytes }] of rows.entries()) {
      const isWhole = piece === first + index && bytes instanceof Uint8Array;
      if (!isWhole || sum !== pieceChecksum(hash, first + index, bytes))
        throw corruptRow('a blob', { hash }, `its piece ${first + index} is damaged or missing`);
      slice.set(bytes.subarray(Math.max(0, -at), length - at), Math.max(0, at));
      at += bytes.length;
    }
    if (at < length) throw corruptRow('a blob', { hash }, 'its last pieces are missing');
    return slice;
  }

  /** Throws if a record references the missing blob, because this means that the file is damaged. */
  #assertMissing(hash: string): undefined {
    if (this.#statements.isBlobUsed.get(hash) === undefined) return undefined;
    throw corruptRow('a blob', { hash }, 'it is missing');
  }

  #putPieces(hash: string, bytes: Uint8Array): void {
    let piece = 0;
    for (const part of blobPieces(bytes)) {
      const sum = pieceChecksum(hash, piece, part);
      this.#statements.putBlobPiece.run(hash, piece++, sum, part);
    }
  }

  referencedBy(session: number): readonly string[] {
    return this.#statements.usedBlobs.all(session).map((row) => String(row['hash']));
  }

  /** Stores the blob if it is new, and adds a hold, which protects the blob from deletion. */
  put(hash: string, bytes: Uint8Array, now: number): void {
    if (bytes.length <= blobPieceBytes) this.#statements.putBlob.run(hash, bytes, null);
    else if (this.#statements.putBlob.run(hash, new Uint8Array(), bytes.length).changes > 0)
      this.#putPieces(hash, bytes);
    this.#statements.holdBlob.run(hash, now);
  }

  /** Counts the references of new records. Each reference releases one hold of its blob. */
  use(session: number, records: readonly LogRecord[]): void {
    for (const hash of referencedBlobs(records)) this.#use(session, hash);
  }

  /** Updates the reference counts of blobs after the records `after` replaced the records `before`. */
  replace(session: number, before: readonly LogRecord[], after: readonly LogRecord[]): void {
    const known = new Set(referencedBlobs(before));
    for (const hash of referencedBlobs(after)) {
      // A reference releases a hold of the blob, unless a replaced record already had the same reference.
      if (known.has(hash)) this.#statements.useBlob.run(session, hash);
      else this.#use(session, hash);
    }
    for (const hash of referencedBlobs(before)) {
      this.#statements.unuseBlob.run(session, hash);
      this.#statements.dropUse.run(session, hash);
    }
  }

  /** Deletes the given blobs that have no references and no holds. */
  dropUnused(hashes: readonly string[]): void {
    for (const hash of hashes) this.#statements.dropBlob.run(hash);
  }

  /** Deletes blobs that were stored before a time and that no record references. */
  dropForgotten(before: number): void {
    this.#statements.dropForgottenBlobs.run(before);
    this.#statements.dropForgottenHolds.run(before);
  }

  #use(session: number, hash: string): void {
    this.#statements.useBlob.run(session, hash);
    this.#statements.letGoOfBlob.run(hash);
    this.#statements.dropHold.run(hash);
  }
}
