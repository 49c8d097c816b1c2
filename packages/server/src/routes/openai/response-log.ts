import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Batch, type ErrorInfo, isCut, type JsonObject, type Stop } from '@millrace/core';
import { waitsForClient } from '@millrace/core/streams';
import type { Log } from '@millrace/log';
import { ServerError } from '../../contract/server-error.ts';
import { isExact, readExact } from '../../stream/exact-batch.ts';
import {
  type ChatState,
  type ChatStep,
  chatNear,
  emptyChat,
  foldChat,
} from '../chat/chat-state.ts';
import { notFound } from './openai-error.ts';
import {
  answerTypes,
  optionsIn,
  type ResponseRef,
  readOptions,
  responseId,
  type StoredOptions,
} from './response-starts.ts';

/** How a response ended. */
export interface ResponseEnd {
  readonly stop: Stop;
  readonly error: ErrorInfo | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** One record of a response, with the state before and after it. */
export interface ResponseStep extends ChatStep {
  /** The end of the response, if this record ends it. */
  readonly end: ResponseEnd | undefined;
}

/** The command that a response answers, or the start of a run that no command started. */
export interface Question extends ResponseRef, StoredOptions {
  /** The key of the command. It is empty if no command started the run. */
  readonly key: string;
  /** True if the record is a message. False if it answers calls of the turn before, or starts a run. */
  readonly isMessage: boolean;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * Reads the record that a response answers. A terminal, an editor and a program of the library start runs
 * without a command. Throws `not_found` if the log has no such record.
 */
export async function readQuestion(ref: ResponseRef, log: Log): Promise<Question> {
  const { taskId, offset } = ref;
  const missing = () => notFound('Response', responseId(ref), 'response_id');
  const { through = 0 } = (await log.info(taskId)) ?? {};
  if (offset < 1 || offset > through) throw missing();
  const { records } = await log.read(taskId, { from: offset - 1, maxBytes: 1 });
  const record = records.find((one) => one.offset === offset);
  if (record?.fact?.type === 'run_started')
    return { ...ref, caller: {}, echo: {}, key: '', isMessage: false, at: record.time };
  if (record?.fact?.type !== 'command_queued') throw missing();
  const { key, command } = record.fact;
  const isMessage = command['type'] === 'message';
  if (!isMessage && !answerTypes.includes(String(command['type']))) throw missing();
  const options = isMessage
    ? optionsIn(metadataIn(command))
    : await readOptions(taskId, { log }, offset);
  return { ...ref, ...options, key, isMessage, at: record.time };
}

function metadataIn({ items }: JsonObject): JsonObject {
  const all = Array.isArray(items) ? (items as readonly JsonObject[]) : [];
  return (all.findLast(({ metadata }) => metadata !== undefined)?.['metadata'] ?? {}) as JsonObject;
}

/**
 * The part of a log that is one response: from the command up to the end of its run, or up to the calls for
 * which the client must do something.
 */
export class ResponseLog {
  readonly question: Question;
  readonly #log: Log;
  /** True if the response continues after the answers to calls that wait for the client. */
  readonly #spansQuestions: boolean;
  #state: ChatState;
  #isRunning = false;
  /** True after a turn of the response has started. */
  #hasTurn = false;
  #end: ResponseEnd | undefined;
  #error: ErrorInfo | undefined;
  /** The calls that the command answers, with the calls of the commands just before it. */
  #answered: ReadonlySet<string> = new Set();
  /** True if the message was withdrawn before the agent received it. */
  #isWithdrawn = false;
  /** The keys of the other queued messages that start an answer of their own. */
  readonly #others = new Set<string>();

  private constructor(question: Question, log: Log, state: ChatState, spansQuestions: boolean) {
    this.#spansQuestions = spansQuestions;
    this.question = question;
    this.#log = log;
    this.#state = state;
  }

