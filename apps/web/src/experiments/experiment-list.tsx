import { Filled } from '@millrace/react';
import { Button, dayOrTime } from '@millrace/react/controls';
import { useState } from 'react';
import { useApp } from '../app/app-context.ts';
import { Link } from '../app/route.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import { count, type Experiment, type ExperimentList, routeTo } from './experiment-data.ts';
import { ExperimentsFrame } from './experiments-frame.tsx';
import { experimentLabels } from './labels/load-labels.ts';
import { ScoreBar } from './score-bar.tsx';
import { usePolled } from './use-polled.ts';

const isLive = ({ data }: ExperimentList) =>
  data.some(({ is_running, is_whole }) => is_running || !is_whole);

/** The page with all experiments. Running experiments come first, then the last changed ones. */
export function ExperimentListPage() {
  const t = pageLabels();
  const own = experimentLabels();
  const { api } = useApp();
  const { value, error } = usePolled<ExperimentList>('/experiments', isLive);
  const [more, setMore] = useState<ExperimentList>();
  const next = (more ?? value)?.next;
  const loadMore = async (cursor: string) => {
    const path = `/experiments?cursor=${encodeURIComponent(cursor)}`;
    const found = (await api.get(path)) as unknown as ExperimentList;
    setMore({ next: found.next, data: [...(more?.data ?? []), ...found.data] });
  };
  const all = [...(value?.data ?? []), ...(more?.data ?? [])].toSorted(
    (a, b) => Number(b.is_running) - Number(a.is_running) || b.changed_at - a.changed_at,
  );
  return (
    <ExperimentsFrame
      title={t.experiments}
      parent={{ route: { page: 'overview' }, name: t.overview }}
      error={error}
      loading={value === undefined ? ['short', 'full', 'full'] : undefined}
    >
      {all.map((experiment) => (
        <ExperimentCard key={experiment.name} experiment={experiment} />
      ))}
      {next != null && (
        <p className="overview-note">
          <Button size="small" onClick={() => void loadMore(next).catch(() => {})}>
            {own.moreExperiments}
          </Button>
        </p>
      )}
      {value !== undefined && all.length === 0 && (
        <div className="overview-empty">
          <h2>{own.noExperiments}</h2>
          <p>
            <Filled text={own.howToRun} parts={[<code key="command">millrace eval</code>]} />
          </p>
        </div>
      )}
    </ExperimentsFrame>
  );
}

function ExperimentCard({ experiment }: { readonly experiment: Experiment }) {
  const t = experimentLabels();
  const { name, scorers, variants } = experiment;
  const [scorer] = scorers;
  return (
    <section className="overview-card experiment-card" aria-label={name}>
      <h2>
        <Link to={routeTo(name)}>{name}</Link>
      </h2>
      <Progress experiment={experiment} />
      {variants.length > 0 && (
        <dl className="experiment-scores" aria-label={scorer ?? t.score}>
          {variants.map((variant) => {
            const found = variant.scores.find((one) => one.scorer === scorer);
            return (
              <div key={variant.name}>
                <dt>{variant.name}</dt>
                <dd>{found === undefined ? t.noScore : <ScoreBar {...found} />}</dd>
              </div>
            );
          })}
        </dl>
      )}
    </section>
  );
}

/** The state of an experiment, with the number of its runs that ended. */
export function Progress({ experiment }: { readonly experiment: Experiment }) {
  const t = experimentLabels();
  const { locale } = pageLabels();
  const { is_running: isRunning, is_complete: isComplete, ended, runs, failed } = experiment;
  const look = isRunning ? 'live' : isComplete ? 'good' : 'warn';
  const state = isRunning ? t.running : isComplete ? t.complete : t.incomplete;
  return (
    <div className="experiment-progress">
      <p>
        <span className="overview-dot" data-look={look} aria-hidden="true" />
        <span>{state}</span>
        <span>{t.runsOf(count(ended), count(runs))}</span>
        {failed > 0 && <span className="experiment-failed">{t.failedRuns(failed)}</span>}
        <span>{t.matrix(experiment.variants.length, experiment.cases)}</span>
        <span>{t.changedAt(dayOrTime(experiment.changed_at, locale))}</span>
      </p>
      {!isComplete && runs > 0 && (
        <progress aria-label={t.runsOf(count(ended), count(runs))} max={runs} value={ended} />
      )}
    </div>
  );
}
