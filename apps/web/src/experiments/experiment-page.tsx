import { useEffect } from 'react';
import { Link } from '../app/route.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import { Comparison } from './comparison.tsx';
import { type ComparisonQuery, type Experiment, readQuery, routeTo } from './experiment-data.ts';
import { Progress } from './experiment-list.tsx';
import { ExperimentsFrame } from './experiments-frame.tsx';
import { experimentLabels } from './labels/load-labels.ts';
import { usePolled } from './use-polled.ts';
import { VariantList } from './variant-list.tsx';

interface ExperimentPageProps {
  readonly name: string;
  /** The parameters of the address. */
  readonly query: string;
}

const isLive = ({ is_running, is_whole }: Experiment) => is_running || !is_whole;

/** The page of one experiment: its variants side by side, and two of them case by case. */
export function ExperimentPage({ name, query: text }: ExperimentPageProps) {
  const t = pageLabels();
  const own = experimentLabels();
  const { value, error } = usePolled<Experiment>(
    `/experiments/${encodeURIComponent(name)}`,
    isLive,
  );
  const query = readQuery(text);
  useEffect(() => {
    document.title = `${name} · ${t.experiments} · Millrace`;
    return () => {
      document.title = 'Millrace';
    };
  }, [name, t]);
  return (
    <ExperimentsFrame
      title={name}
      parent={{ route: { page: 'experiments' }, name: t.experiments }}
      error={error}
      loading={value === undefined ? ['short', 'block', 'block'] : undefined}
      isWide
    >
      {value !== undefined && (
        <>
          <section className="overview-card" data-wide="" aria-labelledby="experiment-variants">
            <h2 id="experiment-variants">
              {own.variants}
              <Link className="overview-link" to={{ page: 'task', id: value.session_id }}>
                {own.results}
              </Link>
            </h2>
            <Progress experiment={value} />
            {!value.is_whole && <p className="overview-note">{own.stillReading}</p>}
            <Scorers experiment={value} query={query} />
            <VariantList variants={value.variants} scorer={query.scorer ?? value.scorers[0]} />
          </section>
          {value.variants.length > 0 && <Comparison experiment={value} query={query} />}
        </>
      )}
    </ExperimentsFrame>
  );
}

interface ScorersProps {
  readonly experiment: Experiment;
  readonly query: ComparisonQuery;
}

/** Links that choose the scorer. */
function Scorers({ experiment, query }: ScorersProps) {
  const t = experimentLabels();
  const { name, scorers } = experiment;
  const [first] = scorers;
  if (scorers.length < 2) return null;
  return (
    <nav className="filters" aria-label={t.scorer}>
      {scorers.map((scorer) => (
        <Link
          key={scorer}
          to={routeTo(name, { ...query, page: undefined, change: undefined, scorer })}
          aria-current={scorer === (query.scorer ?? first) ? 'true' : undefined}
        >
          {scorer}
        </Link>
      ))}
    </nav>
  );
}
