import {
  emptyState,
  foldBatch,
  type Item,
  type JsonObject,
  type LogRecord,
  sessionId,
  toArray,
  toItem,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import { AgentError } from '../contract/agent-error.ts';
import type { InputItem } from '../contract/run.ts';
import { readRecords } from '../history/fork-before.ts';
import { assertKnownOptions } from '../known-options.ts';
import { structuredValue } from '../run/output.ts';
import { joinText } from '../views/run-views.ts';
import type { EvalCase } from './experiment.ts';

/** Options of `casesFromSessions` and `caseFromRecords`. */
export interface SessionCaseOptions {
  /**
   * The input of the case. `first`: the first message of the session. `last`: the whole conversation up to the last
   * message of the user. Default: `first`.
   */
  readonly input?: 'first' | 'last' | undefined;
  /**
   * If true, the recorded answer to this input is the expected answer: its structured output, or its text.
   * Default: false, because a recorded answer can be wrong.
   */
  readonly expectAnswer?: boolean | undefined;
}

/** Options of `casesFromSessions`. */
export interface SessionCasesOptions extends SessionCaseOptions {
  /** Maximum number of sessions. Further sessions are refused. Default: 10,000. */
  readonly maxCases?: number | undefined;
}

const defaultMaxCases = 10_000;

/**
 * Makes a dataset of sessions. Each session with a message of a user is a case, and its id is the id of the case.
 * The ids can come from a query of `openLogIndex`. Attachments stay in the log.
 *
 * @example
 * const index = await openLogIndex(log);
 * const { rows } = index.query("SELECT DISTINCT session FROM calls WHERE status = 'error'");
 * const cases = casesFromSessions(log, rows.map((row) => String(row.session)));
 */
export async function* casesFromSessions(
  log: Log,
  sessions: Iterable<string>,
  options: SessionCasesOptions = {},
): AsyncGenerator<EvalCase> {
  const names = { input: true, expectAnswer: true, maxCases: true } as const;
  assertKnownOptions<SessionCasesOptions>('casesFromSessions', options, names);
  const { maxCases = defaultMaxCases, ...rest } = options;
  let count = 0;
  for (const session of new Set(sessions)) {
    const id = sessionId(session);
    if ((await log.info(id)) === undefined) throw noSuchSession(session);
    const evalCase = caseFromRecords(session, await readRecords(log, id), rest);
    if (evalCase === undefined) continue;
    if (++count > maxCases) throw tooManyCases(maxCases);
    yield evalCase;
  }
}

/**
 * Makes a case of the records of a session, for example of a recording. Returns undefined if the session has no
 * message of a user.
 */
export function caseFromRecords(
  session: string,
  records: readonly LogRecord[],
  options: SessionCaseOptions = {},
): EvalCase | undefined {
  assertKnownOptions<SessionCaseOptions>('caseFromRecords', options, caseOptionNames);
  const { input = 'first', expectAnswer = false } = options;
  if (input !== 'first' && input !== 'last') throw badInput();
  const through = records.at(-1)?.offset ?? 0;
  const { state } = foldBatch(emptyState(sessionId(session)), { after: 0, through, records });
  const items = toArray(state.items).map(toItem);
  const isMessage = ({ kind, redacted, parts }: Item) =>
    kind === 'user' && !redacted && parts.length > 0;
  const at = input === 'first' ? items.findIndex(isMessage) : items.findLastIndex(isMessage);
  const message = items[at];
  if (message === undefined) return undefined;
  const next = items.findIndex((item, index) => index > at && isMessage(item));
  const answers = items.slice(at + 1, next === -1 ? undefined : next);
  const answer = answers.findLast(({ kind }) => kind === 'assistant');
  const given = input === 'first' ? [message] : items.slice(0, at + 1);
  const expected = answer && (structuredValue(answer) ?? joinText(answer.parts));
  const metadata: JsonObject = { session };
  return {
    ...{ id: shortId(session), input: given.map(withoutId), metadata },
    ...(expectAnswer && expected !== undefined && { expected }),
  };
}

const caseOptionNames = { input: true, expectAnswer: true } as const;

/** Ids of cases are shorter than ids of sessions can be. */
function shortId(session: string): string {
  return session.length <= 200 ? session : session.slice(0, 200);
}

/** The run gives new ids to its items. */
function withoutId({ kind, parts, author }: Item): InputItem {
  return { kind, parts, ...(author && { author }) };
}

function noSuchSession(session: string): AgentError {
  const message = `Cannot make a case of session ${session}: the log does not have it`;
  return new AgentError('no_such_session', message, { session });
}

function tooManyCases(most: number): AgentError {
  const message = `Cannot make a dataset of more than ${most} sessions. Select fewer, or raise maxCases`;
  return new AgentError('too_large', message, { option: 'maxCases' });
}

function badInput(): AgentError {
  return new AgentError('bad_option', 'Cannot make a case: input must be first or last', {
    option: 'input',
  });
}
