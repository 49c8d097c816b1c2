import { duration } from '../design/time.ts';
import type { Bar } from './bar.ts';
import { labelPlace } from './label-place.ts';
import { percentIn, type TimeWindow } from './time-window.ts';

export interface WaterfallRowProps {
  readonly bar: Bar;
  readonly window: TimeWindow;
  readonly positionOf: (time: number) => number;
  /** When the session was last heard of: what goes on lasts until then. */
  readonly end: number;
  readonly isFuture: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly onZoom: () => void;
}

/** One thing that took time: where it was, how long, and what became of it. */
export function WaterfallRow(props: WaterfallRowProps) {
  const { bar, window, positionOf, end, isFuture, isChosen, onChoose, onZoom } = props;
  const { kind, tone, label, detail, first } = bar;
  const until = bar.end ?? end;
  const left = percentIn(window, positionOf(bar.start));
  const right = percentIn(window, positionOf(until));
  const width = Math.max(0.25, right - left);
  const firstShare = first === undefined ? 0 : percentIn(window, positionOf(first)) - left;
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
      <span className="bar-label" style={labelPlace(left, left + width)}>
        <span className="unseen">{kindNames[kind]} </span>
        <b>{label}</b> <i>{timeOf(bar, until)}</i>
        {detail !== undefined && <em>{detail}</em>}
        <span className="unseen"> {statesOf(bar).join(', ')}</span>
      </span>
    </button>
  );
}

const kindNames: Readonly<Record<Bar['kind'], string>> = {
  run: '',
  turn: '',
  attempt: 'Attempt at a request:',
  tool: 'Tool',
  agent: 'Sub-agent',
  approval: '',
  retry: '',
  span: 'Span',
};

/** How long a question waits is not known: nothing is heard of while it does. */
function timeOf({ kind, start, end }: Bar, until: number): string {
  return kind === 'approval' && end === undefined ? 'still waits' : duration(until - start);
}

/** What colour and strokes say, in words. */
function statesOf({ end, tone, kind }: Bar): readonly string[] {
  const words: string[] = [];
  if (end === undefined) words.push('goes on');
  if (tone === 'bad') words.push('failed');
  if (tone === 'gone') words.push(kind === 'attempt' ? 'superseded' : 'does not count');
  return words;
}

function titleOf(bar: Bar, until: number): string {
  const words = [`${kindNames[bar.kind]} ${bar.label}`.trim(), timeOf(bar, until)];
  const first =
    bar.first === undefined ? [] : [`first token after ${duration(bar.first - bar.start)}`];
  const detail = bar.detail === undefined ? '' : `\n${bar.detail}`;
  return `${[...words, ...first, ...statesOf(bar)].join(', ')}${detail}`;
}
