import {
  AgentError,
  type ApproveOptions,
  type ClientToolResult,
  type DenyOptions,
  type InputOfCall,
  type PendingApproval,
  type PendingToolCall,
  type Run,
  RunError,
  type RunInput,
  type RunResult,
  type UiStreamOptions,
} from '@millrace/agent';
import {
  approveCommand,
  createRunResult,
  denyCommand,
  encodeItems,
  runStreams,
  startsQueuedInput,
  submitToolResult,
  toItems,
  toolOutputCommand,
} from '@millrace/agent/steps';
import {
  type AgentEvent,
  agentEvents,
  type ErrorInfo,
  Folder,
  type Item,
  isMillraceError,
  itemId,
  type JsonObject,
  noUsage,
  type RunId,
  type SessionId,
  type Stop,
  type TraceContext,
  transcript,
} from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';

interface WorkflowRunOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly input: readonly Item[];
  /**
   * If the signal is already aborted at the start, the client stops the run. If the signal aborts later, the
   * client only stops following the run.
   */
  readonly signal?: AbortSignal | undefined;
  readonly trace?: TraceContext | undefined;
  readonly wake: (session: SessionId, trace?: TraceContext) => Promise<void>;
  /** Resolves when the workflow ends, and rejects if it failed. */
  readonly result: (session: SessionId, until: AbortSignal) => Promise<void>;
}

/** A run that a workflow drives, for use in a client. Its whole state comes from the log. */
export class WorkflowRun implements Run {
  readonly session: SessionId;
  /** Always undefined, because a workflow drives the session, and this process has no lease. */
  readonly epoch: Promise<undefined> = Promise.resolve(undefined);
  readonly result: Promise<RunResult>;
  readonly #options: WorkflowRunOptions;
  readonly #closed = new AbortController();
  #id: RunId = '' as RunId;
  #through = 0;

  constructor(options: WorkflowRunOptions) {
    this.#options = options;
    this.session = options.session;
    this.result = this.#run().catch((error: unknown) => failedResult(this.session, error));
  }

  get id(): RunId {
    return this.#id;
  }

  get events(): AsyncIterable<AgentEvent> {
    const events = this.#events.bind(this);
    return { [Symbol.asyncIterator]: events };
  }

  toReadableStream(): ReadableStream<AgentEvent> {
    return this.#streams().toReadableStream();
  }

