import type { CSSProperties } from 'react';
import { type Interval, percent, score } from './experiment-data.ts';
import { experimentLabels } from './labels/load-labels.ts';

interface ScoreBarProps {
  readonly mean: number;
  readonly interval: Interval | null;
}

/** A score from 0 to 1 with its confidence interval, as numbers and as a picture. */
export function ScoreBar({ mean, interval }: ScoreBarProps) {
  const t = experimentLabels();
  const { low = mean, high = mean } = interval ?? {};
  const place = { '--mean': mean, '--low': low, '--high': high } as CSSProperties;
  return (
    <span className="score">
      <b>{score(mean)}</b>
      {interval !== null && (
        <small title={t.interval(percent(interval.confidence), score(low), score(high))}>
          {score(low)}–{score(high)}
        </small>
      )}
      <span className="score-track" style={place} aria-hidden="true">
        <span className="score-interval" />
        <span className="score-mean" />
      </span>
    </span>
  );
}
