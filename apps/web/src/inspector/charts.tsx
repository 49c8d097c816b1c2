import { useMemo } from 'react';
import { Chart, type ChartProps } from './chart.tsx';
import { seriesOf } from './figures.ts';
import type { SessionModel } from './session-model.ts';

export interface ChartsProps
  extends Pick<ChartProps, 'window' | 'positionOf' | 'now' | 'onOffset'> {
  readonly model: SessionModel;
  readonly count: number;
}

const noAnswer = 'no answer measured yet';
const noReport = 'not reported by the provider';

/** The figures of a session, on the axis that they share with the waterfall. */
export function Charts({ model, count, ...shared }: ChartsProps) {
  const series = useMemo(() => seriesOf(count === 0 ? [] : model.figures.attempts), [model, count]);
  return (
    <div className="charts">
      <Chart
        title="Tokens per second"
        points={series.tokensPerSecond}
        form="bars"
        series={1}
        missing={noAnswer}
        {...shared}
      />
      <Chart
        title="Time to first token"
        points={series.firstTokenMs}
        form="bars"
        series={3}
        missing={noAnswer}
        {...shared}
      />
      <Chart
        title="Context"
        points={series.context}
        form="steps"
        series={2}
        missing={noReport}
        {...shared}
      />
      <Chart
        title="Cost"
        points={series.cost}
        form="steps"
        series={4}
        missing={noReport}
        {...shared}
      />
    </div>
  );
}
