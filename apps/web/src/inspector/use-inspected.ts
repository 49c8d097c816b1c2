import type { Client } from '@millrace/client';
import { useMemo, useSyncExternalStore } from 'react';
import { type Inspected, InspectedSession } from './inspected-session.ts';
import { pageClock } from './page-clock.ts';

/** A session's records while it is mounted, and how to ask again after a failure. */
export function useInspected(client: Client, taskId: string): readonly [Inspected, () => void] {
  const session = useMemo(
    () => new InspectedSession({ client, taskId, clock: pageClock }),
    [client, taskId],
  );
  const now = useSyncExternalStore(session.subscribe, session.now);
  return [now, () => session.retry()];
}
