import { duration } from '@millrace/react/controls';
import type { ReactNode } from 'react';
import {
  costText,
  count,
  type Difference,
  percent,
  signed,
  type Variant,
} from './experiment-data.ts';
import { experimentLabels } from './labels/load-labels.ts';
import { ScoreBar } from './score-bar.tsx';

interface VariantListProps {
  readonly variants: readonly Variant[];
  /** The scorer whose scores are shown. */
  readonly scorer: string | undefined;
}

/** The variants with their scores, costs and times. The columns of all variants have the same width. */
export function VariantList({ variants, scorer }: VariantListProps) {
  return (
    <ul className="variants">
      {variants.map((variant) => (
        <VariantRow key={variant.name} variant={variant} scorer={scorer} />
      ))}
    </ul>
  );
}

interface VariantRowProps {
  readonly variant: Variant;
  readonly scorer: string | undefined;
}

function VariantRow({ variant, scorer }: VariantRowProps) {
  const t = experimentLabels();
  const { name, costs, score_costs: scoreCosts, runs, ended, failed } = variant;
  const score = variant.scores.find((one) => one.scorer === scorer);
  const hasCosts = costs.length > 0;
  return (
    <li className="variant">
      <h3>
        <span>{name}</span> {variant.is_baseline && <small>{t.baseline}</small>}
      </h3>
      <dl>
        <Value name={t.score} isWide>
          {score === undefined ? t.noScore : <ScoreBar {...score} />}
        </Value>
        <Value name={t.passRate} help={t.passRateHelp}>
          {score === undefined ? '–' : percent(score.pass_rate)}
        </Value>
        <Value name={t.toBaseline}>
          {score?.difference == null ? '–' : <DifferenceText difference={score.difference} />}
        </Value>
        <Value name={t.cost}>
          {hasCosts ? costText(costs) : '–'}
          {scoreCosts.length > 0 && <small>{t.costOfScores(costText(scoreCosts))}</small>}
        </Value>
        <Value name={t.tokens}>
          {count(variant.input_tokens + variant.output_tokens)}
          <small>{t.tokensInOut(count(variant.input_tokens), count(variant.output_tokens))}</small>
        </Value>
        <Value name={t.latency} help={t.latencyHelp}>
          {ended === 0 ? '–' : duration(variant.mean_ms)}
          {ended > 0 && <small>{`${percent(0.95)}: ${duration(variant.p95_ms)}`}</small>}
        </Value>
        <Value name={t.runs}>
          {ended === runs ? count(runs) : `${count(ended)} / ${count(runs)}`}
          <small data-bad={failed > 0 || undefined}>{t.failedRuns(failed)}</small>
        </Value>
      </dl>
    </li>
  );
}

interface ValueProps {
  readonly name: string;
  readonly help?: string;
  readonly isWide?: boolean;
  readonly children: ReactNode;
}

function Value({ name, help, isWide, children }: ValueProps) {
  return (
    <div data-wide={isWide || undefined}>
      <dt title={help}>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A difference with its interval. Green or red means that the interval does not contain 0. */
export function DifferenceText({ difference }: { readonly difference: Difference }) {
  const t = experimentLabels();
  const { mean, interval } = difference;
  const isSure = interval !== null && interval.low * interval.high > 0;
  return (
    <span className="difference" data-look={isSure ? (mean > 0 ? 'good' : 'bad') : undefined}>
      {signed(mean)}
      {interval !== null && <small>{t.range(signed(interval.low), signed(interval.high))}</small>}
    </span>
  );
}
