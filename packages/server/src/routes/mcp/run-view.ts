import {
  type AskedApproval,
  emptyState,
  type FoldState,
  findOpen,
  sessionId,
} from '@millrace/core';
import { waitsForClient } from '@millrace/core/streams';
import type { Log } from '@millrace/log';
import { RefusedRecords } from '../../inspection/refused-records.ts';
import {
  openStored,
  type Question,
  type ResponseEnd,
  type ResponseLog,
  type ResponseStep,
} from '../openai/response-log.ts';
import type { LogLevel } from './protocol/caller.ts';

/** A run as it is at one moment. */
export interface RunMoment {
  readonly state: FoldState;
  /** The offset of the newest record. */
  readonly at: number;
  /** The time of the newest record, in milliseconds since 1970. */
  readonly time: number;
  readonly end: ResponseEnd | undefined;
  /** The questions to which no answer is on the log, if the run waits for answers. */
  readonly waiting: readonly AskedApproval[];
  /** True if the run waits for the output of a tool that another client runs. */
  readonly awaitsOutput: boolean;
  /** A text about the events since the previous moment. */
  readonly news: string;
  /** The messages about the events since the previous moment, including those that the reader has. */
  readonly logs: readonly RunLog[];
}

/** A message about a run, for the operators of a client. */
export interface RunLog {
  /** The offset of the record. */
  readonly at: number;
  /** The number of the message among those of the record. */
  readonly index: number;
  readonly level: LogLevel;
  /** The tool that the message is about, or `run`. */
  readonly logger: string;
  readonly text: string;
}

/** Maximum length of a text about progress. */
const maxNewsLength = 2000;

/** Folds the records of one run, from its message to its end. Answers to questions continue the same run. */
export class RunView {
  readonly #answered = new Set<string>();
  readonly #told: number;
  #state: FoldState;
  #at: number;
  #time: number;
  #end: ResponseEnd | undefined;

  /** Records up to `told` are not news. */
  constructor({ taskId, offset, at }: Question, told: number) {
    this.#told = told;
    this.#state = emptyState(sessionId(taskId));
    this.#at = offset;
    this.#time = at;
  }

  /** Adds records. A text that a later one of these records takes back is not news. */
  add(steps: readonly ResponseStep[]): RunMoment {
    let news = '';
    const logs: RunLog[] = [];
    const refused = RefusedRecords.of(steps.map(({ record }) => record));
    for (const step of steps) {
      const { record, after, end } = step;
      this.#state = after.fold;
      this.#at = record.offset;
      this.#time = record.time;
      this.#end = end;
      if (record.fact?.type === 'command_queued') this.#noteAnswer(record.fact.command);
      if (refused.has(record)) continue;
      for (const [index, one] of logsOf(step).entries())
        logs.push({ at: record.offset, index, ...one });
      const text = record.offset > this.#told ? newsOf(step) : '';
      // A text of the model continues. Everything else starts a new line.
      news += text.startsWith('\n') && news === '' ? text.slice(1) : text;
    }
    return this.#moment(news.slice(-maxNewsLength), logs);
  }

  #noteAnswer({ type, toolCallId }: { readonly [name: string]: unknown }): void {
    if (type === 'approve' || type === 'deny') this.#answered.add(String(toolCallId));
  }

  #moment(news: string, logs: readonly RunLog[]): RunMoment {
    const state = this.#state;
    const isWaiting = this.#end === undefined && waitsForClient(state);
    const open = state.asked.filter(({ toolCallId }) => !this.#answered.has(toolCallId));
    return {
      ...{ state, at: this.#at, time: this.#time, end: this.#end, news, logs },
      waiting: isWaiting ? open : [],
      awaitsOutput: isWaiting && state.awaited.length > 0,
    };
  }
}

/** Describes a record for a person who waits. Returns an empty text if there is nothing to say. */
function newsOf({ record, before }: ResponseStep): string {
  const { fact, delta } = record;
  if (fact?.type === 'tool_execution_started') return `\n${fact.summary || fact.name}\n`;
  if (fact?.type === 'retry_scheduled')
    return `\nThe model is asked again: ${fact.error.message}\n`;
  if (delta?.type !== 'append_text') return '';
  const kind = findOpen(before.fold, delta.partId)?.begin.kind;
  return kind === 'text' || kind === 'tool_result' ? delta.chunk : '';
}

/** Returns why a run ended, if it did not end as usual. */
export function endText({ stop, error }: ResponseEnd): string | undefined {
  switch (stop.reason) {
    case 'aborted':
      return stop.cause === 'interrupted'
        ? 'The process of the agent ended during the run. The partial answer is stored.'
        : 'The run was stopped.';
    case 'error':
      return `The run failed: ${error?.message ?? 'unknown error'}`;
    case 'limit':
      return `The run reached its limit${stop.cause === undefined ? '' : ` (${stop.cause})`}.`;
    case 'blocked':
      return 'A guardrail stopped the run.';
    default:
      return undefined;
  }
}

/** Maximum length of a message about a run. */
const maxLogLength = 4000;

/** Maximum number of messages about one record. The last message has the text of all further ones. */
export const maxLogsPerRecord = 30;

/** Returns the messages about a record. The progress of a tool has one message per line. */
function logsOf({
  record,
  before,
  end,
}: ResponseStep): readonly Pick<RunLog, 'level' | 'logger' | 'text'>[] {
  const { fact, delta } = record;
  const one = (level: LogLevel, logger: string, text: string) => ({
    ...{ level, logger },
    text: text.slice(0, maxLogLength).toWellFormed(),
  });
  if (fact?.type === 'tool_execution_started')
    return [one('debug', fact.name, fact.summary || `${fact.name} starts`)];
  if (fact?.type === 'retry_scheduled')
    return [one('warning', 'run', `The model is asked again: ${fact.error.message}`)];
  if (end !== undefined) {
    const why = endText(end);
    const level = end.stop.reason === 'error' ? 'error' : 'warning';
    return why === undefined ? [] : [one(level, 'run', why)];
  }
  if (delta?.type !== 'append_text') return [];
  const begin = findOpen(before.fold, delta.partId)?.begin;
  if (begin?.kind !== 'tool_result') return [];
  const lines = delta.chunk.split('\n').filter((line) => line.trim() !== '');
  const rest = lines.slice(maxLogsPerRecord - 1);
  const shown = rest.length > 1 ? [...lines.slice(0, -rest.length), rest.join('\n')] : lines;
  return shown.map((line) => one('info', begin.name, line));
}

/** Returns a run as it is now. */
export async function readRun(question: Question, log: Log): Promise<RunMoment> {
  return (await openRun(question, log)).now;
}

interface OpenRun {
  readonly now: RunMoment;
  readonly view: RunView;
  readonly response: ResponseLog;
}

async function openRun(question: Question, log: Log, told = 0): Promise<OpenRun> {
  const { response, steps } = await openStored(question, log, { spansQuestions: true });
  const view = new RunView(question, told);
  return { now: view.add(steps), view, response };
}

/**
 * Yields a run as it is now, and then after each batch of records, up to its end. The reader already has all
 * messages about the run up to the offset `told`.
 */
export async function* followRun(
  question: Question,
  log: Log,
  signal: AbortSignal,
  told = 0,
): AsyncGenerator<RunMoment> {
  const { now, view, response } = await openRun(question, log, told);
  yield now;
  if (now.end !== undefined) return;
  for await (const steps of response.follow(signal)) if (steps.length > 0) yield view.add(steps);
}
