import { duration } from '@millrace/react/controls';
import type { OverviewFilter } from '../../app/route.tsx';
import { pageLabels } from '../../languages/page-labels.ts';

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
  readonly agent_version: string | null;
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
  ['1h', 'lastHour', hourMs],
  ['1d', 'lastDay', 24 * hourMs],
  ['7d', 'last7Days', 7 * 24 * hourMs],
  ['30d', 'last30Days', 30 * 24 * hourMs],
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
  if (filter.version !== undefined) query.set('agent_version', filter.version);
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
  const t = pageLabels();
  const series = (name: string, value: (bucket: Measures) => number | null): ChartSeries => ({
    name,
    values: buckets.map(value),
  });
  const currency = buckets.flatMap(({ costs }) => costs)[0]?.currency;
  const costOf = ({ costs }: Measures) =>
    Number(costs.find((cost) => cost.currency === currency)?.amount ?? 0);
  return [
    {
      title: t.timeToEnd,
      series: [
        series(t.percentile95, ({ duration_ms }) => duration_ms?.p95 ?? null),
        series(t.median, ({ duration_ms }) => duration_ms?.p50 ?? null),
      ],
      format: duration,
    },
    {
      title: t.timeToFirst,
      series: [
        series(t.percentile95, ({ first_token_ms }) => first_token_ms?.p95 ?? null),
        series(t.median, ({ first_token_ms }) => first_token_ms?.p50 ?? null),
      ],
      format: duration,
    },
    {
      title: t.tokens,
      series: [
        series(t.inputAndOutputSeries, (one) => one.input_tokens + one.output_tokens),
        series(t.outputSeries, ({ output_tokens }) => output_tokens),
      ],
      format: count,
    },
    {
      title: t.requestsAndErrors,
      series: [
        series(t.requestsSeries, ({ attempts }) => attempts),
        series(t.errorsSeries, ({ errors }) => errors),
      ],
      format: count,
    },
    ...(currency === undefined
      ? []
      : [
          {
            title: t.costIn(currency),
            series: [series(t.costSeries, costOf)],
            format: (value: number) =>
              value.toLocaleString(t.locale, { maximumSignificantDigits: 3 }),
          },
        ]),
  ];
}

export function count(value: number): string {
  return value.toLocaleString(pageLabels().locale);
}
