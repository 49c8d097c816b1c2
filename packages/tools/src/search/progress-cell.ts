const maxBytes = 4096;

/**
 * Shared memory that contains the current path of a search. The search thread writes it. The main thread can
 * read it even if the search thread is blocked.
 */
export interface ProgressCell {
  readonly shared: SharedArrayBuffer;
}

export function createProgressCell(): ProgressCell {
  return { shared: new SharedArrayBuffer(4 + maxBytes) };
}

export function writeProgress({ shared }: ProgressCell, path: string): void {
  const length = Buffer.from(shared, 4, maxBytes).write(path);
  Atomics.store(new Int32Array(shared, 0, 1), 0, length);
}

export function readProgress({ shared }: ProgressCell): string {
  const length = Atomics.load(new Int32Array(shared, 0, 1), 0);
  // The bytes are copied, because `TextDecoder` does not accept shared memory.
  return new TextDecoder().decode(new Uint8Array(shared, 4, length).slice());
}
