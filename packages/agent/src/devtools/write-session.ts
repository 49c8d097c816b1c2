import {
  countingIds,
  DeltaWriter,
  type DraftRecord,
  type ErrorInfo,
  emptyState,
  executionId,
  Folder,
  type FoldState,
  type Ids,
  type JsonObject,
  type LogRecord,
  type Part,
  recordVersion,
  runId,
  type SessionId,
  type Stop,
  type ToolCallPart,
  type ToolResultPart,
  toolCallId,
  traceContext,
  validate,
} from '@millrace/core';
import { ResultSlots } from '../calls/result-slots.ts';
import { errorResult } from '../calls/tool-result.ts';
import { responseFinished, runStarted } from '../state/drafts.ts';
import type { RequestWork, ToolWork, TracedItem } from './contract.ts';
import type { PlannedRequest, PlannedRun, SpanOf } from './plan-runs.ts';
import { clipText } from './read-messages.ts';
import { KnownContent, SeenResults, UnusedTools } from './session-content.ts';

/** The session of a sub-agent that is already written. */
export interface WrittenChild {
  readonly session: SessionId;
  readonly run: PlannedRun;
}

interface SessionToWrite {
  readonly session: SessionId;
  readonly run: PlannedRun;
  /** The metadata of the first message. */
  readonly metadata: JsonObject | undefined;
  /** The sessions of sub-agents, by the span of the tool that ran them. */
  readonly children: ReadonlyMap<string, WrittenChild>;
}

/**
 * Writes a run of another program as the records of a session. The records have the times of the spans. Each record
 * is validated like a record of the loop. Throws `ProtocolError` if one is not legal.
 */
export function writeSession(to: SessionToWrite): readonly LogRecord[] {
  return new SessionWriter(to).write();
}

/** A request that failed, or that has an answer. The attempts before it failed. */
interface PlannedTurn {
  readonly failed: readonly PlannedRequest[];
  readonly last: PlannedRequest;
}

class SessionWriter {
  readonly #to: SessionToWrite;
  readonly #ids: Ids = countingIds();
  readonly #records: LogRecord[] = [];
  readonly #folder: Folder;
  readonly #content = new KnownContent();
  readonly #tools: UnusedTools;
  readonly #results: SeenResults;
  #executions = 0;
  #hasMessage = false;

  constructor(to: SessionToWrite) {
    this.#to = to;
    this.#folder = new Folder(emptyState(to.session));
    this.#tools = new UnusedTools(to.run.tools);
    this.#results = new SeenResults(to.run.requests);
  }

  write(): readonly LogRecord[] {
    const { session, run } = this.#to;
    const { startMs, endMs, error, isEnded, requests } = run;
    const id = runId(session);
    const trace = traceContext(`00-${run.trace}-${run.span}-01`);
    this.#add(startMs, [runStarted(id, trace)]);
    const turns = turnsOf(requests);
    let stop: Stop = { reason: 'stop' };
    for (const [index, turn] of turns.entries())
      stop = this.#writeTurn(index + 1, turn, turns[index - 1]);
    this.#writeOtherTools();
    if (error !== undefined && stop.reason !== 'error' && !isAbort(error))
      this.#add(endMs, [at(0, 0, { type: 'error_reported', error })]);
    if (error !== undefined) stop = stopOfError(error);
    if (stop.reason === 'aborted') this.#add(endMs, [at(0, 0, { type: 'aborted' })]);
    if (stop.reason === 'tool_use') stop = { reason: 'stop' };
    if (!isEnded) stop = { reason: 'aborted', cause: 'interrupted' };
    this.#add(endMs, [at(0, 0, { type: 'run_finished', runId: id, stop })]);
    return this.#records;
  }

