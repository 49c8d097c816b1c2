import type { LogRecord } from '@millrace/core';
import { referencedBlobs } from '../storage/blob-references.ts';
import { checkedBlob } from './checked-rows.ts';
import type { Statements } from './statements.ts';

/** A blob that is shorter is read whole, whatever is asked of it. */
const sliceableBytes = 2 ** 16;
/** Of how many is remembered that they are sound. */
const maxVerified = 1000;

/** The blobs, who names them, and who is about to. */
export class BlobTable {
  readonly #statements: Statements;
  /** Large ones that were held against their names here. */
  readonly #verified = new Set<string>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  get(hash: string): Uint8Array | undefined {
    const row = this.#statements.blob.get(hash);
    return row && checkedBlob(row, hash);
  }

  /** All of a blob is looked at once, so that its slices can be believed; then only what is asked for. */
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

  /** Stores it where it is not there yet, and holds it until it is named. */
  put(hash: string, bytes: Uint8Array, now: number): void {
    this.#statements.putBlob.run(hash, bytes);
    this.#statements.holdBlob.run(hash, now);
  }

  /** Records of a session name blobs: whoever stored those has done what he held them for. */
  use(session: number, records: readonly LogRecord[]): void {
    for (const hash of referencedBlobs(records)) this.#use(session, hash);
  }

  /** Records took the place of others. */
  replace(session: number, before: readonly LogRecord[], after: readonly LogRecord[]): void {
    const known = new Set(referencedBlobs(before));
    for (const hash of referencedBlobs(after)) {
      // What was named before is not what anybody holds it for.
      if (known.has(hash)) this.#statements.useBlob.run(session, hash);
      else this.#use(session, hash);
    }
    for (const hash of referencedBlobs(before)) {
      this.#statements.unuseBlob.run(session, hash);
      this.#statements.dropUse.run(session, hash);
    }
  }

  /** Those of them that nobody names or holds. */
  dropUnused(hashes: readonly string[]): void {
    for (const hash of hashes) this.#statements.dropBlob.run(hash);
  }

  /** Those that were stored before a time and that nobody named. */
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
