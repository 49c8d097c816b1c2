import type { Log } from '@millrace/log';
import { postgresLog } from '@millrace/log/postgres';
import { redisBus } from '@millrace/log/redis';
import type { Rows } from '../../contract/rows.ts';
import { postgresRows } from '../../rows/postgres/postgres-rows.ts';

export interface ClusterStore {
  readonly log: Log;
  readonly rows: Rows;
  close(): Promise<void>;
}

/**
 * The duration of leases in milliseconds. It is shorter than the default, because a test must pause a process
 * for longer than a lease.
 */
export const clusterLeaseMs = 5000;

/** Opens the log and the rows that the processes of a cluster share. */
export async function openClusterStore(store: string, busUrl: string): Promise<ClusterStore> {
  const bus = redisBus({ url: busUrl, timeoutMs: 1000 });
  const log = postgresLog({ url: store, bus });
  const open = log.open.bind(log);
  log.open = (session, options) => open(session, { leaseMs: clusterLeaseMs, ...options });
  const rows = await postgresRows({ url: store });
  return {
    ...{ log, rows },
    async close() {
      await Promise.all([log.close(), rows.close()]);
      await bus.close();
    },
  };
}
