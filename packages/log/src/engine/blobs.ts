import type { BlobRef, BlobStore } from '../contract/blob-store.ts';
import { blobHash } from '../storage/blob-references.ts';
import { assertBytes, assertHash, assertSlice } from './check-options.ts';
import type { Store } from './log-context.ts';

export class LocalBlobs implements BlobStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async put(bytes: Uint8Array): Promise<BlobRef> {
    assertBytes(bytes);
    const copy = new Uint8Array(bytes);
    const hash = await blobHash(copy);
    const { commits, clock } = this.#store;
    await commits.run((shelf) => shelf.putBlob(hash, copy, clock.now()));
    return { hash, length: copy.length };
  }

  async get(hash: string): Promise<Uint8Array | undefined> {
    this.#store.commits.assertOpen();
    assertHash(hash);
    const bytes = await this.#store.reader.blob(hash);
    return bytes && new Uint8Array(bytes);
  }

  async slice(hash: string, start: number, end: number): Promise<Uint8Array | undefined> {
    this.#store.commits.assertOpen();
    assertHash(hash);
    assertSlice(start, end);
    return this.#store.reader.blobSlice(hash, start, end);
  }
}
