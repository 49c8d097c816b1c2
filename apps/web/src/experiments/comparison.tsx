import { Skeleton } from '@millrace/react/controls';
import type { ChangeEvent } from 'react';
import { Link, navigate } from '../app/route.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import { CaseList } from './case-list.tsx';
import {
  type CaseComparison,
  type ComparisonQuery,
  changes,
  count,
  type Experiment,
  type ExperimentList,
  queryText,
  routeTo,
} from './experiment-data.ts';
import { experimentLabels } from './labels/load-labels.ts';
import { usePolled } from './use-polled.ts';
import { DifferenceText } from './variant-list.tsx';

/** The number of cases on one page. */
const casesPerPage = 25;

interface ComparisonProps {
  readonly experiment: Experiment;
  readonly query: ComparisonQuery;
}

/** Compares two variants case by case. Everything that the user chooses is in the address. */
export function Comparison({ experiment, query }: ComparisonProps) {
  const t = experimentLabels();
  const { name } = experiment;
  const isLive = () => experiment.is_running || !experiment.is_whole;
  const path = `/experiments/${encodeURIComponent(name)}/cases?limit=${casesPerPage}&${queryText(query)}`;
  const { value, error } = usePolled<CaseComparison>(path, isLive);
  return (
    <section className="overview-card" data-wide="" aria-labelledby="experiment-cases">
      <h2 id="experiment-cases">{t.caseByCase}</h2>
      {error !== undefined && <p role="alert">{error}</p>}
      {value === undefined ? (
        error === undefined && (
          <Skeleton label={pageLabels().loading} bars={['short', 'block', 'block']} />
        )
      ) : (
        <>
          <Choices {...{ experiment, query }} compared={value} />
          <Cases {...{ name, query }} compared={value} />
        </>
      )}
    </section>
  );
}

interface ChoicesProps extends ComparisonProps {
  readonly compared: CaseComparison;
}

/** Lists of variants and experiments to compare. */
function Choices({ experiment, query, compared }: ChoicesProps) {
  const t = experimentLabels();
  const { value: list } = usePolled<ExperimentList>('/experiments?limit=100', never);
  const { a, b } = compared;
  const otherName = query.otherExperiment ?? experiment.name;
  const other = list?.data.find(({ name }) => name === otherName) ?? experiment;
  const names = new Set([
    experiment.name,
    otherName,
    ...(list?.data ?? []).map(({ name }) => name),
  ]);
  const variantsOf = ({ variants }: Experiment) => variants.map(({ name }) => name);
  const go = (change: ComparisonQuery) =>
    navigate(routeTo(experiment.name, { ...query, ...restart, ...change }));
  const otherVariant = a?.variant ?? b.variant;
  const setExperiment = (chosen: string) => {
    const otherExperiment = chosen === experiment.name ? undefined : chosen;
    go({ otherExperiment, other: undefined });
  };
  return (
    <div className="choices">
      <fieldset>
        <legend>A</legend>
        {names.size > 1 && (
          <Choice name={t.experiment} value={otherName} of={[...names]} onChoose={setExperiment} />
        )}
        <Choice
          name={t.variant}
          value={otherVariant}
          of={variantsOf(other)}
          onChoose={(chosen) => go({ variant: b.variant, other: chosen })}
        />
      </fieldset>
      <fieldset>
        <legend>B</legend>
        <Choice
          name={t.variant}
          value={b.variant}
          of={variantsOf(experiment)}
          onChoose={(variant) => go({ variant, other: a?.variant ?? query.other })}
        />
      </fieldset>
    </div>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly value: string;
  readonly of: readonly string[];
  readonly onChoose: (value: string) => void;
}

function Choice({ name, value, of, onChoose }: ChoiceProps) {
  const choose = ({ currentTarget }: ChangeEvent<HTMLSelectElement>) =>
    onChoose(currentTarget.value);
  return (
    <label className="choice">
      <span>{name}</span>
      <select value={value} onChange={choose}>
        {of.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

interface CasesProps {
  readonly name: string;
  readonly query: ComparisonQuery;
  readonly compared: CaseComparison;
}

function Cases({ name, query, compared }: CasesProps) {
  const t = experimentLabels();
  const { a, difference, total, data, is_whole: isWhole } = compared;
  return (
    <>
      {a === null ? (
        <p className="overview-note">{t.noOther}</p>
      ) : (
        <>
          {difference !== null && (
            <p className="case-summary">
              {t.sumOfChanges('')} <DifferenceText difference={difference} />
              {difference.interval !== null &&
                difference.interval.low * difference.interval.high <= 0 && (
                  <span className="overview-note">{t.mayBeChance}</span>
                )}
            </p>
          )}
          <Filters {...{ name, query, compared }} />
        </>
      )}
      {!isWhole && <p className="overview-note">{t.stillReading}</p>}
      {data.length === 0 ? <p className="overview-none">{t.noCases}</p> : <CaseList cases={data} />}
      <Pages {...{ name, query, total }} />
    </>
  );
}

/** Links that show only worse, better or equal cases. */
function Filters({ name, query, compared }: CasesProps) {
  const t = experimentLabels();
  const { counts } = compared;
  const all = changes.reduce((sum, change) => sum + counts[change], 0);
  const link = (change: ComparisonQuery['change'], text: string, number: number) => (
    <Link
      key={text}
      to={routeTo(name, { ...query, page: undefined, change })}
      aria-current={query.change === change ? 'true' : undefined}
      data-change={change}
    >
      {text} <b>{count(number)}</b>
    </Link>
  );
  return (
    <nav className="filters" aria-label={t.show}>
      {link(undefined, t.all, all)}
      {changes
        .filter((change) => change !== 'unknown' || counts.unknown > 0)
        .map((change) => link(change, t[change], counts[change]))}
    </nav>
  );
}

interface PagesProps extends Omit<CasesProps, 'compared'> {
  readonly total: number;
}

function Pages({ name, query, total }: PagesProps) {
  const t = experimentLabels();
  const pages = Math.ceil(total / casesPerPage);
  const { page = 1 } = query;
  if (pages <= 1 && page === 1) return null;
  const link = (to: number, text: string) =>
    to >= 1 &&
    to <= pages && (
      <Link
        className="button"
        data-look="plain"
        data-size="small"
        to={routeTo(name, { ...query, page: to === 1 ? undefined : to })}
      >
        {text}
      </Link>
    );
  return (
    <nav className="pages" aria-label={t.cases}>
      {link(page - 1, t.previous)}
      <span>{t.pageOf(page, pages)}</span>
      {link(page + 1, t.next)}
    </nav>
  );
}

/** When the user chooses a different variant or filter, the list starts again with its first page. */
const restart = { change: undefined, page: undefined } as const;
const never = () => false;
