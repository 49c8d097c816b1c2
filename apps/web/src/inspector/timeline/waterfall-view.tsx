import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import { VList, type VListHandle } from 'virtua';
import { duration } from '../../design/time.tsx';
import type { Bar } from '../model/bar.ts';
import type { SessionModel } from '../model/session-model.ts';
import { insertSpans } from './spans.ts';
import { percentIn, type TimeWindow } from './zoom.ts';

export interface WaterfallViewProps {
  readonly model: SessionModel;
  readonly count: number;
  readonly spans: readonly Bar[];
  readonly window: TimeWindow;
  readonly positionOf: (time: number) => number;
  /** The offset of the selected record. */
  readonly offset: number;
  /** The time of the selected record. */
  readonly now: number;
  readonly onOffset: (offset: number) => void;
  readonly onWindow: (window: TimeWindow) => void;
}

const rowHeight = 24;

/**
 * Shows the bars of all runs, turns, attempts, tools, sub-agents and spans in the visible range.
 */
export function WaterfallView(props: WaterfallViewProps) {
  const { model, count, spans, window, positionOf, offset, now, onOffset, onWindow } = props;
  const bars = useMemo(() => (count === 0 ? [] : model.waterfall.bars), [model, count]);
  const end = model.axis.end;
  const isSeen = (bar: Bar) => {
    const from = percentIn(window, positionOf(bar.start));
    return from <= 100 && percentIn(window, positionOf(bar.end ?? end)) >= 0;
  };
  const placed = useMemo(() => insertSpans(bars, spans), [bars, spans]);
  const rows = placed.filter(isSeen);
  const list = useRef<VListHandle>(null);
  // The bar of the selected moment is kept visible. Spans are skipped, because they have no offset.
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
  if (rows.length === 0) return <p className="inspector-empty">There is nothing in this range.</p>;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys move the focus between the buttons of the rows
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
  const focusedIndex = buttons.indexOf(document.activeElement as HTMLElement);
  const next = buttons[focusedIndex + (event.key === 'ArrowDown' ? 1 : -1)];
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}

export interface WaterfallRowProps {
  readonly bar: Bar;
  readonly window: TimeWindow;
  readonly positionOf: (time: number) => number;
  /** The time of the last record. A bar without an end is drawn up to this time. */
  readonly end: number;
  readonly isFuture: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly onZoom: () => void;
}

/** Shows one row: the bar, its duration and its state. */
export function WaterfallRow(props: WaterfallRowProps) {
  const { bar, window, positionOf, end, isFuture, isChosen, onChoose, onZoom } = props;
  const { kind, tone, label, detail, firstContentAt } = bar;
  const until = bar.end ?? end;
  const left = percentIn(window, positionOf(bar.start));
  const right = percentIn(window, positionOf(until));
  const width = Math.max(0.25, right - left);
  const firstShare =
    firstContentAt === undefined ? 0 : percentIn(window, positionOf(firstContentAt)) - left;
  return (
    <button
      type="button"
      className="bar-row"
      data-kind={kind}
      data-tone={tone}
      data-open={bar.end === undefined || undefined}
      data-future={isFuture || undefined}
      aria-pressed={isChosen}
      title={titleOf(bar, until)}
      onClick={onChoose}
      onDoubleClick={onZoom}
    >
      <span className="bar" style={{ left: `${left}%`, width: `${width}%` }}>
        {firstShare > 0 && (
          <span className="bar-first" style={{ width: `${(firstShare / width) * 100}%` }} />
        )}
      </span>
      <span className="bar-label" style={labelPosition(left, left + width)}>
        <span className="unseen">{kindNames[kind]} </span>
        <b>{label}</b> <i>{durationText(bar, until)}</i>
        {detail !== undefined && <em>{detail}</em>}
        <span className="unseen"> {stateTexts(bar).join(', ')}</span>
      </span>
    </button>
  );
}

const kindNames: Readonly<Record<Bar['kind'], string>> = {
  run: '',
  turn: '',
  attempt: 'Attempt:',
  tool: 'Tool',
  agent: 'Sub-agent',
  approval: '',
  retry: '',
  span: 'Span',
};

/**
 * Returns the duration as text. The duration of an open approval is unknown, because the log gets
 * no records meanwhile.
 */
function durationText({ kind, start, end }: Bar, until: number): string {
  return kind === 'approval' && end === undefined ? 'waiting' : duration(until - start);
}

/** Returns the state as texts for screen readers. Other users see it as color and pattern. */
function stateTexts({ end, tone, kind }: Bar): readonly string[] {
  const texts: string[] = [];
  if (end === undefined) texts.push('in progress');
  if (tone === 'bad') texts.push('failed');
  if (tone === 'gone') texts.push(kind === 'attempt' ? 'superseded' : 'discarded');
  return texts;
}

function titleOf(bar: Bar, until: number): string {
  const texts = [`${kindNames[bar.kind]} ${bar.label}`.trim(), durationText(bar, until)];
  const first =
    bar.firstContentAt === undefined
      ? []
      : [`first token after ${duration(bar.firstContentAt - bar.start)}`];
  const detail = bar.detail === undefined ? '' : `\n${bar.detail}`;
  return `${[...texts, ...first, ...stateTexts(bar)].join(', ')}${detail}`;
}

export interface LabelPosition {
  readonly left?: string;
  readonly right?: string;
}

/**
 * Returns the position of a bar's label. The ends of the bar are in percent. If the bar is the
 * widest space in the row, the label is inside the bar. Otherwise it is on the side with more
 * space. The label never crosses an end of its bar.
 */
export function labelPosition(barLeft: number, barRight: number): LabelPosition {
  const left = Math.min(100, Math.max(0, barLeft));
  const right = Math.min(100, Math.max(0, barRight));
  if (right - left >= Math.max(left, 100 - right)) return { left: `${left}%` };
  return left > 100 - right ? { right: `${100 - left}%` } : { left: `${right}%` };
}
