import type { Frame } from '../contract/stream.ts';

/**
 * Names the frames of one record, so that whoever has one can go on with the next: `offset.k`, and
 * the last one `offset`, because with it all of the record was told.
 */
export function numberFrames(offset: number, frames: readonly Frame[]): readonly Frame[] {
  const last = frames.length - 1;
  return frames.map((frame, k) => ({ ...frame, id: k === last ? `${offset}` : `${offset}.${k}` }));
}
