/** Bytes as a chain of chunks: adding one copies nothing, and who holds an older end keeps it. */
export interface ByteRope {
  readonly before: ByteRope | undefined;
  readonly chunk: Uint8Array;
  readonly length: number;
}

export function addBytes(before: ByteRope | undefined, chunk: Uint8Array): ByteRope {
  return { before, chunk, length: (before?.length ?? 0) + chunk.length };
}

/** All of it in one piece. */
export function toBytes(rope: ByteRope | undefined): Uint8Array {
  const bytes = new Uint8Array(rope?.length ?? 0);
  for (let link = rope; link !== undefined; link = link.before) {
    bytes.set(link.chunk, link.length - link.chunk.length);
  }
  return bytes;
}
