import { Context } from '@temporalio/activity';

const [leastMs, withoutHeartbeatsMs] = [15_000, 60_000];

/**
 * How long a session stays an activity's after its last sign of life. Longer than Temporal takes to find
 * out that a worker died, so that the next try of the same activity comes before those who wait.
 */
export function leaseMsHere(): number {
  const { heartbeatTimeoutMs } = Context.current().info;
  if (heartbeatTimeoutMs === undefined || heartbeatTimeoutMs === 0) return withoutHeartbeatsMs;
  return Math.max(leastMs, 3 * heartbeatTimeoutMs);
}
