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
  return sliceBytes(rope, 0, rope?.length ?? 0);
}

/** A stretch of it. Reads back from the end, and no further than it has to. */
export function sliceBytes(rope: ByteRope | undefined, from: number, to: number): Uint8Array {
  const bytes = new Uint8Array(to - from);
  for (let link = rope; link !== undefined && link.length > from; link = link.before) {
    const start = link.length - link.chunk.length;
    const piece = link.chunk.subarray(Math.max(0, from - start), Math.max(0, to - start));
    bytes.set(piece, Math.max(0, start - from));
  }
  return bytes;
}
