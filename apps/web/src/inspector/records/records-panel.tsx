import { useDeferredValue, useId, useMemo, useState } from 'react';
import { IconButton } from '../../design/button.tsx';
import { BackIcon, ForwardIcon } from '../inspector-icons.tsx';
import { GrowingPlaces } from '../model/record-index.ts';
import type { SessionModel } from '../model/session-model.ts';
import { type ReadRequest, RecordDetail } from './record-detail.tsx';
import { RecordList } from './record-list.tsx';
import { searching } from './search.ts';
import './records.css';

export interface RecordsPanelProps {
  readonly model: SessionModel;
  readonly count: number;
  readonly index: number;
  readonly onIndex: (index: number) => void;
  readonly readRequest: ReadRequest;
}

/** The log itself: found, listed, and read one by one. */
export function RecordsPanel({ model, count, index, onIndex, readRequest }: RecordsPanelProps) {
  const [text, setText] = useState('');
  const [isFacts, setIsFacts] = useState(false);
  const { records, axis } = model;
  const asked = useDeferredValue(text);
  const finding = useMemo(() => searching(records, asked), [records, asked]);
  const listing = useMemo(() => listingOf(records, isFacts), [records, isFacts]);
  const places = finding.upTo(count);
  const listed = listing.upTo(count);
  const goNext = (by: 1 | -1) => {
    // Whoever types and presses Enter at once means what was typed.
    const all = asked === text ? places : searching(records, text).upTo(count);
    const next =
      by > 0 ? all.find((place) => place > index) : all.findLast((place) => place < index);
    const target = next ?? (by > 0 ? all[0] : all.at(-1));
    if (target !== undefined) onIndex(target);
  };
  return (
    <section className="records-panel" aria-label="Records">
      <header className="timeline-head">
        <h3>Records</h3>
        <label className="transport-check">
          <input
            type="checkbox"
            checked={isFacts}
            onChange={({ target }) => setIsFacts(target.checked)}
          />
          Facts only
        </label>
        <SearchField {...{ text, setText, index, places, goNext }} />
      </header>
      <div className="records-body">
        <RecordList {...{ records, listed, index, onIndex }} found={places} start={axis.start} />
        <RecordDetail {...{ records, index, readRequest }} start={axis.start} />
      </div>
    </section>
  );
}

function listingOf(records: SessionModel['records'], isFacts: boolean): GrowingPlaces {
  return new GrowingPlaces(records, ({ fact }) => !isFacts || fact !== undefined);
}

interface SearchFieldProps {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly index: number;
  readonly places: readonly number[];
  readonly goNext: (by: 1 | -1) => void;
}

function SearchField({ text, setText, index, places, goNext }: SearchFieldProps) {
  const hint = useId();
  const nth = places.indexOf(index) + 1;
  const isAsked = text.trim() !== '';
  const leave = (field: HTMLInputElement) => (text === '' ? field.blur() : setText(''));
  return (
    <search className="records-search">
      <input
        type="search"
        value={text}
        placeholder="Find: text, type:, tool:, turn:"
        aria-label="Find records"
        aria-describedby={hint}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') goNext(event.shiftKey ? -1 : 1);
          // It is nobody else's: what goes on is not stopped by it.
          if (event.key === 'Escape') leave(event.currentTarget);
        }}
      />
      <output id={hint}>
        {isAsked ? (nth > 0 ? `${nth} of ${places.length}` : `${places.length} found`) : ''}
      </output>
      <IconButton
        size="small"
        label="Previous match (Shift+Enter)"
        disabled={places.length === 0}
        onClick={() => goNext(-1)}
      >
        <BackIcon />
      </IconButton>
      <IconButton
        size="small"
        label="Next match (Enter)"
        disabled={places.length === 0}
        onClick={() => goNext(1)}
      >
        <ForwardIcon />
      </IconButton>
    </search>
  );
}