  get #state(): FoldState {
    return this.#folder.state;
  }

  /** Adds records with a time. Times are for display: records of parallel work are not in the order of time. */
  #add(timeMs: number, drafts: readonly DraftRecord[]): void {
    for (const draft of drafts) {
      const legal = validate(this.#state, draft);
      if (legal === undefined) continue;
      const offset = this.#records.length + 1;
      const time = Math.max(0, Math.floor(timeMs)) || 0;
      const head = { v: recordVersion, offset, time, producer: 'trace' };
      const record = { ...head, ...legal } as LogRecord;
      this.#folder.addBatch({ after: offset - 1, through: offset, records: [record] });
      this.#records.push(record);
    }
  }

  #writeTurn(turn: number, { failed, last }: PlannedTurn, before: PlannedTurn | undefined): Stop {
    const all = [...failed, last];
    const { startMs } = all[0]?.span ?? last.span;
    for (const { span } of all) this.#writeInput(startMs, span.work.input);
    this.#add(startMs, [at(turn, 0, { type: 'turn_started' })]);
    const to = last.agent;
    if (before !== undefined && to !== undefined && to !== before.last.agent)
      this.#add(startMs, [at(turn, 0, { type: 'handed_off', to: clipText(to, 200) })]);
    for (const [index, { span }] of failed.entries()) {
      const next = all[index + 1]?.span ?? last.span;
      this.#writeFailed(turn, index + 1, span, Math.max(0, next.startMs - span.endMs));
    }
    const attempt = all.length;
    const parts = this.#answerParts(last.span.work.output);
    const stop = this.#writeAnswer(turn, attempt, last.span, parts);
    const endMs = this.#writeCalls(turn, attempt, last.span, parts);
    this.#add(endMs, [at(turn, 0, { type: 'turn_finished', stop })]);
    return stop;
  }

  /** Writes the messages of a request that the session does not have yet. */
  #writeInput(timeMs: number, input: readonly TracedItem[]): void {
    for (const { kind, parts } of this.#content.newIn(input)) {
      const itemId = this.#ids.item();
      const { metadata } = this.#to;
      const isFirst = kind === 'user' && !this.#hasMessage;
      if (isFirst) this.#hasMessage = true;
      const noted = isFirst && metadata !== undefined ? { metadata } : {};
      this.#add(timeMs, [at(0, 0, { type: 'item_started', itemId, kind, ...noted })]);
      const writer = new DeltaWriter({ itemId, turn: 0, attempt: 0, ids: this.#ids });
      for (const part of parts) writer.whole(part);
      const deltas = writer.take().map((delta) => ({ turn: 0, attempt: 0, delta }));
      this.#add(timeMs, [...deltas, at(0, 0, { type: 'item_finished', itemId })]);
    }
  }

  #startResponse(turn: number, attempt: number, { startMs, work }: SpanOf<RequestWork>) {
    const itemId = this.#ids.item();
    const { provider, model, tools } = work;
    this.#add(startMs, [
      at(turn, attempt, { type: 'item_started', itemId, kind: 'assistant' }),
      at(turn, attempt, {
        ...{ type: 'response_started', itemId, provider, model },
        ...(tools && { tools }),
      }),
    ]);
    return itemId;
  }

  #writeFailed(turn: number, attempt: number, span: SpanOf<RequestWork>, delayMs: number): void {
    const { endMs, work, error = noAnswer } = span;
    this.#startResponse(turn, attempt, span);
    this.#add(endMs, [
      at(turn, attempt, { type: 'usage_reported', usage: work.usage }),
      at(turn, attempt, { type: 'attempt_superseded', reason: error.code }),
      at(turn, attempt, { type: 'retry_scheduled', error, delayMs: Math.floor(delayMs) }),
    ]);
  }

  #writeAnswer(
    turn: number,
    attempt: number,
    span: SpanOf<RequestWork>,
    parts: readonly Part[],
  ): Stop {
    const { endMs, work, error } = span;
    const itemId = this.#startResponse(turn, attempt, span);
    const writer = new DeltaWriter({ itemId, turn, attempt, ids: this.#ids });
    const isFirstKnown = work.firstContentMs !== undefined;
    for (const part of parts) {
      if (part.kind !== 'text' && part.kind !== 'reasoning') writer.whole(part);
      else if (isFirstKnown) {
        const open = part.kind === 'text' ? writer.text() : writer.reasoning(part.form);
        open.append(part.text);
        open.commit();
      } else writer.whole(part);
    }
    const deltas = writer.take().map((delta): DraftRecord => ({ turn, attempt, delta }));
    const first = deltas.findIndex(({ delta }) => delta?.type === 'append_text') + 1;
    const startCount = isFirstKnown ? first : 0;
    this.#add(work.firstContentMs ?? endMs, deltas.slice(0, startCount));
    this.#add(endMs, deltas.slice(startCount));
    const stop = error === undefined ? work.stop : stopOfError(error);
    if (error !== undefined && !isAbort(error))
      this.#add(endMs, [at(turn, attempt, { type: 'error_reported', error })]);
    this.#add(endMs, [responseFinished({ turn, attempt }, itemId, stop, work.usage, work.details)]);
    return stop;
  }

  /** Returns the parts of an answer. A second call with the same id gets another id. */
  #answerParts(output: readonly Part[]): readonly Part[] {
    const used = new Set<string>();
    return output.map((part) => {
      this.#content.add('assistant', part);
      if (part.kind !== 'tool_call') return part;
      let id = part.toolCallId;
      for (let count = 2; used.has(id); count++) id = toolCallId(`${part.toolCallId}~${count}`);
      used.add(id);
      return { ...part, toolCallId: id };
    });
  }

  /** Writes the executions and results of the calls of an answer. Returns the time of the last end. */
  #writeCalls(turn: number, attempt: number, request: SpanOf<RequestWork>, parts: readonly Part[]) {
    const calls = parts.filter((part) => part.kind === 'tool_call');
    const slots = new ResultSlots({ turn, attempt }, this.#ids, undefined, this.#state);
    // The results are reserved in the order of the calls. Executions are written in the order of time.
    if (calls.length > 0) this.#add(request.endMs, slots.reserve(calls));
    const steps: { readonly timeMs: number; readonly write: () => void }[] = [];
    let endMs = request.endMs;
    for (const call of calls) {
      const span = this.#tools.take(call, request.startMs);
      const part = resultOf(call, span, this.#results.after(request, call));
      this.#content.add('tool', part);
      const fill = () => slots.fill(part);
      if (span === undefined) {
        const rejected = noExecution(turn, attempt, call, part);
        const write = () => this.#add(request.endMs, [...rejected, ...fill()]);
        steps.push({ timeMs: request.endMs, write });
        continue;
      }
      endMs = Math.max(endMs, span.endMs);
      const { start, end } = this.#execution(turn, attempt, call, span, fill);
      steps.push({ timeMs: span.startMs, write: start }, { timeMs: span.endMs, write: end });
    }
    steps.sort((one, other) => one.timeMs - other.timeMs);
    for (const { write } of steps) write();
    this.#add(endMs, slots.finish(this.#state));
    return endMs;
  }

  /** Returns the functions that write the start and the end of an execution. */
  #execution(
    turn: number,
    attempt: number,
    { toolCallId: id, name }: Pick<ToolCallPart, 'toolCallId' | 'name'>,
    span: SpanOf<ToolWork>,
    result: () => readonly DraftRecord[],
  ) {
    const { startMs, endMs, work, error } = span;
    const number = ++this.#executions;
    const about = { toolCallId: id, name, executionId: executionId(`execution${number}`) };
    const child = this.#to.children.get(span.id);
    const summary = summaryOf(name, work.input);
    const started = { type: 'tool_execution_started', ...about, summary } as const;
    const ended = { type: 'tool_execution_finished', ...about, outcome: 'completed' } as const;
    const link = child && { child: child.session, parent: this.#to.session };
    const begin = at(turn, attempt, { ...started, ...link });
    return {
      start: () => this.#add(startMs, [begin]),
      end: () => {
        if (child !== undefined)
          this.#add(endMs, childUsage({ turn, attempt }, { toolCallId: id, name }, child));
        this.#add(endMs, result());
        this.#add(endMs, [at(turn, attempt, { ...ended, isError: error !== undefined })]);
      },
    };
  }

  /** Writes executions that no model asked for, for example after an approval in an earlier run. */
  #writeOtherTools(): void {
    for (const span of this.#tools.rest) {
      const call = { toolCallId: toolCallId(span.work.callId ?? span.id), name: span.work.name };
      const { start, end } = this.#execution(0, 0, call, span, () => []);
      start();
      end();
    }
  }
}

