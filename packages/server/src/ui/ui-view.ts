import {
  encodeChunk,
  type Frame,
  recordChunks,
  restateMessage,
  uiDone,
} from '@millrace/core/streams';
import type { FrameView } from '../contract/stream.ts';

/** The view that converts the log to the AI SDK's UI message stream, version 1. */
export const uiView: FrameView = {
  name: 'ui',
  frames: (before, record, after) => {
    const chunks = recordChunks(before, record, after).map(encodeChunk);
    const isEnd = record.fact?.type === 'run_finished' && chunks.length > 0;
    return toFrames(record.offset, isEnd ? [...chunks, uiDone] : chunks);
  },
  restate: (state) => restateMessage(state).map((chunk) => ({ data: encodeChunk(chunk) })),
};

/**
 * Returns the frames of a record. The id of the last frame is the record's offset, because a client with this
 * id has the complete record.
 */
function toFrames(offset: number, lines: readonly string[]): readonly Frame[] {
  const last = lines.length - 1;
  return lines.map((data, k) => ({ id: k === last ? `${offset}` : `${offset}.${k}`, data }));
}
