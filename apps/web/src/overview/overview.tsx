import type { Client } from '@millrace/client';
import { useMemo, useSyncExternalStore } from 'react';
import { pageClock } from '../inspector/page-clock.ts';
import { Failures } from './failures.tsx';
import { failuresOf, runningOf, usageRows } from './overview-figures.ts';
import { OverviewStore } from './overview-store.ts';
import { Running } from './running.tsx';
import { UsageTable } from './usage-table.tsx';
import './overview.css';

/** What goes on, what went wrong, and what it cost. */
export function Overview({ client }: { readonly client: Client }) {
  const store = useMemo(() => {
    const isVisible = () => document.visibilityState === 'visible';
    return new OverviewStore({ client, clock: pageClock, isVisible });
  }, [client]);
  const { isLoaded, tasks, isMore, error } = useSyncExternalStore(store.subscribe, store.now);
  if (error !== undefined && !isLoaded) {
    const why = error instanceof Error ? error.message : 'The server did not answer';
    return (
      <p className="overview-error" role="alert">
        {why} It is asked again every few seconds.
      </p>
    );
  }
  if (!isLoaded) return <p className="overview-wait">Reading what the sessions came to …</p>;
  if (tasks.length === 0) return <NoTasks />;
  return (
    <div className="overview">
      <Running tasks={runningOf(tasks)} />
      <Failures failures={failuresOf(tasks)} />
      <UsageTable rows={usageRows(tasks)} />
      <p className="overview-note">
        {isMore
          ? `Of the ${tasks.length} sessions that changed last. What they used is read from their logs, superseded attempts included.`
          : `Of ${tasks.length === 1 ? 'the one session' : `all ${tasks.length} sessions`}. What they used is read from their logs, superseded attempts included.`}
      </p>
    </div>
  );
}

function NoTasks() {
  return (
    <div className="overview-empty">
      <h2>No sessions yet</h2>
      <p>
        Start one from the page, or from a program: <code>task/create</code> at an agent’s{' '}
        <code>/rpc</code>. What runs, what failed and why, and what each model cost then shows up
        here.
      </p>
    </div>
  );
}
