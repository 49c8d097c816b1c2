import { workflowInfo } from '@temporalio/workflow';

/** How much this workflow said in each session, by whichever object. */
const saidIn = new Map<string, number>();

/** From here on counts what is said in a session: an execution before had so much. */
export function countFrom(session: string, said: number): void {
  saidIn.set(session, Math.max(saidIn.get(session) ?? 0, said));
}

export function countOf(session: string): number {
  return saidIn.get(session) ?? 0;
}

/** Each thing that is said has its own key: what has the same on the log is the same thing. */
export function nextKey(session: string): string {
  const { workflowId, firstExecutionRunId } = workflowInfo();
  countFrom(session, countOf(session) + 1);
  return `${workflowId}:${firstExecutionRunId}:${countOf(session)}`;
}