/** Returns one line about an execution for people. */
function summaryOf(name: string, input: string | undefined): string {
  const line = (input ?? '').replaceAll(/\s+/g, ' ').trim();
  if (line === '' || line === '{}') return name;
  return line.length > 200 ? `${line.slice(0, 200)}…`.toWellFormed() : line.toWellFormed();
}

const noAnswer: ErrorInfo = { code: 'unknown', message: 'The request has no answer' };

/** A stop of the program is not an error. */
function isAbort({ code }: ErrorInfo): boolean {
  return code === 'aborted';
}

function stopOfError(error: ErrorInfo): Stop {
  return isAbort(error) ? { reason: 'aborted' } : { reason: 'error', cause: error.code };
}

function at(turn: number, attempt: number, fact: NonNullable<DraftRecord['fact']>): DraftRecord {
  return { turn, attempt, fact };
}

/** Groups requests to turns. A request that failed and has no output is an attempt at the next request. */
function turnsOf(requests: readonly PlannedRequest[]): readonly PlannedTurn[] {
  const turns: PlannedTurn[] = [];
  let failed: PlannedRequest[] = [];
  for (const [index, request] of requests.entries()) {
    const { error, work, endMs } = request.span;
    const next = requests[index + 1];
    const isRetried =
      error !== undefined &&
      work.output.length === 0 &&
      next !== undefined &&
      next.agent === request.agent &&
      next.span.startMs >= endMs;
    if (isRetried) failed.push(request);
    else {
      turns.push({ failed, last: request });
      failed = [];
    }
  }
  return turns;
}

