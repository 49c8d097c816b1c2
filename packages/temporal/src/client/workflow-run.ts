import type {
  ApproveOptions,
  DenyOptions,
  Run,
  RunInput,
  RunResult,
  UiStreamOptions,
} from '@millrace/agent';
import { runStreams } from '@millrace/agent/steps';
import {
  type AgentEvent,
  agentEvents,
  encodeTranscript,
  Folder,
  type Item,
  isMillraceError,
  itemId,
  type JsonObject,
  noUsage,
  parseJson,
  type RunId,
  type SessionId,
  type Stop,
  type ToolCallId,
  type TraceContext,
} from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';

interface WorkflowRunOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly input: readonly Item[];
  /**
   * If already aborted at the start, the run is stopped. If aborted later, the client stops
   * following the run.
   */
  readonly signal?: AbortSignal | undefined;
  readonly trace?: TraceContext | undefined;
  readonly wake: (session: SessionId, trace?: TraceContext) => Promise<void>;
  /** Resolves when the workflow ends, and rejects if it failed. */
  readonly result: (session: SessionId, until: AbortSignal) => Promise<void>;
}

/** A run that a workflow drives, seen by a client. The log is the only source of its state. */
export class WorkflowRun implements Run {
  readonly session: SessionId;
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

  /** Like `events`, these streams start with the current state of the session. */
  #streams(): ReturnType<typeof runStreams> {
    const { log, session } = this.#options;
    const initialState = snapshot(log, session);
    initialState.catch(() => {});
    const source = { log, initialState, ended: this.#closed.signal, through: () => this.#through };
    return runStreams(source, this.result);
  }

  abort(reason?: string): Promise<void> {
    return this.#submit({ type: 'abort', ...(reason !== undefined && { reason }) });
  }

  steer(input: RunInput): Promise<void> {
    return this.#sendMessage(inputItems(input), 'steer');
  }

  followUp(input: RunInput): Promise<void> {
    return this.#sendMessage(inputItems(input), 'follow_up');
  }

  compact(): Promise<void> {
    return this.#submit({ type: 'compact' });
  }

  approve(toolCallId: ToolCallId, options: ApproveOptions = {}): Promise<void> {
    return this.#submit({ type: 'approve', toolCallId, ...toJsonObject(options) });
  }

  deny(toolCallId: ToolCallId, options: DenyOptions = {}): Promise<void> {
    return this.#submit({ type: 'deny', toolCallId, ...toJsonObject(options) });
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

  #sendMessage(items: readonly Item[], when: 'steer' | 'follow_up'): Promise<void> {
    const parsed = parseJson(encodeTranscript(items));
    const json = parsed.ok ? ((parsed.value as JsonObject)['items'] ?? []) : [];
    const { trace } = this.#options;
    const sent = trace && { trace: { ...trace } };
    return this.#submit({ type: 'message', when, items: json, ...sent });
  }

  async #submit(command: JsonObject): Promise<void> {
    const { log, session, wake, trace } = this.#options;
    await log.submit(session, command, `workflow-run:${crypto.randomUUID()}`);
    await wake(session, trace);
  }

  async #run(): Promise<RunResult> {
    const { log, session, signal, wake, trace, input, result } = this.#options;
    const info = await log.info(session);
    if (info?.isClosed) return endedResult(session, { reason: 'error', cause: 'session_closed' });
    const from = info?.through ?? 0;
    if (signal?.aborted) await this.abort(String(signal.reason));
    else if (input.length > 0) await this.#sendMessage(input, 'follow_up');
    else await wake(session, trace);
    const leave = () => this.#closed.abort();
    signal?.addEventListener('abort', leave);
    try {
      const isLeft = { reason: 'parked', cause: 'left' } as const;
      // A workflow that ends normally writes its end to the log. A failed workflow may not.
      const lost = new Promise<never>(
        (_resolve, reject) => void result(session, this.#closed.signal).catch(reject),
      );
      lost.catch(() => {});
      const stop = await Promise.race([this.#follow(from), lost]);
      return endedResult(session, stop ?? isLeft);
    } finally {
      signal?.removeEventListener('abort', leave);
      this.#closed.abort();
    }
  }

  /** Follows the log to the end of the last run. Wakes the workflow for every new command. */
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
      const isOpenEnd = !['aborted', 'error', 'limit'].includes(last.stop.reason);
      if (!isOpenEnd || !(await log.info(session))?.hasWork) return last.stop;
    }
    return undefined;
  }
}

function toJsonObject(options: object): JsonObject {
  const parsed = parseJson(JSON.stringify(options));
  return parsed.ok ? (parsed.value as JsonObject) : {};
}

function endedResult(session: SessionId, stop: Stop): RunResult {
  const error = { code: stop.cause ?? stop.reason, message: `The run ended: ${stop.reason}` };
  const why = stop.reason === 'error' ? { error } : {};
  return { session, stop, text: '', items: [], usage: noUsage, ...why };
}

/**
 * Errors of Temporal may contain internal details. They are only in the result's `cause`, for this
 * process.
 */
function failedResult(session: SessionId, cause: unknown): RunResult {
  const code = isMillraceError(cause) ? cause.code : 'workflow';
  const message = 'Cannot continue: the workflow failed or is not reachable';
  const stop = { reason: 'error', cause: code } as const;
  const error = { code, message };
  return { session, stop, text: '', items: [], usage: noUsage, error, cause };
}

/** Converts an input text to a user item. */
export function inputItems(input: RunInput): readonly Item[] {
  if (typeof input === 'string') {
    const id = itemId(crypto.randomUUID());
    return [{ id, kind: 'user', parts: [{ kind: 'text', text: input }] }];
  }
  return isList(input) ? input : [input];
}

function isList(input: Item | readonly Item[]): input is readonly Item[] {
  return Array.isArray(input);
}
