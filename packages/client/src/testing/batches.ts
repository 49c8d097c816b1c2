import { type Batch, type DraftRecord, encodeBatch, type LogRecord } from '@millrace/core';

/** Numbers drafts from 1, as a log does, and returns them as batches. */
export function numbered(reads: readonly (readonly DraftRecord[])[]): readonly Batch[] {
  let through = 0;
  return reads.map((drafts) => {
    const after = through;
    const records = drafts.map((draft) => {
      through++;
      const head = { v: 1, offset: through, time: 1_763_200_000_000 + through, producer: 'driver' };
      return { ...head, ...draft } as LogRecord;
    });
    return { after, through, records };
  });
}

/** Encodes a batch as a frame of the stream. */
export function frame(batch: Batch): string {
  return `id: ${batch.through}\ndata: ${encodeBatch(batch)}\n\n`;
}
