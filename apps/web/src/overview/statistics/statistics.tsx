import { errorText } from '@millrace/react';
import { duration, Skeleton } from '@millrace/react/controls';
import { useEffect, useState } from 'react';
import { Link, type OverviewFilter } from '../../app/route.tsx';
import { pageLabels } from '../../languages/page-labels.ts';
import type { Api } from '../../server/api.ts';
import { BarChart } from './bar-chart.tsx';
import {
  type AttemptStatistics,
  chartsOf,
  count,
  rangeOf,
  ranges,
  statisticsPath,
} from './chart-data.ts';
import './statistics.css';

export interface StatisticsProps {
  readonly api: Pick<Api, 'get'>;
  readonly filter: OverviewFilter;
}

/**
 * Charts of the model requests in a range of time. Each filter is a link, so users can share it.
 */
export function Statistics({ api, filter }: StatisticsProps) {
  const t = pageLabels();
  const { statistics, error } = useStatistics(api, filter);
  return (
    <section className="overview-card statistics" aria-labelledby="overview-statistics">
      <h2 id="overview-statistics">{t.modelRequests}</h2>
      <Filters filter={filter} names={statistics?.names ?? []} />
      {error !== undefined && <p role="alert">{error}</p>}
      {statistics === undefined && error === undefined && (
        <Skeleton label={t.loading} bars={['block', 'block']} />
      )}
      {statistics !== undefined && (
        <>
          {!statistics.is_whole && (
            <p className="overview-note" role="status">
              {t.numbersIncomplete}
            </p>
          )}
          <div className="statistics-charts">
            {chartsOf(statistics).map((chart) => (
              <BarChart
                key={chart.title}
                chart={chart}
                starts={statistics.buckets.map(({ started_at }) => started_at)}
                bucketMs={statistics.bucket_ms}
              />
            ))}
          </div>
          <GroupTable groups={statistics.groups} />
        </>
      )}
    </section>
  );
}

interface FiltersProps {
  readonly filter: OverviewFilter;
  readonly names: AttemptStatistics['names'];
}

function Filters({ filter, names }: FiltersProps) {
  const t = pageLabels();
  const { agent, version, model } = filter;
  const [current] = rangeOf(filter);
  const agents = new Set(names.flatMap(({ agent_name }) => agent_name ?? []));
  const versions = new Set(names.flatMap(({ agent_version }) => agent_version ?? []));
  const models = new Set(names.flatMap((one) => one.model ?? []));
  const link = (key: string, text: string, change: OverviewFilter, isCurrent: boolean) => (
    <Link
      key={key}
      to={{ page: 'overview', range: filter.range, agent, version, model, ...change }}
      aria-current={isCurrent ? 'true' : undefined}
    >
      {text}
    </Link>
  );
  return (
    <div className="statistics-filters">
      <nav aria-label={t.rangeOfTime}>
        {ranges.map(([name, text]) => link(name, t[text], { range: name }, name === current))}
      </nav>
      {(agents.size > 1 || agent !== undefined) && (
        <nav aria-label={t.agent}>
          {link('', t.allAgents, { agent: undefined }, agent === undefined)}
          {[...agents].map((name) => link(name, name, { agent: name }, name === agent))}
        </nav>
      )}
      {(versions.size > 0 || version !== undefined) && (
        <nav aria-label={t.version}>
          {link('', t.allVersions, { version: undefined }, version === undefined)}
          {[...versions].map((name) => link(name, name, { version: name }, name === version))}
        </nav>
      )}
      {(models.size > 1 || model !== undefined) && (
        <nav aria-label={t.model}>
          {link('', t.allModels, { model: undefined }, model === undefined)}
          {[...models].map((name) => link(name, name, { model: name }, name === model))}
        </nav>
      )}
    </div>
  );
}

function GroupTable({ groups }: Pick<AttemptStatistics, 'groups'>) {
  const t = pageLabels();
  if (groups.length === 0) return null;
  const hasVersions = groups.some(({ agent_version }) => agent_version !== null);
  const time = (value: { readonly p50: number; readonly p95: number } | null) =>
    value === null ? '–' : `${duration(value.p50)} / ${duration(value.p95)}`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll
    <section className="overview-scroll" aria-label={t.requestsTable} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t.agent}</th>
            {hasVersions && <th scope="col">{t.version}</th>}
            <th scope="col">{t.model}</th>
            <th scope="col">{t.requests}</th>
            <th scope="col">{t.errors}</th>
            <th scope="col">{t.firstTokenColumn}</th>
            <th scope="col">{t.answerEndColumn}</th>
          </tr>
        </thead>
        <tbody>
          {groups.map(({ agent_name, agent_version, provider, model, ...row }) => (
            <tr key={JSON.stringify([agent_name, agent_version, provider, model])}>
              <th scope="row">{agent_name ?? t.unknownAgent}</th>
              {hasVersions && <td>{agent_version ?? '–'}</td>}
              <td>{model ?? t.unknownModel}</td>
              <td>{count(row.attempts)}</td>
              <td>{count(row.errors)}</td>
              <td>{time(row.first_token_ms)}</td>
              <td>{time(row.duration_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const pollIntervalMs = 15_000;
/** The pause between two requests while the server is still reading sessions. */
const continueIntervalMs = 2_000;

interface StatisticsState {
  readonly statistics: AttemptStatistics | undefined;
  readonly error: string | undefined;
}

/** Returns the statistics. The hook reads them at regular intervals while the page is visible. */
function useStatistics(api: Pick<Api, 'get'>, filter: OverviewFilter): StatisticsState {
  const [state, setState] = useState<StatisticsState>({ statistics: undefined, error: undefined });
  const { range, agent, version, model } = filter;
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      let pauseMs = pollIntervalMs;
      try {
        const path = statisticsPath({ range, agent, version, model }, Date.now());
        const reply = await api.get(path, controller.signal);
        const statistics = reply as unknown as AttemptStatistics;
        if (controller.signal.aborted) return;
        if (!statistics.is_whole) pauseMs = continueIntervalMs;
        setState({ statistics, error: undefined });
      } catch (reason) {
        if (controller.signal.aborted) return;
        setState((before) => ({ ...before, error: errorText(reason, pageLabels()) }));
      }
      timer = setTimeout(poll, pauseMs);
    };
    const poll = () => {
      if (document.visibilityState === 'visible') void read();
      else timer = setTimeout(poll, pollIntervalMs);
    };
    void read();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [api, range, agent, version, model]);
  return state;
}
