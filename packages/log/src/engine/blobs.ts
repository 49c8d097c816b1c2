import type { BlobRef, BlobStore } from '../contract/blob-store.ts';
import { blobHash } from '../storage/blob-references.ts';
import type { StoreTransaction } from '../storage/record-store.ts';
import { assertBytes, assertHash, assertSlice } from './check-options.ts';
import type { LogContext } from './log-context.ts';

export class StoreBlobs implements BlobStore {
  readonly #context: LogContext;

  constructor(context: LogContext) {
    this.#context = context;
  }

  async put(bytes: Uint8Array): Promise<BlobRef> {
    assertBytes(bytes);
    const copy = new Uint8Array(bytes);
    const hash = await blobHash(copy);
    const { commits, clock } = this.#context;
    const put = (tx: StoreTransaction) => tx.putBlob(hash, copy, clock.now());
    await commits.run(put, { blobBytes: copy.length });
    return { hash, length: copy.length };
  }

  async get(hash: string): Promise<Uint8Array | undefined> {
    this.#context.commits.assertOpen();
    assertHash(hash);
    const bytes = await this.#context.reader.blob(hash);
    return bytes && new Uint8Array(bytes);
  }

  async slice(hash: string, start: number, end: number): Promise<Uint8Array | undefined> {
    this.#context.commits.assertOpen();
    assertHash(hash);
    assertSlice(start, end);
    return this.#context.reader.blobSlice(hash, start, end);
  }
}