  toEventStream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#streams().toEventStream();
  }

  toUIMessageStreamResponse(options?: UiStreamOptions): Response {
    return this.#streams().toUIMessageStreamResponse(options);
  }

  /** Returns the streams of the run. They start with the current state of the session, like `events`. */
  #streams(): ReturnType<typeof runStreams> {
    const { log, session } = this.#options;
    const initialState = snapshot(log, session);
    initialState.catch(() => {});
    const ended = this.#closed.signal;
    const source = { log, initialState, ended, through: () => this.#through, answered: () => [] };
    return runStreams(source, this.result);
  }

  abort(reason?: string): Promise<void> {
    return this.#submit(() => ({ type: 'abort', ...(reason !== undefined && { reason }) }));
  }

  steer(input: RunInput): Promise<void> {
    return this.#sendMessage(input, 'steer');
  }

  followUp(input: RunInput): Promise<void> {
    return this.#sendMessage(input, 'follow_up');
  }

  compact(): Promise<void> {
    return this.#submit(() => ({ type: 'compact' }));
  }

  approve<const Call extends string | PendingApproval>(
    call: Call,
    options: ApproveOptions<InputOfCall<Call>> = {},
  ): Promise<void> {
    return this.#submit(() => encode(approveCommand(call, options)));
  }

  deny(call: string | PendingApproval, options: DenyOptions = {}): Promise<void> {
    return this.#submit(() => encode(denyCommand(call, options)));
  }

  async provideToolResult(
    call: string | PendingToolCall,
    result: ClientToolResult<unknown>,
  ): Promise<void> {
    const { log, session, wake } = this.#options;
    await submitToolResult(log, session, { command: toolOutputCommand(call, result) });
    await wake(session);
  }

  async text(): Promise<string> {
    const result = await this.result;
    if (result.reason === 'stop') return result.text;
    throw new RunError(result);
  }

  async value(): Promise<unknown> {
    const result = await this.result;
    if (result.reason !== 'stop') throw new RunError(result);
    if (result.value === undefined) throw noValue(this.session);
    return result.value;
  }

  async *#events(): AsyncGenerator<AgentEvent> {
    const { log, session } = this.#options;
    const folder = new Folder(await snapshot(log, session));
    const from = folder.state.through;
    for await (const batch of log.follow(session, { from, signal: this.#closed.signal })) {
      const events: AgentEvent[] = [];
      folder.addBatch(batch, (before, record, after) => {
        events.push(...agentEvents(before, record, after));
      });
      yield* events;
    }
  }

  #sendMessage(input: RunInput, when: 'steer' | 'follow_up'): Promise<void> {
    const { trace } = this.#options;
    const sent = trace && { trace: { ...trace } };
    return this.#submit(() => {
      return { type: 'message', when, items: encodeItems(inputItems(input)), ...sent };
    });
  }

  /** Submits a command to the log and wakes the workflow. Rejects if the command is invalid. */
  async #submit(commandOf: () => JsonObject): Promise<void> {
    const { log, session, wake, trace } = this.#options;
    await log.submit(session, commandOf(), `workflow-run:${crypto.randomUUID()}`);
    await wake(session, trace);
  }

  async #run(): Promise<RunResult> {
    const { log, session, signal, wake, trace, input, result } = this.#options;
    const info = await log.info(session);
    const from = info?.through ?? 0;
    if (info?.isClosed)
      return this.#resultSince(from, { reason: 'error', cause: 'session_closed' });
    if (signal?.aborted) await this.abort(String(signal.reason));
    else if (input.length > 0) await this.#sendMessage(input, 'follow_up');
    else await wake(session, trace);
    const leave = () => this.#closed.abort();
    signal?.addEventListener('abort', leave);
    try {
      const isLeft = { reason: 'parked', cause: 'left' } as const;
      // A workflow that ends normally writes the end of its run to the log. A failed workflow may not do
      // this, so its failure ends the wait.
      const lost = new Promise<never>(
        (_resolve, reject) => void result(session, this.#closed.signal).catch(reject),
      );
      lost.catch(() => {});
      const stop = await Promise.race([this.#follow(from), lost]);
      return await this.#resultSince(from, stop ?? isLeft);
    } finally {
      signal?.removeEventListener('abort', leave);
      this.#closed.abort();
    }
  }

  /** Computes the result from the records after an offset. */
  async #resultSince(from: number, stop: Stop): Promise<RunResult> {
    const { log, session, input } = this.#options;
    const folder = new Folder(session);
    let before = folder.state;
    let error: ErrorInfo | undefined;
    for (let through = -1; through !== folder.state.through; ) {
      through = folder.state.through;
      folder.addBatch(
        await log.read(session, { from: through }),
        (_before, { offset, fact }, after) => {
          if (offset <= from) before = after;
          else if (fact?.type === 'error_reported') error = fact.error;
        },
      );
    }
    const last = transcript(folder.state).findLast(({ kind }) => kind === 'assistant');
    const value = last?.parts.findLast((part) => part.kind === 'structured')?.value;
    const outcome = { value, error, cause: undefined };
    return createRunResult(before, folder.state, stop, input, outcome);
  }

  /** Follows the log until the last run has ended. It wakes the workflow for every new command. */
  async #follow(from: number): Promise<Stop | undefined> {
    const { log, session, wake } = this.#options;
    const signal = this.#closed.signal;
    for await (const { records, through } of log.follow(session, { from, signal })) {
      this.#through = through;
      const facts = records.flatMap(({ fact }) => fact ?? []);
      if (facts.some(({ type }) => type === 'command_queued')) await wake(session);
      for (const fact of facts) if (fact.type === 'run_started') this.#id = fact.runId;
      const last = facts.findLast(({ type }) => type === 'run_finished' || type === 'run_started');
      if (last?.type !== 'run_finished') continue;
      if (!startsQueuedInput(last.stop) || !(await log.info(session))?.hasWork) return last.stop;
    }
    return undefined;
  }
}

function encode(command: object): JsonObject {
  return JSON.parse(JSON.stringify(command)) as JsonObject;
}

function noValue(session: SessionId): AgentError {
  const message = `Cannot get a value from the run of session ${session}: its answer is not structured. Pass output to createAgent on the worker`;
  return new AgentError('bad_option', message, { session, option: 'output' });
}

/**
 * Returns the result of a failed workflow. Errors of Temporal may contain internal details. For this reason,
 * only the `cause` of the result contains the error, and only in this process.
 */
function failedResult(session: SessionId, cause: unknown): RunResult {
  const code = isMillraceError(cause) ? cause.code : 'workflow';
  const message = 'Cannot continue: the workflow failed or is not reachable';
  const reason = 'error';
  const stop = { reason, cause: code } as const;
  const nothing = {
    text: '',
    items: [],
    toolCalls: [],
    pendingApprovals: [],
    pendingToolCalls: [],
  };
  const counts = { usage: noUsage, usageByAgent: [] };
  return { session, reason, stop, ...nothing, ...counts, error: { code, message }, cause };
}

/** Converts the input of a run to items. Throws `bad_input` if the input is invalid. */
export function inputItems(input: RunInput): readonly Item[] {
  return toItems(input, { item: () => itemId(crypto.randomUUID()) });
}
