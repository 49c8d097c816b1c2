import type { PartId } from '../ids.ts';
import { defaultContentLimits } from '../limits.ts';
import type { AppendBytes, AppendText } from '../protocol/delta.ts';
import type { Batch, DeltaRecord, LogRecord } from '../protocol/record.ts';

/**
 * Merges appends to the same part. Appends to other parts may be between the merged appends, but no other
 * records. A merged append has the offset of its last piece. A reader therefore counts an offset as read only
 * after it folded the whole batch.
 */
export function merge(
  records: readonly LogRecord[],
  maxChunkLength: number = defaultContentLimits.maxChunkLength,
): readonly LogRecord[] {
  const merged: LogRecord[] = [];
  /** The groups of appends since the last record that is not an append. */
  let groups: Group[] = [];
  /** The last group of each part, which can still grow. */
  const growing = new Map<PartId, Group>();
  const flush = () => {
    for (const record of groups.map(joined).sort(byOffset)) merged.push(record);
    groups = [];
    growing.clear();
  };
  for (const record of records) {
    if (!isAppend(record)) {
      flush();
      merged.push(record);
      continue;
    }
    const { partId, chunk } = record.delta;
    const group = growing.get(partId);
    if (group !== undefined && joins(group, record, maxChunkLength)) {
      group.records.push(record);
      group.end += chunk.length;
    } else {
      const begun = newGroup(record);
      groups.push(begun);
      growing.set(partId, begun);
    }
  }
  flush();
  return merged;
}

/** Merges the appends of each part in a batch. */
export function mergeBatch(batch: Batch, maxChunkLength?: number): Batch {
  return { ...batch, records: merge(batch.records, maxChunkLength) };
}

type Append = DeltaRecord & { readonly delta: AppendText | AppendBytes };

function isAppend(record: LogRecord): record is Append {
  return record.delta?.type === 'append_text' || record.delta?.type === 'append_bytes';
}

/** A list of appends to one part. Each append starts at the end of the previous append. */
interface Group {
  readonly records: [Append, ...Append[]];
  readonly start: number;
  end: number;
}

function newGroup(append: Append): Group {
  const { at, chunk } = append.delta;
  return { records: [append], start: at, end: at + chunk.length };
}

function joins({ records: [first], start, end }: Group, next: Append, maxLength: number): boolean {
  const { at, chunk, type } = next.delta;
  return (
    at === end &&
    type === first.delta.type &&
    next.producer === first.producer &&
    end - start + chunk.length <= maxLength
  );
}

function joined({ records, start, end }: Group): LogRecord {
  const [first] = records;
  const last = records.at(-1) ?? first;
  if (last === first) return first;
  const { partId } = first.delta;
  return first.delta.type === 'append_text'
    ? { ...last, delta: { type: 'append_text', partId, at: start, chunk: joinText(records) } }
    : {
        ...last,
        delta: { type: 'append_bytes', partId, at: start, chunk: joinBytes(records, start, end) },
      };
}

function joinText(records: readonly Append[]): string {
  return records.map(({ delta }) => delta.chunk).join('');
}

function joinBytes(records: readonly Append[], start: number, end: number): Uint8Array {
  const bytes = new Uint8Array(end - start);
  for (const { delta } of records) {
    if (delta.type === 'append_bytes') bytes.set(delta.chunk, delta.at - start);
  }
  return bytes;
}

const byOffset = (a: LogRecord, b: LogRecord): number => a.offset - b.offset;
