import { clockTime, dayOrTime } from '@millrace/react/controls';
import { useId } from 'react';
import { pageLabels } from '../../languages/page-labels.ts';
import type { ChartData } from './chart-data.ts';

export interface BarChartProps {
  readonly chart: ChartData;
  /** The start times of the buckets, in ms since 1970. */
  readonly starts: readonly number[];
  readonly bucketMs: number;
}

const width = 600;
const height = 120;
const dayMs = 24 * 3_600_000;

/** A bar chart. The user can also open a table with the same values. */
export function BarChart({ chart, starts, bucketMs }: BarChartProps) {
  const t = pageLabels();
  const { title, series, format } = chart;
  const titleId = useId();
  const highest = Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const labelOf = (at: number) =>
    bucketMs < dayMs && dayOrTime(at, t.locale) !== clockTime(at, t.locale)
      ? `${dayOrTime(at, t.locale)} ${clockTime(at, t.locale)}`
      : dayOrTime(at, t.locale);
  const used = starts.flatMap((at, index) =>
    series.some(({ values }) => (values[index] ?? 0) > 0) ? [{ at, index }] : [],
  );
  const step = width / Math.max(1, starts.length);
  const barHeight = (value: number) => (highest === 0 ? 0 : (value / highest) * height);
  return (
    <figure className="chart" aria-labelledby={titleId}>
      <figcaption id={titleId}>
        {title}
        <span className="chart-legend">
          {series.map(({ name }, at) => (
            <span key={name} data-series={at}>
              {name}
            </span>
          ))}
        </span>
      </figcaption>
      {used.length === 0 ? (
        <p className="chart-empty">{t.nothingMeasured}</p>
      ) : (
        <>
          <p className="chart-top">{format(highest)}</p>
          <svg
            viewBox={`0 0 ${width} ${height}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={t.chartLabel(title, format(highest))}
          >
            {used.map(({ at, index }) => (
              <g key={at}>
                <title>
                  {`${labelOf(at)}: ${series
                    .map(({ name, values }) => `${name} ${format(values[index] ?? 0)}`)
                    .join(', ')}`}
                </title>
                {series.map(({ name, values }, place) => {
                  const high = barHeight(values[index] ?? 0);
                  return (
                    <rect
                      key={name}
                      data-series={place}
                      x={index * step + step * 0.1}
                      y={height - high}
                      width={step * 0.8}
                      height={high}
                    />
                  );
                })}
              </g>
            ))}
          </svg>
          <p className="chart-axis">
            <span>{labelOf(starts[0] ?? 0)}</span>
            <span>{labelOf(starts.at(-1) ?? 0)}</span>
          </p>
          <details>
            <summary>{t.valuesAsATable}</summary>
            <table>
              <thead>
                <tr>
                  <th scope="col">{t.time}</th>
                  {series.map(({ name }) => (
                    <th key={name} scope="col">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {used.map(({ at, index }) => (
                  <tr key={at}>
                    <th scope="row">{labelOf(at)}</th>
                    {series.map(({ name, values }) => (
                      <td key={name}>{values[index] == null ? '–' : format(values[index] ?? 0)}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </details>
        </>
      )}
    </figure>
  );
}
