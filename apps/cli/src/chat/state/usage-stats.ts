import { addUsage, noUsage, type Usage } from '@millrace/core';
import type { ChildUsage, EventOf, UsageStats } from '../contract/chat-state.ts';

export const emptyStats: UsageStats = {
  ...{ model: undefined, before: noUsage, last: undefined, contextTokens: undefined },
  children: new Map(),
  ...{ firstTokenMs: undefined, tokensPerSecond: undefined },
};

/** Returns the usage of the session, including its sub-agents. */
export function sessionUsage(stats: UsageStats): Usage {
  return [...stats.children.values()].reduce(
    (sum, { usage }) => addUsage(sum, usage),
    ownUsage(stats),
  );
}

/** Returns the usage of the session without its sub-agents. */
export function ownUsage({ before, last }: UsageStats): Usage {
  return last === undefined ? before : addUsage(before, last.usage);
}

/** Returns the usage of each sub-agent, in the order of their first request. */
export function childUsage({ children }: UsageStats): readonly ChildUsage[] {
  const byAgent = Map.groupBy(children.values(), ({ agent }) => agent);
  return [...byAgent].map(([agent, all]) => ({
    agent,
    usage: all.reduce((sum, { usage }) => addUsage(sum, usage), noUsage),
  }));
}

/** Sets the usage of one attempt of a sub-agent. A later report replaces an earlier one. */
export function reportChildUsage(
  stats: UsageStats,
  { of, usage }: EventOf<'child_usage_reported'>,
): UsageStats {
  const key = `${of.turn}.${of.attempt} ${of.session}`;
  const children = new Map(stats.children).set(key, { agent: of.agent, usage });
  return { ...stats, children };
}

/** Maximum number of attempts of sub-agents whose usage is stored one by one. */
const maxChildren = 64;

/**
 * Adds up the usage of the oldest attempts of sub-agents, so that a stored state does not grow with the session.
 * A later report can still replace the usage of a recent attempt.
 */
export function shortenChildren(stats: UsageStats): UsageStats {
  const all = [...stats.children];
  if (all.length <= maxChildren) return stats;
  const sums = new Map<string, ChildUsage>();
  for (const [key, { agent, usage }] of all.slice(0, -maxChildren)) {
    const sumKey = key.startsWith('sum ') ? key : `sum ${agent}`;
    const sum = sums.get(sumKey)?.usage ?? noUsage;
    sums.set(sumKey, { agent, usage: addUsage(sum, usage) });
  }
  return { ...stats, children: new Map([...sums, ...all.slice(-maxChildren)]) };
}

export function startResponse(
  stats: UsageStats,
  { turn, attempt, time, model }: EventOf<'response_started'>,
  isSummary: boolean,
): UsageStats {
  const counted = { turn, attempt, usage: noUsage, isSummary };
  const last = { ...counted, startedAt: time, firstAt: undefined, lastAt: time, length: 0 };
  return { ...stats, model, before: ownUsage(stats), last };
}

/**
 * Records the time of the first output. This is the start of a part. The first delta is not exact,
 * because deltas can be merged.
 */
export function beginPart(stats: UsageStats, time: number): UsageStats {
  const { last } = stats;
  if (last === undefined || last.firstAt !== undefined) return stats;
  const timed = last.isSummary ? {} : { firstTokenMs: time - last.startedAt };
  return { ...stats, ...timed, last: { ...last, firstAt: time } };
}

/** Adds the number of streamed characters of an answer, of reasoning or of a call. */
export function addLength(stats: UsageStats, time: number, length: number): UsageStats {
  const begun = beginPart(stats, time);
  const { last } = begun;
  if (last === undefined) return stats;
  return { ...begun, last: { ...last, lastAt: time, length: last.length + length } };
}

/**
 * Sets the usage of the current attempt. A later report replaces an earlier one. Reports about
 * earlier attempts are ignored, because these attempts are already counted.
 */
export function reportUsage(
  stats: UsageStats,
  { turn, attempt, usage }: EventOf<'usage_reported' | 'response_finished'>,
): UsageStats {
  const { last } = stats;
  if (last?.turn !== turn || last.attempt !== attempt) return stats;
  return { ...stats, last: { ...last, usage } };
}

/** Minimum duration for which a speed is computed. */
const shortestMs = 200;

export function finishResponse(stats: UsageStats, event: EventOf<'response_finished'>): UsageStats {
  const reported = reportUsage(stats, event);
  const { last } = reported;
  if (last === undefined || last.isSummary) return reported;
  const { input, output } = event.usage;
  const tookMs = last.lastAt - (last.firstAt ?? last.lastAt);
  const tokensPerSecond = tookMs < shortestMs ? undefined : output / (tookMs / 1000);
  const isCounted = input + output > 0;
  return { ...reported, tokensPerSecond, ...(isCounted && { contextTokens: input + output }) };
}