function resultOf(
  call: ToolCallPart,
  span: SpanOf<ToolWork> | undefined,
  seen: ToolResultPart | undefined,
): ToolResultPart {
  const { toolCallId: id, name } = call;
  const isError = span?.error !== undefined || (seen?.isError ?? false);
  const text = seen?.text ?? span?.work.result ?? span?.error?.message;
  if (text === undefined) return errorResult(call, missingResult);
  return { kind: 'tool_result', toolCallId: id, name, text: clipText(text), isError };
}

const missingResult = 'The trace has no result of this call.';

/** A call without an execution and without a result was not run. */
function noExecution(
  turn: number,
  attempt: number,
  { toolCallId: id, name }: ToolCallPart,
  { text }: ToolResultPart,
): readonly DraftRecord[] {
  if (text !== missingResult) return [];
  const about = { toolCallId: id, name, code: 'aborted', message: missingResult } as const;
  return [at(turn, attempt, { type: 'tool_call_rejected', ...about })];
}

/** Returns the usage of all requests of a sub-agent. */
function childUsage(
  { turn, attempt }: { readonly turn: number; readonly attempt: number },
  call: Pick<ToolCallPart, 'toolCallId' | 'name'>,
  { session, run }: WrittenChild,
): readonly DraftRecord[] {
  return turnsOf(run.requests).flatMap(({ failed, last }, index) =>
    [...failed, last].map(({ span, agent }, number) => {
      const { provider, model, usage } = span.work;
      const name = clipText(agent ?? run.agent ?? call.name, 200);
      const of = { session, agent: name, turn: index + 1, attempt: number + 1, provider, model };
      return at(turn, attempt, { type: 'child_usage_reported', ...call, of, usage });
    }),
  );
}
