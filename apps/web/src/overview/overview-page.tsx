import type { Client } from '@millrace/client';
import { errorText } from '@millrace/react';
import { clockTime, pageClock, Skeleton } from '@millrace/react/controls';
import { type ReactNode, useMemo, useSyncExternalStore } from 'react';
import { useApp } from '../app/app-context.ts';
import { type OverviewFilter, useRoute } from '../app/route.tsx';
import type { Api } from '../server/api.ts';
import { SidebarButton } from '../sidebar/sidebar-button.tsx';
import { failuresOf, runningOf, usageRows } from './overview-rows.ts';
import { OverviewStore } from './overview-store.ts';
import { Statistics } from './statistics/statistics.tsx';
import { Failures, Running } from './status-cards.tsx';
import { UsageTable } from './usage-table.tsx';
import './overview.css';

/** The overview page of the app. */
export function OverviewPage() {
  const { client, api } = useApp();
  const route = useRoute();
  const filter = route.page === 'overview' ? route : {};
  return (
    <main className="overview-page">
      <header className="overview-head">
        <SidebarButton />
        <h1>Overview</h1>
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

export function OverviewView({ store, statistics }: OverviewViewProps) {
  const state = useSyncExternalStore(store.subscribe, store.now);
  const { isLoaded, tasks, others, hasMore, isTruncated, error } = state;
  if (error !== undefined && !isLoaded)
    return (
      <p className="overview-error" role="alert">
        {errorText(error)} The page retries every few seconds.
      </p>
    );
  if (!isLoaded)
    return (
      <div className="overview-wait">
        <Skeleton label="Loading the sessions" bars={['short', 'block', 'block']} />
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
          <p className="overview-note">
            {`Usage covers ${scopeOf(tasks.length, hasMore)}, including superseded attempts.`}
          </p>
        </>
      )}
    </div>
  );
}

function scopeOf(count: number, hasMore: boolean): string {
  if (hasMore) return `the ${count} latest sessions`;
  return count === 1 ? 'the one session' : `all ${count} sessions`;
}

/** Shows a warning that the data may be out of date. */
function StaleNotice({ readAt }: { readonly readAt: number | undefined }) {
  const when = readAt === undefined ? 'earlier' : `at ${clockTime(readAt)}`;
  return (
    <p className="overview-old" role="alert">
      The server does not answer. This data was read {when}. The page retries every few seconds.
    </p>
  );
}

function NoTasks() {
  return (
    <div className="overview-empty">
      <h2>No sessions yet</h2>
      <p>
        Start one from the page, or from a program: <code>task/create</code> at an agent’s{' '}
        <code>/rpc</code>. Running sessions, failures and the cost of each model then appear here.
      </p>
    </div>
  );
}
