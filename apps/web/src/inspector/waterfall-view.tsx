import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import { VList, type VListHandle } from 'virtua';
import type { Bar } from './bar.ts';
import { placeSpans } from './place-spans.ts';
import type { SessionModel } from './session-model.ts';
import { percentIn, type TimeWindow } from './time-window.ts';
import { WaterfallRow } from './waterfall-row.tsx';

export interface WaterfallViewProps {
  readonly model: SessionModel;
  readonly count: number;
  readonly spans: readonly Bar[];
  readonly window: TimeWindow;
  readonly positionOf: (time: number) => number;
  /** The record that is looked at. */
  readonly offset: number;
  /** Its time. */
  readonly now: number;
  readonly onOffset: (offset: number) => void;
  readonly onWindow: (window: TimeWindow) => void;
}

const rowHeight = 22;

/** Runs, turns, attempts, tools, sub-agents and spans, of what is in the window. */
export function WaterfallView(props: WaterfallViewProps) {
  const { model, count, spans, window, positionOf, offset, now, onOffset, onWindow } = props;
  const bars = useMemo(() => (count === 0 ? [] : model.waterfall.bars), [model, count]);
  const end = model.axis.end;
  const isSeen = (bar: Bar) => {
    const from = percentIn(window, positionOf(bar.start));
    return from <= 100 && percentIn(window, positionOf(bar.end ?? end)) >= 0;
  };
  const placed = useMemo(() => placeSpans(bars, spans), [bars, spans]);
  const rows = placed.filter(isSeen);
  const list = useRef<VListHandle>(null);
  // What happens at the moment is in sight. Spans have no place in the log.
  const row = rows.findLastIndex((bar) => bar.offset !== undefined && bar.offset <= offset);
  useEffect(() => {
    if (row >= 0) list.current?.scrollToIndex(row, { align: 'nearest' });
  }, [row]);
  const zoom = (bar: Bar) => {
    const from = positionOf(bar.start);
    const to = positionOf(bar.end ?? end);
    const margin = Math.max(10, (to - from) * 0.05);
    onWindow({ from: from - margin, to: to + margin });
  };
  if (rows.length === 0) return <p className="inspector-empty">Nothing took any time here.</p>;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys go from one row's button to the next
    <div className="waterfall" onKeyDown={moveFocus}>
      <VList ref={list} data={rows} itemSize={rowHeight}>
        {(bar) => (
          <WaterfallRow
            key={bar.key}
            {...{ bar, window, positionOf, end }}
            isFuture={bar.offset === undefined ? bar.start > now : bar.offset > offset}
            isChosen={bar.offset !== undefined && bar.offset === offset}
            onChoose={() => bar.offset !== undefined && onOffset(bar.offset)}
            onZoom={() => zoom(bar)}
          />
        )}
      </VList>
    </div>
  );
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>('button')];
  const place = buttons.indexOf(document.activeElement as HTMLElement);
  const next = buttons[place + (event.key === 'ArrowDown' ? 1 : -1)];
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}
