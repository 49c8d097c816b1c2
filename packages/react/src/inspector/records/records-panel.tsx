import { useDeferredValue, useId, useMemo, useState } from 'react';
import { IconButton } from '../../design/button.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { BackIcon, ForwardIcon } from '../inspector-icons.tsx';
import { MatchIndex } from '../model/record-index.ts';
import type { SessionModel } from '../model/session-model.ts';
import { type ReadRequest, RecordDetail } from './record-detail.tsx';
import { RecordList } from './record-list.tsx';
import { searchRecords } from './search.ts';
import './records.css';

export interface RecordsPanelProps {
  readonly model: SessionModel;
  readonly count: number;
  readonly index: number;
  readonly onIndex: (index: number) => void;
  readonly readRequest: ReadRequest;
}

/** The records of the session, with a search field, a list and the selected record. */
export function RecordsPanel({ model, count, index, onIndex, readRequest }: RecordsPanelProps) {
  const t = useLabels();
  const [text, setText] = useState('');
  const [isFacts, setIsFacts] = useState(false);
  const { records, axis } = model;
  const deferredText = useDeferredValue(text);
  const search = useMemo(() => searchRecords(records, deferredText), [records, deferredText]);
  const list = useMemo(() => listingOf(records, isFacts), [records, isFacts]);
  const matches = search.upTo(count);
  const listed = list.upTo(count);
  const goNext = (by: 1 | -1) => {
    // On Enter, the panel searches for the typed text immediately, without waiting for the deferred
    // search.
    const all = deferredText === text ? matches : searchRecords(records, text).upTo(count);
    const next =
      by > 0 ? all.find((place) => place > index) : all.findLast((place) => place < index);
    const target = next ?? (by > 0 ? all[0] : all.at(-1));
    if (target !== undefined) onIndex(target);
  };
  return (
    <section className="records-panel" aria-label={t.records}>
      <header className="timeline-head">
        <h3>{t.records}</h3>
        <label className="transport-check">
          <input
            type="checkbox"
            checked={isFacts}
            onChange={({ target }) => setIsFacts(target.checked)}
          />
          {t.factsOnly}
        </label>
        <SearchField {...{ text, setText, index, matches, goNext }} />
      </header>
      <div className="records-body">
        <RecordList {...{ records, listed, index, onIndex }} found={matches} start={axis.start} />
        <RecordDetail {...{ records, index, readRequest }} start={axis.start} />
      </div>
    </section>
  );
}

function listingOf(records: SessionModel['records'], isFacts: boolean): MatchIndex {
  return new MatchIndex(records, ({ fact }) => !isFacts || fact !== undefined);
}

interface SearchFieldProps {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly index: number;
  readonly matches: readonly number[];
  readonly goNext: (by: 1 | -1) => void;
}

function SearchField({ text, setText, index, matches, goNext }: SearchFieldProps) {
  const t = useLabels();
  const hint = useId();
  const nth = matches.indexOf(index) + 1;
  const isSearching = text.trim() !== '';
  const clearOrBlur = (field: HTMLInputElement) => (text === '' ? field.blur() : setText(''));
  return (
    <search className="records-search">
      <input
        type="search"
        value={text}
        placeholder={t.findRecordsHint}
        aria-label={t.findRecords}
        aria-describedby={hint}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') goNext(event.shiftKey ? -1 : 1);
          // Escape clears this search field or removes its focus. It must not stop the run.
          if (event.key === 'Escape') clearOrBlur(event.currentTarget);
        }}
      />
      <output id={hint}>
        {isSearching ? (nth > 0 ? t.nthOf(nth, matches.length) : t.foundCount(matches.length)) : ''}
      </output>
      <IconButton
        size="small"
        label={t.previousMatch}
        disabled={matches.length === 0}
        onClick={() => goNext(-1)}
      >
        <BackIcon />
      </IconButton>
      <IconButton
        size="small"
        label={t.nextMatch}
        disabled={matches.length === 0}
        onClick={() => goNext(1)}
      >
        <ForwardIcon />
      </IconButton>
    </search>
  );
}
