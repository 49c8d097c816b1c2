import type { LogRecord } from '@millrace/core';
import { referencedBlobs } from '../storage/blob-references.ts';
import { checkedBlob, corruptRow } from './checked-rows.ts';
import type { Statements } from './statements.ts';

/** Smaller blobs are always read whole. */
const sliceableBytes = 2 ** 16;
/** Maximum number of verified blobs to remember. */
const maxVerified = 1000;

/** The blobs, their references and their holds. */
export class BlobTable {
  readonly #statements: Statements;
  /** Large blobs whose hash was verified in this process. */
  readonly #verified = new Set<string>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  get(hash: string): Uint8Array | undefined {
    const row = this.#statements.blob.get(hash);
    if (row !== undefined) return checkedBlob(row, hash);
    // A record references the blob, so damage hides it.
    if (this.#statements.isBlobUsed.get(hash) !== undefined)
      throw corruptRow('a blob', { hash }, 'it is missing');
    return undefined;
  }

  /** Reads a slice. The first read verifies the whole blob; later reads load only the slice. */
  slice(hash: string, start: number, end: number): Uint8Array | undefined {
    if (!this.#verified.has(hash)) {
      const whole = this.get(hash);
      if (whole !== undefined && whole.length > sliceableBytes) this.#rememberVerified(hash);
      return whole?.slice(start, end);
    }
    const length = Math.max(0, Math.min(end, Number.MAX_SAFE_INTEGER) - start);
    const row = this.#statements.blobSlice.get(start + 1, length, hash);
    return row && new Uint8Array(row['bytes'] as Uint8Array);
  }

  referencedBy(session: number): readonly string[] {
    return this.#statements.usedBlobs.all(session).map((row) => String(row['hash']));
  }

  /** Stores the blob if it is new and adds a hold. */
  put(hash: string, bytes: Uint8Array, now: number): void {
    this.#statements.putBlob.run(hash, bytes);
    this.#statements.holdBlob.run(hash, now);
  }

  /** Counts the references of new records. Each one releases a hold. */
  use(session: number, records: readonly LogRecord[]): void {
    for (const hash of referencedBlobs(records)) this.#use(session, hash);
  }

  /** Updates the reference counts after records replaced others. */
  replace(session: number, before: readonly LogRecord[], after: readonly LogRecord[]): void {
    const known = new Set(referencedBlobs(before));
    for (const hash of referencedBlobs(after)) {
      // A blob that was referenced before does not release a hold.
      if (known.has(hash)) this.#statements.useBlob.run(session, hash);
      else this.#use(session, hash);
    }
    for (const hash of referencedBlobs(before)) {
      this.#statements.unuseBlob.run(session, hash);
      this.#statements.dropUse.run(session, hash);
    }
  }

  /** Deletes those blobs that have no references and no holds. */
  dropUnused(hashes: readonly string[]): void {
    for (const hash of hashes) this.#statements.dropBlob.run(hash);
  }

  /** Deletes blobs that were stored before a time and never referenced. */
  dropForgotten(before: number): void {
    this.#statements.dropForgottenBlobs.run(before);
    this.#statements.dropForgottenHolds.run(before);
  }

  #use(session: number, hash: string): void {
    this.#statements.useBlob.run(session, hash);
    this.#statements.letGoOfBlob.run(hash);
    this.#statements.dropHold.run(hash);
  }

  #rememberVerified(hash: string): void {
    if (this.#verified.size >= maxVerified) this.#verified.clear();
    this.#verified.add(hash);
  }
}
