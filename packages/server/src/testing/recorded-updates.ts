import {
  countingIds,
  type DraftRecord,
  emptyState,
  type FoldState,
  fold,
  type LogRecord,
  recordVersion,
  type Stop,
  sessionId,
  validate,
} from '@millrace/core';
import type { UpdateWarnings } from '../updates/update-warnings.ts';
import { UpdateWriter, type UpdateWriterOptions } from '../updates/update-writer.ts';

export const task = sessionId('task');

/** Builds records from drafts. Throws for drafts that violate the protocol. */
export class RecordBuilder {
  readonly records: LogRecord[] = [];
  state: FoldState = emptyState(task);

  add(drafts: readonly DraftRecord[]): this {
    for (const input of drafts) {
      const draft = validate(this.state, input);
      if (draft === undefined) continue;
      const offset = this.records.length + 1;
      const head = { v: recordVersion, offset, time: 1000 + offset, producer: 'test' } as const;
      const record: LogRecord = { ...head, ...draft };
      const folded = fold(this.state, record);
      if (folded.outcome !== 'applied') throw new Error(`Record ${offset} does not fold`);
      this.state = folded.state;
      this.records.push(record);
    }
    return this;
  }
}

interface RecordedUpdates {
  readonly records: readonly LogRecord[];
  readonly state: FoldState;
  readonly warnings: UpdateWarnings;
}

/** Returns the records of an agent's answer, which is complete or stopped early. */
export function recordUpdates(
  updates: readonly unknown[],
  options: Partial<UpdateWriterOptions> & { readonly stop?: Stop; readonly leave?: true } = {},
): RecordedUpdates {
  const writer = new UpdateWriter({ turn: 1, attempt: 1, ids: countingIds(), ...options });
  const builder = new RecordBuilder();
  for (const update of updates) builder.add(writer.write(update));
  if (!options.leave) {
    builder.add(options.stop === undefined ? writer.end() : writer.endPartial(options.stop));
  }
  return { records: builder.records, state: builder.state, warnings: writer.warnings };
}
