import { useMemo } from 'react';
import type { Labels } from '../../labels/labels.ts';
import { useLabels } from '../../labels/use-labels.ts';
import { type Point, seriesOf } from '../model/metrics.ts';
import type { SessionModel } from '../model/session-model.ts';
import { percentIn, type TimeWindow } from './zoom.ts';

interface ChartsProps extends Pick<ChartProps, 'window' | 'positionOf' | 'now' | 'onOffset'> {
  readonly model: SessionModel;
  readonly count: number;
}

/** The charts of the metrics. They have the same time axis as the tree of spans. */
export function Charts({ model, count, ...shared }: ChartsProps) {
  const t = useLabels();
  const series = useMemo(() => seriesOf(count === 0 ? [] : model.metrics.attempts), [model, count]);
  return (
    <div className="charts">
      <Chart
        title={t.tokensPerSecond}
        points={series.tokensPerSecond}
        form="bars"
        series={1}
        emptyText={t.noDataYet}
        {...shared}
      />
      <Chart
        title={t.timeToFirstToken}
        points={series.firstTokenMs}
        form="bars"
        series={3}
        emptyText={t.noDataYet}
        {...shared}
      />
      <Chart
        title={t.context}
        points={series.context}
        form="steps"
        series={2}
        emptyText={t.notReportedByProvider}
        {...shared}
      />
      <Chart
        title={t.cost}
        points={series.cost}
        form="steps"
        series={4}
        emptyText={t.notReportedByProvider}
        {...shared}
      />
    </div>
  );
}

interface ChartProps {
  readonly title: string;
  readonly points: readonly Point[];
  /** `steps`: each value applies until the next one. `bars`: each value applies to its period. */
  readonly form: 'steps' | 'bars';
  readonly series: 1 | 2 | 3 | 4;
  /** The text that is shown if there are no values. */
  readonly emptyText: string;
  readonly window: TimeWindow;
  readonly positionOf: (time: number) => number;
  /** The position of the selected moment on the axis. */
  readonly now: number;
  readonly onOffset: (offset: number) => void;
}

const height = 100;

/** Shows one metric in the visible range. */
function Chart(props: ChartProps) {
  const t = useLabels();
  const { title, points, form, series, emptyText } = props;
  const point = pointAt(props);
  return (
    <div className="chart" data-series={series}>
      <span className="chart-title">{title}</span>
      <span className="chart-value">{point?.text ?? (points.length === 0 ? emptyText : '–')}</span>
      {points.length > 0 && (
        <svg
          viewBox={`0 0 100 ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${summary(points, t)}`}
        >
          {form === 'bars' ? <Bars {...props} /> : <Steps {...props} />}
        </svg>
      )}
    </div>
  );
}

/** Returns the last point before the selected moment. */
function pointAt({ points, now, positionOf }: ChartProps): Point | undefined {
  return points.findLast(({ to }) => positionOf(to) <= now) ?? undefined;
}

function Bars({ points, window, positionOf, onOffset }: ChartProps) {
  const max = maxOf(points);
  return points.map(({ from, to, value, text, offset, isSuperseded }) => {
    const x = percentIn(window, positionOf(from));
    const width = Math.max(0.4, percentIn(window, positionOf(to)) - x);
    if (x > 100 || x + width < 0) return null;
    const size = Math.max(3, (value / max) * (height - 8));
    return (
      // biome-ignore lint/a11y/noStaticElementInteractions: the same attempt is a button in the waterfall
      <rect
        key={offset}
        data-gone={isSuperseded || undefined}
        {...{ x, y: height - size, width, height: size }}
        onClick={() => onOffset(offset)}
      >
        <title>{text}</title>
      </rect>
    );
  });
}

function Steps({ points, window, positionOf }: ChartProps) {
  const max = maxOf(points);
  const yOf = (value: number) => height - (value / max) * (height - 8);
  const line = points
    .map(({ to, value }, at) => {
      const x = percentIn(window, positionOf(to));
      return at === 0 ? `M${x} ${height}V${yOf(value)}` : `H${x}V${yOf(value)}`;
    })
    .join('');
  const end = percentIn(window, positionOf(Number.POSITIVE_INFINITY));
  return (
    <>
      <path className="chart-area" d={`${line}H${end}V${height}Z`} />
      <path className="chart-line" d={`${line}H${end}`} />
    </>
  );
}

function maxOf(points: readonly Point[]): number {
  return points.reduce((max, { value }) => Math.max(max, value), 0) || 1;
}

function summary(points: readonly Point[], t: Labels): string {
  const last = points.at(-1)?.text ?? '';
  return t.chartSummary(points.length, last);
}
