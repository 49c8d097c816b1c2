import { ScriptError } from '../script-error.ts';

/** The bytes, cut at these offsets. No piece is empty: offsets at the ends, or given twice, cut nothing. */
export function splitAt(bytes: Uint8Array, offsets: Iterable<number>): readonly Uint8Array[] {
  const cuts = [...new Set([0, ...offsets, bytes.length])].sort((a, b) => a - b);
  for (const cut of cuts) assertOffset(cut, bytes.length);
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

/** The bytes in pieces of this length; the last one may be shorter. */
export function splitEvery(bytes: Uint8Array, length: number): readonly Uint8Array[] {
  if (!(Number.isInteger(length) && length > 0)) {
    throw new ScriptError(
      'bad_script',
      `Cannot split every ${length} bytes: use a whole number from 1`,
    );
  }
  const count = Math.ceil(bytes.length / length);
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * length, (index + 1) * length),
  );
}

export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

function assertOffset(offset: number, length: number): void {
  if (Number.isInteger(offset) && offset >= 0 && offset <= length) return;
  const range = `use whole numbers from 0 to ${length}`;
  throw new ScriptError('bad_script', `Cannot split at ${offset}: ${range}`);
}
