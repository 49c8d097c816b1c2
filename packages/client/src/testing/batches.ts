import { type Batch, type DraftRecord, encodeBatch, type LogRecord } from '@millrace/core';

/** As a log would number them, from 1. */
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

/** As the stream has it. */
export function frame(batch: Batch): string {
  return `id: ${batch.through}\ndata: ${encodeBatch(batch)}\n\n`;
}
