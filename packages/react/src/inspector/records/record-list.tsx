import type { LogRecord } from '@millrace/core';
import { memo, useEffect, useId, useRef } from 'react';
import { VList, type VListHandle } from 'virtua';
import { useLabels } from '../../labels/use-labels.ts';
import { includesSorted, partitionPoint } from '../model/record-index.ts';
import { describeRecord } from './describe-record.ts';
import { typeOf } from './search.ts';

interface RecordListProps {
  readonly records: readonly LogRecord[];
  /** The indexes of the listed records, in order. */
  readonly listed: readonly number[];
  readonly start: number;
  readonly index: number;
  /** The indexes of the search matches, in order. */
  readonly found: readonly number[];
  readonly onIndex: (index: number) => void;
}

const rowHeight = 24;

const rowsBy: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 10,
  PageUp: -10,
};

/**
 * A list of records, one per line. It scrolls to the selected record. Arrow keys move the
 * selection.
 */
export function RecordList({ records, listed, start, index, found, onIndex }: RecordListProps) {
  const t = useLabels();
  const list = useRef<VListHandle>(null);
  const id = useId();
  const row = Math.max(0, partitionPoint(listed.length, (at) => (listed[at] ?? 0) <= index) - 1);
  useEffect(() => {
    if (listed.length > 0) list.current?.scrollToIndex(row, { align: 'nearest' });
  }, [row, listed.length]);
  const select = (to: number) => {
    const recordIndex = listed[Math.min(listed.length - 1, Math.max(0, to))];
    if (recordIndex !== undefined) onIndex(recordIndex);
  };
  if (listed.length === 0) return <p className="inspector-empty">{t.noRecordMatches}</p>;
  return (
    <VList
      ref={list}
      data={listed}
      itemSize={rowHeight}
      className="records"
      role="listbox"
      tabIndex={0}
      aria-label={t.records}
      aria-activedescendant={`${id}-${row}`}
      onKeyDown={(event) => {
        const by = rowsBy[event.key];
        if (by === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        select(row + by);
      }}
    >
      {(recordIndex: number, at: number) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys
        // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus
        <div
          key={recordIndex}
          id={`${id}-${at}`}
          className="record"
          role="option"
          aria-selected={at === row}
          data-fact={records[recordIndex]?.fact !== undefined || undefined}
          data-found={includesSorted(found, recordIndex) || undefined}
          data-future={recordIndex > index || undefined}
          onClick={() => onIndex(recordIndex)}
        >
          <RecordLine record={records[recordIndex]} start={start} />
        </div>
      )}
    </VList>
  );
}

interface RecordLineProps {
  readonly record: LogRecord | undefined;
  readonly start: number;
}

const RecordLine = memo(function RecordLine({ record, start }: RecordLineProps) {
  if (record === undefined) return null;
  return (
    <>
      <span className="record-offset">{record.offset}</span>
      <span className="record-time">{((record.time - start) / 1000).toFixed(3)}</span>
      <span className="record-type">{typeOf(record)}</span>
      <span className="record-text">{describeRecord(record)}</span>
    </>
  );
});
