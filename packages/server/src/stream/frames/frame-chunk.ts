import type { Batch, FoldState, LogRecord } from '@millrace/core';
import { encodeFrames, type Frame } from '@millrace/core/streams';
import type { FrameView } from '../../contract/stream.ts';

/**
 * Encoded frames of one view, which all connections share. They contain the records after the offset `after`
 * up to `through`.
 */
export interface FrameChunk {
  readonly after: number;
  readonly through: number;
  readonly bytes: Buffer;
}

/** A record with the state before it and the state after it. */
export interface Step {
  readonly before: FoldState;
  readonly record: LogRecord;
  readonly after: FoldState;
}

interface EncodeOptions {
  /** A text that is appended to the id of each frame. */
  readonly idEnd: string;
  /** The minimum size of a chunk in bytes. A chunk ends after the frame that reaches this size. */
  readonly pieceBytes: number;
  /**
   * The last frame that the client already has. The result omits the frames of the record at `offset` up to
   * the frame `id`.
   */
  readonly skip?: { readonly offset: number; readonly id: string } | undefined;
  /** The first record after the batch, if the client receives it too. */
  readonly next?: LogRecord | undefined;
}

/**
 * Encodes a batch as chunks. Records without frames only extend the range of a chunk. A chunk without bytes
 * occurs only if the whole batch has no frames.
 */
export function encodeChunks(
  view: FrameView,
  batch: Batch,
  steps: Iterable<Step>,
  { pieceBytes, skip, idEnd, next: following }: EncodeOptions,
): readonly FrameChunk[] {
  if (view.batch !== undefined) return [encodeChunk(batch, view.batch(batch), idEnd)];
  const chunks: FrameChunk[] = [];
  let { after } = batch;
  let text = '';
  for (const [step, next] of withNext(steps)) {
    const frames = view.frames(step.before, step.record, step.after, next?.record ?? following);
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

/** Yields each step with the step after it. */
export function* withNext<T>(
  steps: Iterable<T>,
): Generator<readonly [step: T, next: T | undefined]> {
  let last: [T] | undefined;
  for (const step of steps) {
    if (last !== undefined) yield [last[0], step];
    last = [step];
  }
  if (last !== undefined) yield [last[0], undefined];
}

/** Encodes frames as one chunk. Clients can resume only before or after this chunk. */
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
