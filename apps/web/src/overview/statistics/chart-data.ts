import { duration } from '@millrace/react/controls';
import type { OverviewFilter } from '../../app/route.tsx';

/** A median and a 95th percentile in milliseconds. */
interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}

/** The measured values of a group of attempts, as the server sends them. */
export interface Measures {
  readonly attempts: number;
  readonly errors: number;
  readonly duration_ms: Percentiles | null;
  readonly first_token_ms: Percentiles | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly costs: readonly { readonly amount: string; readonly currency: string }[];
}

interface Names {
  readonly agent_name: string | null;
  readonly provider: string | null;
  readonly model: string | null;
}

/** The reply of `/statistics/attempts`. */
export interface AttemptStatistics {
  readonly bucket_ms: number;
  readonly is_whole: boolean;
  readonly sessions: number;
  readonly buckets: readonly (Measures & { readonly started_at: number })[];
  readonly groups: readonly (Measures & Names)[];
  readonly names: readonly Names[];
}

const hourMs = 3_600_000;

/** The ranges of time that the user can choose, with their names in the URL. */
export const ranges = [
  ['1h', 'Last hour', hourMs],
  ['1d', 'Last day', 24 * hourMs],
  ['7d', 'Last 7 days', 7 * 24 * hourMs],
  ['30d', 'Last 30 days', 30 * 24 * hourMs],
] as const;

/** The range that is used if the URL has no range or an unknown one. */
const defaultRange = ranges[1];

export function rangeOf({ range }: OverviewFilter): (typeof ranges)[number] {
  return ranges.find(([name]) => name === range) ?? defaultRange;
}

/** Returns the path of the statistics for a filter. `now` is the end of the range. */
export function statisticsPath(filter: OverviewFilter, now: number): string {
  const query = new URLSearchParams({ from: String(now - rangeOf(filter)[2]), to: String(now) });
  if (filter.agent !== undefined) query.set('agent_name', filter.agent);
  if (filter.model !== undefined) query.set('model', filter.model);
  return `/statistics/attempts?${query}`;
}

/** A chart: one value for each bucket and series. */
export interface ChartData {
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly format: (value: number) => string;
}

/**
 * One series of a chart. `values` has an entry for each bucket. The entry is null if the bucket has
 * no measurement.
 */
interface ChartSeries {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

/**
 * Returns the charts of the overview. In each chart, a later series is drawn on top of an earlier
 * one.
 */
export function chartsOf({ buckets }: Pick<AttemptStatistics, 'buckets'>): readonly ChartData[] {
  const series = (name: string, value: (bucket: Measures) => number | null): ChartSeries => ({
    name,
    values: buckets.map(value),
  });
  const currency = buckets.flatMap(({ costs }) => costs)[0]?.currency;
  const costOf = ({ costs }: Measures) =>
    Number(costs.find((cost) => cost.currency === currency)?.amount ?? 0);
  return [
    {
      title: 'Time to the end of the answer',
      series: [
        series('95th percentile', ({ duration_ms }) => duration_ms?.p95 ?? null),
        series('median', ({ duration_ms }) => duration_ms?.p50 ?? null),
      ],
      format: duration,
    },
    {
      title: 'Time to the first token',
      series: [
        series('95th percentile', ({ first_token_ms }) => first_token_ms?.p95 ?? null),
        series('median', ({ first_token_ms }) => first_token_ms?.p50 ?? null),
      ],
      format: duration,
    },
    {
      title: 'Tokens',
      series: [
        series('input and output', (one) => one.input_tokens + one.output_tokens),
        series('output', ({ output_tokens }) => output_tokens),
      ],
      format: count,
    },
    {
      title: 'Requests and errors',
      series: [
        series('requests', ({ attempts }) => attempts),
        series('errors', ({ errors }) => errors),
      ],
      format: count,
    },
    ...(currency === undefined
      ? []
      : [
          {
            title: `Cost in ${currency}`,
            series: [series('cost', costOf)],
            format: (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 3 }),
          },
        ]),
  ];
}

export function count(value: number): string {
  return value.toLocaleString('en');
}
