import type { Batch, FoldState, LogRecord } from '@millrace/core';
import type { Frame, FrameView } from '../../contract/stream.ts';
import { encodeFrame } from './sse.ts';

/** Frames of one view, ready for any number of connections: all that is after an offset, up to another. */
export interface FrameChunk {
  readonly after: number;
  readonly through: number;
  readonly bytes: Buffer;
}

/** A record with the states around it. */
export interface Step {
  readonly before: FoldState;
  readonly record: LogRecord;
  readonly after: FoldState;
}

interface EncodeOptions {
  /** A piece ends with the record that makes it longer than this. */
  readonly pieceBytes: number;
  /** Of the record there, frames up to the one with this id were told already. */
  readonly skip?: { readonly offset: number; readonly id: string } | undefined;
}

/** What a batch is told as. Nothing is empty: what a view does not tell moves the ends of what it does. */
export function encodeChunks(
  view: FrameView,
  batch: Batch,
  steps: readonly Step[],
  { pieceBytes, skip }: EncodeOptions,
): readonly FrameChunk[] {
  if (view.batch !== undefined) return [encodeChunk(batch, view.batch(batch))];
  const chunks: FrameChunk[] = [];
  let { after } = batch;
  let text = '';
  for (const step of steps) {
    const frames = view.frames(step.before, step.record, step.after);
    const { offset } = step.record;
    text += encodeAll(offset === skip?.offset ? framesAfter(frames, skip.id) : frames);
    if (text.length < pieceBytes) continue;
    chunks.push({ after, through: offset, bytes: Buffer.from(text) });
    after = offset;
    text = '';
  }
  const rest = { after, through: batch.through, bytes: Buffer.from(text) };
  return text === '' && chunks.length > 0 ? extendLast(chunks, batch.through) : [...chunks, rest];
}

/** All of them at once, as the only way to what is told later. */
export function encodeChunk(
  { after, through }: Pick<Batch, 'after' | 'through'>,
  frames: readonly Frame[],
): FrameChunk {
  return { after, through, bytes: Buffer.from(encodeAll(frames)) };
}

function encodeAll(frames: readonly Frame[]): string {
  let text = '';
  for (const frame of frames) text += encodeFrame(frame);
  return text;
}

function framesAfter(frames: readonly Frame[], id: string): readonly Frame[] {
  return frames.slice(frames.findIndex((frame) => frame.id === id) + 1);
}

function extendLast(chunks: readonly FrameChunk[], through: number): readonly FrameChunk[] {
  return chunks.map((chunk, index) =>
    index === chunks.length - 1 ? { ...chunk, through } : chunk,
  );
}
