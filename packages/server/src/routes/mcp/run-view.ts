import {
  type AskedApproval,
  emptyState,
  type FoldState,
  findOpen,
  sessionId,
} from '@millrace/core';
import { waitsForClient } from '@millrace/core/streams';
import type { Log } from '@millrace/log';
import {
  openStored,
  type Question,
  type ResponseEnd,
  type ResponseLog,
  type ResponseStep,
} from '../openai/response-log.ts';

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
  /** What happened since the moment before, in words. */
  readonly news: string;
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

  add(steps: readonly ResponseStep[]): RunMoment {
    let news = '';
    for (const step of steps) {
      const { record, after, end } = step;
      this.#state = after.fold;
      this.#at = record.offset;
      this.#time = record.time;
      this.#end = end;
      if (record.fact?.type === 'command_queued') this.#noteAnswer(record.fact.command);
      const text = record.offset > this.#told ? newsOf(step) : '';
      // A text of the model continues. Everything else starts a new line.
      news += text.startsWith('\n') && news === '' ? text.slice(1) : text;
    }
    return this.#moment(news.slice(-maxNewsLength));
  }

  #noteAnswer({ type, toolCallId }: { readonly [name: string]: unknown }): void {
    if (type === 'approve' || type === 'deny') this.#answered.add(String(toolCallId));
  }

  #moment(news: string): RunMoment {
    const state = this.#state;
    const isWaiting = this.#end === undefined && waitsForClient(state);
    const open = state.asked.filter(({ toolCallId }) => !this.#answered.has(toolCallId));
    return {
      ...{ state, at: this.#at, time: this.#time, end: this.#end, news },
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
 * Yields a run as it is now, and then after each batch of records, up to its end. The reader knows the news up
 * to the offset `told`.
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
