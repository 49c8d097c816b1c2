/**
 * The size of a piece in bytes. Longer blobs are stored in pieces. The time to read a slice then depends on
 * the length of the slice, not on the length of the blob.
 */
export const blobPieceBytes: number = 2 ** 18;

/** Splits bytes into pieces. The pieces are views of the same memory. */
export function* blobPieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += blobPieceBytes)
    yield bytes.subarray(at, at + blobPieceBytes);
}

/**
 * Returns the numbers of the first and last piece that contain a slice, and the position of the slice in
 * the first piece.
 */
export function piecesOf(
  start: number,
  end: number,
): { readonly first: number; readonly last: number; readonly offset: number } {
  const first = Math.floor(start / blobPieceBytes);
  const last = Math.max(first, Math.ceil(end / blobPieceBytes) - 1);
  return { first, last, offset: start - first * blobPieceBytes };
}
