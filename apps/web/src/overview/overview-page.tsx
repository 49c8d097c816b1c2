import type { Client } from '@millrace/client';
import { errorText, Filled } from '@millrace/react';
import { clockTime, lazyView, pageClock, Skeleton } from '@millrace/react/controls';
import { type ReactNode, Suspense, useMemo, useSyncExternalStore } from 'react';
import { useApp } from '../app/app-context.ts';
import { Link, type OverviewFilter, useRoute } from '../app/route.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import type { Api } from '../server/api.ts';
import { SidebarButton } from '../sidebar/sidebar-button.tsx';
import { failuresOf, runningOf, usageRows } from './overview-rows.ts';
import { OverviewStore } from './overview-store.ts';
import { Statistics } from './statistics/statistics.tsx';
import { Failures, Running } from './status-cards.tsx';
import { UsageTable } from './usage-table.tsx';
import './overview.css';

// The page loads the experiments and their texts when the user opens them.
const ExperimentsPage = lazyView(async () =>
  (await import('../experiments/experiments-page.tsx')).loadExperimentsPage(),
);

/** The overview of the app, and the experiments. */
export function OverviewPage() {
  const t = pageLabels();
  const { client, api } = useApp();
  const route = useRoute();
  if (route.page === 'experiments')
    return (
      <Suspense
        fallback={
          <div className="overview">
            <Skeleton label={t.loadingThePage} bars={['short', 'block', 'block']} />
          </div>
        }
      >
        <ExperimentsPage path={route.path} />
      </Suspense>
    );
  const filter = route.page === 'overview' ? route : {};
  return (
    <main className="overview-page">
      <header className="overview-head">
        <SidebarButton />
        <h1>{t.overview}</h1>
        <Link className="overview-link" to={{ page: 'experiments' }}>
          {t.experiments}
        </Link>
      </header>
      <Overview client={client} api={api} filter={filter} />
    </main>
  );
}

export interface OverviewProps {
  readonly client: Client;
  readonly api: Api;
  /** The filter of the charts. */
  readonly filter: OverviewFilter;
}

/** Shows running sessions, failures and usage. */
export function Overview({ client, api, filter }: OverviewProps) {
  const store = useMemo(() => {
    const isVisible = () => document.visibilityState === 'visible';
    const clock = { ...pageClock, now: () => Date.now() };
    return new OverviewStore({ client, api, clock, isVisible });
  }, [client, api]);
  return <OverviewView store={store} statistics={<Statistics api={api} filter={filter} />} />;
}

export interface OverviewViewProps {
  readonly store: OverviewStore;
  /** The charts. Default: no charts. */
  readonly statistics?: ReactNode;
}

/** The cards that are still loading: running sessions, failures, charts, and usage. */
const waitingCards = [
  ['short', 'full', 'full'],
  ['short', 'full', 'full'],
  ['short', 'middle', 'block', 'block'],
  ['short', 'full', 'full', 'full'],
] as const;

export function OverviewView({ store, statistics }: OverviewViewProps) {
  const t = pageLabels();
  const state = useSyncExternalStore(store.subscribe, store.now);
  const { isLoaded, tasks, others, hasMore, isTruncated, error } = state;
  if (error !== undefined && !isLoaded)
    return (
      <p className="overview-error" role="alert">
        {errorText(error, t)} {t.pageRetries}
      </p>
    );
  if (!isLoaded)
    return (
      <div className="overview">
        {waitingCards.map((bars, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the cards never change their order
          <div key={at} className="overview-card" data-wide={at > 1 || undefined}>
            <Skeleton label={at === 0 ? t.loadingTheSessions : ''} bars={bars} />
          </div>
        ))}
      </div>
    );
  const all = [...tasks, ...others];
  return (
    <div className="overview">
      {error !== undefined && <StaleNotice readAt={state.readAt} />}
      {all.length === 0 ? (
        <NoTasks />
      ) : (
        <>
          <Running tasks={runningOf(all)} isTruncated={isTruncated} />
          <Failures failures={failuresOf(all)} isTruncated={isTruncated} />
          {statistics}
          <UsageTable rows={usageRows(tasks)} />
          <p className="overview-note">{t.usageCovers(tasks.length, hasMore)}</p>
        </>
      )}
    </div>
  );
}

/** Shows a warning that the data may be out of date. */
function StaleNotice({ readAt }: { readonly readAt: number | undefined }) {
  const t = pageLabels();
  return (
    <p className="overview-old" role="alert">
      {t.staleData(readAt === undefined ? undefined : clockTime(readAt, t.locale))} {t.pageRetries}
    </p>
  );
}

function NoTasks() {
  const t = pageLabels();
  return (
    <div className="overview-empty">
      <h2>{t.noSessionsYet}</h2>
      <p>
        <Filled
          text={t.overviewEmpty}
          parts={[<code key="method">task/create</code>, <code key="path">/rpc</code>]}
        />
      </p>
    </div>
  );
}
