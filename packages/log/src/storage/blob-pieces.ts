/**
 * Longer blobs are stored in pieces of this size, so that reading a slice costs as much as the slice
 * is long, and no answer of a database grows with the blob.
 */
export const blobPieceBytes: number = 2 ** 18;

/** Splits bytes into pieces. They share the memory of the bytes. */
export function* blobPieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += blobPieceBytes)
    yield bytes.subarray(at, at + blobPieceBytes);
}

/** The first and the last piece that contain a slice, and where the slice starts in the first. */
export function piecesOf(
  start: number,
  end: number,
): { readonly first: number; readonly last: number; readonly offset: number } {
  const first = Math.floor(start / blobPieceBytes);
  const last = Math.max(first, Math.ceil(end / blobPieceBytes) - 1);
  return { first, last, offset: start - first * blobPieceBytes };
}