  /** Opens a response. `isWhole` reads the session from its start. */
  static async open(
    question: Question,
    log: Log,
    { isWhole = false, spansQuestions = false } = {},
  ): Promise<ResponseLog> {
    const { taskId, offset } = question;
    const from = isWhole ? emptyChat(taskId) : await chatNear(log, taskId, offset - 1);
    return new ResponseLog(question, log, from, spansQuestions);
  }

  /** Creates a response that gets its records from a state that several responses share. */
  static from(question: Question, log: Log, state: ChatState): ResponseLog {
    return new ResponseLog(question, log, state, true);
  }

  get state(): ChatState {
    return this.#state;
  }

  get end(): ResponseEnd | undefined {
    return this.#end;
  }

  /** False while the message waits for an earlier run. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Reads the records that are on the log now. Returns the steps of the response. */
  async readStored(): Promise<readonly ResponseStep[]> {
    const steps: ResponseStep[] = [];
    let pages = 0;
    while (this.#end === undefined) {
      const { through } = this.#state;
      const page = await this.#log.read(this.question.taskId, { from: through });
      if (page.through <= through) break;
      for (const step of this.#add(page)) steps.push(step);
      // Other work of the process runs between the pages of a long response.
      if (++pages > 1) await nextTurn();
    }
    return steps;
  }

  /** Yields the steps of the response until its end. Throws if the message will get no answer. */
  async *follow(signal: AbortSignal): AsyncGenerator<readonly ResponseStep[]> {
    const session = this.#state.fold.session;
    for await (const given of this.#log.follow(session, { from: this.#state.through, signal })) {
      // A client can resume at every event, so the offsets of the events must be exact.
      const batch = isExact(given) ? given : await readExact(this.#log, session, given);
      yield this.#add(batch);
      if (this.#end !== undefined) return;
    }
    if (!signal.aborted) throw logClosed(session);
  }

  #add(batch: Batch): readonly ResponseStep[] {
    const { state, steps } = foldChat(this.#state, batch);
    const own = this.addSteps(steps);
    this.#state = state;
    return own;
  }

  /** Adds the steps of the session. Returns the steps of the response. */
  addSteps(steps: readonly ChatStep[]): readonly ResponseStep[] {
    const own: ResponseStep[] = [];
    for (const step of steps) {
      if (this.#end !== undefined) break;
      const isOwn = this.#isRunning;
      this.#start(step);
      if (!this.#isRunning) continue;
      if (isOwn) this.#end = this.#endOf(step);
      else if (this.#isWithdrawn) this.#end = withdrawn(step.record.time);
      own.push({ ...step, end: this.#end });
    }
    return own;
  }

  /** Detects the start of the response. */
  #start({ record, after }: ChatStep): void {
    const { fact, offset } = record;
    const { question } = this;
    if (fact?.type === 'command_queued' && fact.command['type'] === 'message') {
      if (fact.command['when'] !== 'steer' && offset !== question.offset)
        this.#others.add(fact.key);
    }
    if (fact?.type === 'command_queued' && fact.command['type'] === 'withdraw')
      this.#isWithdrawn ||= fact.command['key'] === question.key;
    if (this.#isRunning || offset < question.offset) return;
    if (!question.isMessage && offset === question.offset) {
      this.#isRunning = true;
      const { asked, awaited } = after.fold;
      this.#answered = new Set([...asked, ...awaited].map(({ toolCallId }) => toolCallId));
    }
    if (!question.isMessage) return;
    if (fact?.type === 'command_consumed' && fact.key === question.key) this.#isRunning = true;
    else if (fact?.type === 'run_finished') assertContinues(question.taskId, fact.stop);
  }

  /** Returns the end of the response, if the step ends it. */
  #endOf({ record, after, isParkBoundary }: ChatStep): ResponseEnd | undefined {
    const { fact, time: at } = record;
    const error = this.#error;
    if (fact?.type === 'turn_started') this.#hasTurn = true;
    if (fact?.type === 'error_reported') this.#error = fact.error;
    if (fact?.type === 'run_finished' && !isParkBoundary) return { stop: fact.stop, error, at };
    // The next message has its own response, even if the run continues with it.
    const isNext = fact?.type === 'command_consumed' && this.#others.has(fact.key);
    if (isNext && this.#hasTurn) return { stop: { reason: 'stop' }, error: undefined, at };
    if (this.#spansQuestions) return undefined;
    const { fold } = after;
    const isAnswered = [...fold.asked, ...fold.awaited].some(({ toolCallId }) =>
      this.#answered.has(toolCallId),
    );
    if (isAnswered || !waitsForClient(fold)) return undefined;
    return { stop: { reason: 'parked' }, error: undefined, at };
  }
}

interface StoredReadOptions {
  readonly spansQuestions?: boolean;
  /** True if the response keeps an answer that was retracted after its end. */
  readonly keepsRetracted?: boolean;
}

/** Reads the stored records of a response. A cut state is too short if a record changes an earlier item. */
export async function openStored(question: Question, log: Log, options: StoredReadOptions = {}) {
  const near = await ResponseLog.open(question, log, options);
  const isShort = isCut(near.state.fold.items);
  try {
    return await readWhole(near, log, options);
  } catch (error) {
    if (!isShort) throw error;
    const whole = await ResponseLog.open(question, log, { ...options, isWhole: true });
    return readWhole(whole, log, options);
  }
}

async function readWhole(response: ResponseLog, log: Log, options: StoredReadOptions) {
  const steps = await response.readStored();
  const last = steps.at(-1);
  const isOver = last?.end?.stop.reason === 'parked' && options.keepsRetracted !== true;
  const retraction = isOver ? await retractionOf(last, log) : undefined;
  const { fold } = response.state;
  if (last === undefined || retraction === undefined) return { response, steps, fold };
  const after = retraction.after.fold;
  return {
    response,
    steps: [...steps.slice(0, -1), { ...last, end: undefined }, retraction],
    fold: after.through > fold.through ? after : fold,
  };
}

/**
 * Returns the step that retracts the answer of a response after its end. A response can end with the question of a
 * guardrail about its answer. If a person refuses the answer, no reader of the response may get it.
 */
async function retractionOf({ after }: ResponseStep, log: Log): Promise<ResponseStep | undefined> {
  const asked = after.fold.asked.find(({ attempt, from }) => attempt > 0 && from?.itemId);
  for (let state = after; asked !== undefined; await nextTurn()) {
    const page = await log.read(after.fold.session, { from: state.through });
    if (page.through <= state.through) return undefined;
    const { state: next, steps } = foldChat(state, page);
    for (const step of steps) {
      const { fact, turn, attempt, time: at } = step.record;
      if (turn !== asked.turn) continue;
      const end = { stop: { reason: 'blocked' }, error: undefined, at } as const;
      if (fact?.type === 'attempt_superseded' && attempt === asked.attempt) return { ...step, end };
      if (fact !== undefined && factsAfterCheck.has(fact.type)) return undefined;
    }
    state = next;
  }
  return undefined;
}

/** The facts of a turn that show that its answer was checked. */
const factsAfterCheck: ReadonlySet<string> = new Set([
  ...['turn_finished', 'tool_execution_started', 'tool_output_asked'],
]);

function withdrawn(at: number): ResponseEnd {
  return { stop: { reason: 'aborted' }, error: undefined, at };
}

function assertContinues(taskId: string, { reason }: Stop): void {
  if (!['aborted', 'error', 'limit', 'parked', 'blocked'].includes(reason)) return;
  const message = `Cannot answer in conversation ${taskId} now: the run before ended (${reason}). The message is queued and is answered together with the next one`;
  throw new ServerError('bad_state', message, { task: taskId }, { details: { stop: reason } });
}

function logClosed(session: string): ServerError {
  const message = `Cannot continue the response in conversation ${session}: its log was closed. Retry later`;
  return new ServerError('unavailable', message, { session });
}
