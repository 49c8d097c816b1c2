import type { Batch, FoldState, LogRecord } from '@millrace/core';
import { encodeFrames, type Frame } from '@millrace/core/streams';
import type { FrameView } from '../../contract/stream.ts';

/**
 * Encoded frames of one view, ready for any number of connections. They cover the records after
 * `after` up to `through`.
 */
export interface FrameChunk {
  readonly after: number;
  readonly through: number;
  readonly bytes: Buffer;
}

/** A record with the states before and after it. */
export interface Step {
  readonly before: FoldState;
  readonly record: LogRecord;
  readonly after: FoldState;
}

interface EncodeOptions {
  /** Added to the id of each frame. */
  readonly idEnd: string;
  /** A chunk ends with the record that exceeds this size. */
  readonly pieceBytes: number;
  /**
   * The client already has the frames of the record at `offset` up to the frame `id`. They are left
   * out.
   */
  readonly skip?: { readonly offset: number; readonly id: string } | undefined;
}

/**
 * Encodes a batch as chunks. Records without frames extend the range of a chunk; no chunk but the
 * only one is empty.
 */
export function encodeChunks(
  view: FrameView,
  batch: Batch,
  steps: readonly Step[],
  { pieceBytes, skip, idEnd }: EncodeOptions,
): readonly FrameChunk[] {
  if (view.batch !== undefined) return [encodeChunk(batch, view.batch(batch), idEnd)];
  const chunks: FrameChunk[] = [];
  let { after } = batch;
  let text = '';
  for (const step of steps) {
    const frames = view.frames(step.before, step.record, step.after);
    const { offset } = step.record;
    text += encodeFrames(offset === skip?.offset ? framesAfter(frames, skip.id) : frames, idEnd);
    if (text.length < pieceBytes) continue;
    chunks.push({ after, through: offset, bytes: Buffer.from(text) });
    after = offset;
    text = '';
  }
  const rest = { after, through: batch.through, bytes: Buffer.from(text) };
  return text === '' && chunks.length > 0 ? extendLast(chunks, batch.through) : [...chunks, rest];
}

/** Encodes frames as one chunk, which can only be entered at its start. */
export function encodeChunk(
  { after, through }: Pick<Batch, 'after' | 'through'>,
  frames: readonly Frame[],
  idEnd: string,
): FrameChunk {
  return { after, through, bytes: Buffer.from(encodeFrames(frames, idEnd)) };
}

function framesAfter(frames: readonly Frame[], id: string): readonly Frame[] {
  return frames.slice(frames.findIndex((frame) => frame.id === id) + 1);
}

function extendLast(chunks: readonly FrameChunk[], through: number): readonly FrameChunk[] {
  return chunks.map((chunk, index) =>
    index === chunks.length - 1 ? { ...chunk, through } : chunk,
  );
}
