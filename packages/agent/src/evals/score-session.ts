import { type JsonValue, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { AgentError } from '../contract/agent-error.ts';
import { readRecords } from '../history/fork-before.ts';
import { assertKnownOptions } from '../known-options.ts';
import { caseFromRecords } from './dataset.ts';
import type { EvaluatedRun, Score, ScoreReturn, Scorer } from './experiment.ts';
import { hashOf } from './experiment-plan.ts';
import { type EndedSession, readEnd } from './run-session.ts';

/** Options of `scoreSession`. */
export interface ScoreSessionOptions {
  /** The log with the session. Judges write their sessions to it too. */
  readonly log: Log;
  /** The session. Its last run must have ended. */
  readonly session: string;
  /** The scorers. A scorer that compares two runs, such as `pairwise`, is refused. */
  readonly scorers: readonly Scorer[];
  /** The expected answer: a text, or JSON. Default: none, for scorers that need no answer. */
  readonly expected?: JsonValue | undefined;
  /** Stops judges. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Scores the last run of a session that is on the log, without running anything again. The session can be a run of
 * another program. Returns the scores by the name of their scorer. A judge with the same settings is not paid twice.
 *
 * @example const { short } = await scoreSession({ log, session: 'monday', scorers: [short] });
 */
export async function scoreSession(
  options: ScoreSessionOptions,
): Promise<Readonly<Record<string, Score>>> {
  const names = { log: true, session: true, scorers: true, expected: true, signal: true } as const;
  assertKnownOptions<ScoreSessionOptions>('scoreSession', options, names);
  const { log, scorers, expected, signal = new AbortController().signal } = options;
  const session = sessionId(options.session);
  const pair = scorers.find(({ against }) => against !== undefined);
  if (pair !== undefined) throw comparesRuns(pair.name);
  const { ended } = await readEnd(log, session);
  if (ended === undefined) throw notEnded(session);
  const known = caseFromRecords(session, await readRecords(log, session));
  const evalCase = { id: session, input: known?.input ?? [], metadata: { session }, expected };
  const run = evaluatedRun({ variant: 'recorded', case: evalCase, repeat: 1 }, ended);
  const scores: Record<string, Score> = {};
  for (const scorer of scorers) {
    const hash = await hashOf([scorer.settings ?? null, expected ?? null]);
    const context = { log, session: `score/${session}/${scorer.name}/${hash}`, signal };
    scores[scorer.name] = checkedScore(scorer.name, await scorer.score(run, context));
  }
  return scores;
}

/** Returns a run for scorers, from what the log has about its session. */
export function evaluatedRun(
  key: Pick<EvaluatedRun, 'variant' | 'case' | 'repeat'>,
  { session, result, value, durationMs, error }: Omit<EndedSession, 'isReused'>,
): EvaluatedRun {
  const { stop, text, items, toolCalls, usage } = result;
  return { ...key, session, stop, text, value, items, toolCalls, usage, durationMs, error };
}

/** Maximum length of a reason on the log, in UTF-16 units. */
const maxReasonLength = 10_000;

/** Returns the return value of a scorer as a score. Throws if the value is not a score. */
export function checkedScore(scorer: string, given: ScoreReturn): Score {
  const score = typeof given === 'object' ? given : { value: Number(given) };
  const { value, reason, details, usage } = score ?? {};
  if (!(typeof value === 'number' && value >= 0 && value <= 1)) throw badScore(scorer);
  const said =
    typeof reason === 'string' ? reason.toWellFormed().slice(0, maxReasonLength) : undefined;
  return { value, ...(said !== undefined && { reason: said }), details, usage };
}

function badScore(scorer: string): AgentError {
  const message = `The scorer ${scorer} must return a number from 0 to 1, a boolean, or an object with such a value`;
  return new AgentError('bad_option', message, { scorer });
}

function comparesRuns(scorer: string): AgentError {
  const message = `Cannot score one session with ${scorer}: it compares two runs. Use runExperiment`;
  return new AgentError('bad_option', message, { option: 'scorers' });
}

function notEnded(session: string): AgentError {
  const message = `Cannot score session ${session}: the log has no run of it that ended`;
  return new AgentError('no_such_session', message, { session });
}
