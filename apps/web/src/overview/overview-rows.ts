import type { TaskDigest, TaskSummary } from '@millrace/client';
import { addUsage, type Usage } from '@millrace/core';
import { pageLabels } from '../languages/page-labels.ts';

/** A task with its digest. The digest is undefined until it is loaded. */
export interface OverviewTask {
  readonly task: TaskSummary;
  readonly digest: TaskDigest | undefined;
}

/** The usage of one model by one agent, added up over all loaded tasks. */
export interface UsageRow {
  readonly agent: string;
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly tasks: number;
  readonly attempts: number;
  readonly usage: Usage;
}

export interface Failure {
  readonly task: TaskSummary;
  readonly agent: string;
  readonly reason: string;
}

/**
 * Returns the tasks with a run in progress or an open approval request. Tasks that wait for an
 * approval come first.
 */
export function runningOf(all: readonly OverviewTask[]): readonly OverviewTask[] {
  const rank = ({ digest }: OverviewTask) => (digest?.state === 'waiting' ? 0 : 1);
  return all
    .filter(({ digest }) => digest !== undefined && digest.state !== 'idle')
    .toSorted((a, b) => rank(a) - rank(b));
}

/** Returns the tasks that failed, and the tasks whose last run ended with an error. */
export function failuresOf(all: readonly OverviewTask[]): readonly Failure[] {
  return all.flatMap(({ task, digest }) => {
    const isFailed = task.status === 'FAILED' || task.status === 'TIMED_OUT';
    const isError = digest?.state === 'idle' && digest.stop?.reason === 'error';
    if (!isFailed && !isError) return [];
    const reason = digest?.error?.message ?? task.status_reason ?? digest?.stop?.cause;
    return [{ task, agent: agentOf(digest), reason: reason ?? pageLabels().noReason }];
  });
}

/** Returns the usage by agent and model, sorted by cost and then by tokens. */
export function usageRows(all: readonly OverviewTask[]): readonly UsageRow[] {
  const used = all.flatMap(({ digest }) =>
    (digest?.usage ?? []).map((one) => ({ ...one, agent: agentOf(digest) })),
  );
  const groups = Map.groupBy(used, ({ agent, provider, model }) =>
    JSON.stringify([agent, provider, model]),
  );
  const rows = [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const usage = group.slice(1).reduce((sum, one) => addUsage(sum, one.usage), first.usage);
    const attempts = group.reduce((sum, one) => sum + one.attempts, 0);
    const { agent, provider, model } = first;
    const named = { agent, provider: provider ?? undefined, model: model ?? undefined };
    return [{ ...named, tasks: group.length, attempts, usage }];
  });
  return rows.toSorted((a, b) => costOf(b) - costOf(a) || tokensOf(b) - tokensOf(a));
}

/**
 * Returns the cost as a number for sorting. The page never shows this number, because it shows
 * costs as exact decimals.
 */
function costOf({ usage }: UsageRow): number {
  return Number(usage.costs[0]?.amount ?? 0);
}

function tokensOf({ usage }: UsageRow): number {
  return usage.input + usage.output;
}

export function totalOf(rows: readonly UsageRow[]): Usage | undefined {
  const [first, ...others] = rows;
  return others.reduce<Usage | undefined>(
    (sum, { usage }) => (sum === undefined ? usage : addUsage(sum, usage)),
    first?.usage,
  );
}

function agentOf(digest: TaskDigest | undefined): string {
  return digest?.agents.join(', ') || pageLabels().unknownAgent;
}
