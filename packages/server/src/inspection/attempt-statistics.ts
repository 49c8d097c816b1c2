import { addUsage, noUsage, sessionId } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { AttemptStatistics } from '../contract/inspection.ts';
import type { TasksService } from '../contract/service.ts';
import type { TaskSummary } from '../contract/task.ts';
import { type AttemptRow, attemptsCacheFor } from './session-attempts.ts';

/** Selects attempts. */
export interface AttemptFilter {
  /** The time range in which an attempt must start, in milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly agentName?: string | undefined;
  readonly model?: string | undefined;
  readonly version?: string | undefined;
}

interface Sources {
  readonly log: Log;
  readonly tasks: Pick<TasksService, 'list'>;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Maximum number of sessions in the statistics. The constant below limits the time for reading their logs.
 */
const maxSessions = 500;
const maxReadMs = 1000;
const concurrentReads = 4;

interface NamedAttempt extends AttemptRow {
  readonly agentName: string | null;
}

/**
 * Computes statistics about the model requests of the latest tasks that the caller may read. If reading the
 * logs takes too long, the result omits some sessions. The next request continues with them.
 */
export async function attemptStatistics(
  filter: AttemptFilter,
  sources: Sources,
): Promise<AttemptStatistics> {
  const { from, to, agentName, model, version } = filter;
  const { attempts, isWhole, sessions } = await readAttempts(filter, sources);
  const selected = attempts.filter(
    (one) =>
      (agentName === undefined || one.agentName === agentName) &&
      (model === undefined || one.model === model) &&
      (version === undefined || one.version === version),
  );
  const bucketMs = bucketLength(to - from);
  const byTime = Map.groupBy(selected, ({ startedAt }) => bucketStart(startedAt, bucketMs));
  const buckets: AttemptStatistics['buckets'] = [];
  for (let at = bucketStart(from, bucketMs); at < to; at += bucketMs)
    buckets.push({ started_at: at, ...measuresOf(byTime.get(at) ?? []) });
  const groups = [...groupByName(selected).values()].map((members) => ({
    ...namesOf(members[0]),
    ...measuresOf(members),
  }));
  const names = [...groupByName(attempts).values()].map((members) => namesOf(members[0]));
  return {
    ...{ from, to, bucket_ms: bucketMs, is_whole: isWhole, sessions, buckets, names },
    groups: groups.toSorted((a, b) => b.attempts - a.attempts),
  };
}

interface ReadAttempts {
  readonly attempts: readonly NamedAttempt[];
  readonly sessions: number;
  readonly isWhole: boolean;
}

async function readAttempts({ from, to }: AttemptFilter, sources: Sources): Promise<ReadAttempts> {
  const { log, tasks, clock } = sources;
  const { waiting, isAll } = await latestTasks(tasks);
  const cache = attemptsCacheFor(log);
  const deadline = clock.now() + maxReadMs;
  const attempts: NamedAttempt[] = [];
  let isWhole = isAll;
  let sessions = 0;
  const readSession = async ({ id, agents }: TaskSummary) => {
    const info = await log.info(sessionId(id));
    if (info === undefined || info.isDamaged || info.changedAt < from) return;
    if (clock.now() > deadline) {
      isWhole = false;
      return;
    }
    const read = await cache.read(info);
    if (!read.isWhole) isWhole = false;
    const own = agents?.[0]?.name ?? null;
    const inRange = read.attempts.filter(({ startedAt }) => startedAt >= from && startedAt < to);
    if (inRange.length > 0) sessions++;
    for (const one of inRange) attempts.push({ ...one, agentName: one.subAgent ?? own });
  };
  const readNext = async () => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift())
      // Ignores an error of one session. The statistics of the other sessions stay available.
      await readSession(task).catch(() => {
        isWhole = false;
      });
  };
  await Promise.all(Array.from({ length: concurrentReads }, readNext));
  return { attempts, sessions, isWhole };
}

const tasksPerPage = 100;

/** Returns the most recently changed tasks up to a limit, and whether these are all tasks. */
async function latestTasks(tasks: Sources['tasks']) {
  const page = {
    limit: tasksPerPage,
    pageNumber: 1,
    orderBy: 'updated_at',
    direction: 'desc',
  } as const;
  const waiting: TaskSummary[] = [];
  let cursor: string | undefined;
  do {
    const { data, next } = await tasks.list({ ...page, cursor });
    waiting.push(...data);
    cursor = next ?? undefined;
  } while (cursor !== undefined && waiting.length < maxSessions);
  return { waiting, isAll: cursor === undefined };
}

const minuteMs = 60_000;
/** The possible lengths of a bucket. For the longest range, the last length gives 53 buckets. */
const bucketLengths = [1, 5, 15, 60, 180, 360, 1440, 7 * 1440].map((minutes) => minutes * minuteMs);
const maxBuckets = 60;

function bucketLength(rangeMs: number): number {
  const fitting = bucketLengths.find((length) => rangeMs / length <= maxBuckets);
  return fitting ?? 7 * 1440 * minuteMs;
}

function bucketStart(at: number, length: number): number {
  return Math.floor(at / length) * length;
}

function namesOf(one: NamedAttempt | undefined): AttemptStatistics['names'][number] {
  const { agentName = null, provider = null, model = null, version = null } = one ?? {};
  return { agent_name: agentName, agent_version: version, provider, model };
}

function groupByName(attempts: readonly NamedAttempt[]) {
  return Map.groupBy(attempts, (one) => JSON.stringify(namesOf(one)));
}

function measuresOf(
  attempts: readonly AttemptRow[],
): Omit<AttemptStatistics['buckets'][number], 'started_at'> {
  const usage = attempts.reduce(
    (sum, one) => (one.usage ? addUsage(sum, one.usage) : sum),
    noUsage,
  );
  return {
    attempts: attempts.length,
    errors: attempts.filter(({ isError }) => isError).length,
    duration_ms: percentilesOf(attempts.map(({ durationMs }) => durationMs)),
    first_token_ms: percentilesOf(attempts.map(({ firstTokenMs }) => firstTokenMs)),
    ...{ input_tokens: usage.input, output_tokens: usage.output },
    ...{ cache_read_tokens: usage.cacheRead, costs: [...usage.costs] },
  };
}

/** Returns the median and the 95th percentile. Both are measured values and not interpolated. */
function percentilesOf(
  values: readonly (number | undefined)[],
): { p50: number; p95: number } | null {
  const sorted = values.filter((value) => value !== undefined).toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  return sorted.length === 0 ? null : { p50: at(0.5), p95: at(0.95) };
}
