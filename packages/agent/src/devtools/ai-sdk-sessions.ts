import { type ErrorInfo, noUsage, type Part, type Usage } from '@millrace/core';
import { type Clock, redactKeys, systemClock } from '@millrace/providers';
import type { DevtoolsOptions, RequestWork, TracedSpan, TracedWork } from './contract.ts';
import {
  clipText,
  countIn,
  errorText,
  fieldsOf,
  idOf,
  listOf,
  readAnswer,
  readInstructions,
  readMessages,
  stopOf,
  textIn,
  textOf,
} from './read-messages.ts';
import { TraceSessions } from './trace-sessions.ts';

// The types of the AI SDK are not used, so that this package compiles without it. All events are read as unknown
// values. The AI SDK has already removed what the options `recordInputs` and `recordOutputs` exclude.

/** A telemetry integration of the AI SDK 7, which also has methods to wait for the log. */
export interface AiSdkSessions {
  onStart(event: unknown): void;
  onLanguageModelCallStart(event: unknown): void;
  onLanguageModelCallEnd(event: unknown): void;
  onToolExecutionStart(event: unknown): void;
  onToolExecutionEnd(event: unknown): void;
  onEnd(event: unknown): void;
  onAbort(event: unknown): void;
  onError(event: unknown): void;
  executeLanguageModelCall<T>(options: {
    callId: string;
    execute: () => PromiseLike<T>;
  }): PromiseLike<T>;
  executeTool<T>(options: {
    callId: string;
    toolCallId: string;
    execute: () => PromiseLike<T>;
  }): PromiseLike<T>;
  /** Resolves when all calls that ended are stored. */
  flush(): Promise<void>;
  /** Stores all calls. Calls that have not ended count as interrupted. */
  close(): Promise<void>;
}

/** A call of `generateText` or `streamText` that has not ended. */
interface OpenCall {
  readonly id: string;
  /** The outermost call, and the tool in which this call runs. */
  readonly trace: string;
  readonly parent: string | undefined;
  readonly name: string | undefined;
  readonly startMs: number;
  /** The requests so far, which gives each request its own id. */
  requests: number;
  /** The request that has no answer yet. */
  request: OpenRequest | undefined;
  /** The times at which tools started, by the id of their call. */
  readonly tools: Map<unknown, number>;
}

interface OpenRequest {
  startMs: number;
  readonly event: Fields;
  /** True if the last attempt failed and is already recorded. */
  isRecorded: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** Maximum number of calls that have not ended. The oldest call is dropped if there are more. */
const maxOpenCalls = 10_000;

/**
 * Creates an integration for the telemetry of the AI SDK 7 that stores each call of `generateText`, `streamText` or
 * an agent as a session. A call in a tool of another call is the session of a sub-agent.
 *
 * @example registerTelemetry(aiSdkSessions({ log }));
 */
export function aiSdkSessions(options: DevtoolsOptions): AiSdkSessions {
  return new CallRecorder(new TraceSessions('aiSdkSessions', options), systemClock);
}

class CallRecorder implements AiSdkSessions {
  readonly #sessions: TraceSessions;
  readonly #clock: Clock;
  readonly #open = new Map<string, OpenCall>();
  /** The tool in which the current code runs. Undefined if the platform cannot tell. */
  readonly #tools = newAsyncStorage<{ readonly call: OpenCall; readonly tool: string }>();

  constructor(sessions: TraceSessions, clock: Clock) {
    this.#sessions = sessions;
    this.#clock = clock;
  }

  onStart = (event: unknown): void => {
    const { callId, operationId, functionId } = fieldsOf(event);
    const isText = /^ai\.(?:generateText|streamText)$/.test(String(operationId));
    if (typeof callId !== 'string' || !isText) return;
    const [oldest] = this.#open.keys();
    if (this.#open.size >= maxOpenCalls && oldest !== undefined) this.#open.delete(oldest);
    const { call, tool } = this.#tools?.getStore() ?? {};
    this.#open.set(callId, {
      ...{ id: idOf(callId, 'call'), trace: call?.trace ?? idOf(callId, 'call'), parent: tool },
      ...{ name: textIn(functionId), startMs: this.#timeOf(event), requests: 0 },
      ...{ request: undefined, tools: new Map() },
    });
  };

  onLanguageModelCallStart = (event: unknown): void => {
    const call = this.#callOf(event);
    if (call !== undefined)
      call.request = { startMs: this.#timeOf(event), event: fieldsOf(event), isRecorded: false };
  };

  onLanguageModelCallEnd = (event: unknown): void => {
    const call = this.#callOf(event);
    if (call?.request === undefined) return;
    const { startMs, event: start } = call.request;
    call.request = undefined;
    const fields = fieldsOf(event);
    const output = readAnswer([{ role: 'assistant', content: fields['content'] }]);
    const first = fieldsOf(fields['performance'])['timeToFirstOutputMs'];
    const responseId = textIn(fields['responseId']);
    const model = textIn(fields['modelId']);
    this.#addRequest(call, { startMs, endMs: this.#timeOf(event) }, start, {
      ...{ output, stop: stopOf(fields['finishReason'], output) },
      usage: usageOf(fieldsOf(fields['usage'])),
      details: { ...(responseId && { responseId }), ...(model && { model }) },
      ...(typeof first === 'number' && { firstContentMs: startMs + first }),
    });
  };

  onToolExecutionStart = (event: unknown): void => {
    const { toolCallId: id } = fieldsOf(fieldsOf(event)['toolCall']);
    this.#callOf(event)?.tools.set(id, this.#timeOf(event));
  };

  onToolExecutionEnd = (event: unknown): void => {
    const call = this.#callOf(event);
    if (call === undefined) return;
    const { toolCall, toolOutput } = fieldsOf(event);
    const { toolCallId: callId, toolName, input } = fieldsOf(toolCall);
    const { type, output, error } = fieldsOf(toolOutput);
    const endMs = this.#timeOf(event);
    const startMs = Math.min(call.tools.get(callId) ?? endMs, endMs);
    call.tools.delete(callId);
    const isError = type === 'tool-error';
    const result = isError ? errorText(error) : output;
    this.#add(call, {
      id: `${call.id} ${idOf(callId, 'tool')}`,
      ...{ startMs, endMs, ...(isError && errorOf(error)) },
      work: {
        ...{ type: 'tool', name: idOf(toolName, 'tool') },
        callId: idOf(callId, '') || undefined,
        input: input === undefined ? undefined : clipText(textOf(input)),
        result: result === undefined ? undefined : clipText(textOf(result)),
      },
    });
  };

  onEnd = (event: unknown): void => this.#end(this.#callOf(event), event);

  onAbort = (event: unknown): void => {
    const call = this.#callOf(event);
    this.#end(call, event, { code: 'aborted', message: 'The call was aborted' });
  };

  onError = (event: unknown): void => {
    const call = this.#callOf(event);
    this.#end(call, event, errorOf(fieldsOf(event)['error']).error);
  };

  /** Records attempts that fail, because the AI SDK repeats them without an event. */
  executeLanguageModelCall = async <T>({
    callId,
    execute,
  }: {
    callId: string;
    execute: () => PromiseLike<T>;
  }): Promise<T> => {
    const call = this.#open.get(callId);
    const startMs = this.#clock.now();
    if (call?.request !== undefined) Object.assign(call.request, { startMs, isRecorded: false });
    try {
      return await execute();
    } catch (error) {
      const { request } = call ?? {};
      if (call !== undefined && request !== undefined) {
        const times = { startMs, endMs: this.#clock.now(), ...errorOf(error) };
        request.isRecorded = true;
        this.#addRequest(call, times, request.event, noAnswer);
      }
      throw error;
    }
  };

  /** Connects the calls that a tool makes with the call that runs the tool. */
  executeTool = <T>({
    callId,
    toolCallId,
    execute,
  }: {
    callId: string;
    toolCallId: string;
    execute: () => PromiseLike<T>;
  }): PromiseLike<T> => {
    const call = this.#open.get(callId);
    if (call === undefined || this.#tools === undefined) return execute();
    return this.#tools.run({ call, tool: `${call.id} ${idOf(toolCallId, 'tool')}` }, execute);
  };

  flush = (): Promise<void> => this.#sessions.flush();

  close = (): Promise<void> => {
    for (const call of this.#open.values()) this.#endRequest(call, this.#clock.now(), interrupted);
    this.#open.clear();
    return this.#sessions.close();
  };

  #callOf(event: unknown): OpenCall | undefined {
    const { callId } = fieldsOf(event);
    return typeof callId === 'string' ? this.#open.get(callId) : undefined;
  }

  /** Events of durable workflows are reported later and have the time at which they happened. */
  #timeOf(event: unknown): number {
    const { timestamp } = fieldsOf(event);
    return typeof timestamp === 'number' ? timestamp : this.#clock.now();
  }

  #add(
    call: OpenCall,
    span: Pick<TracedSpan, 'id' | 'startMs' | 'endMs' | 'error' | 'work'>,
  ): void {
    const size = sizeOf(span.work);
    this.#sessions.add({ ...span, trace: call.trace, parent: call.id, size });
  }

  #addRequest(
    call: OpenCall,
    times: Pick<TracedSpan, 'startMs' | 'endMs' | 'error'>,
    start: Fields,
    end: Pick<RequestWork, 'output' | 'stop' | 'usage' | 'details' | 'firstContentMs'>,
  ): void {
    const tools = listOf(start['tools']);
    const names = tools.flatMap((tool) => idOf(fieldsOf(tool)['name'], '') || []);
    const work: RequestWork = {
      ...{ type: 'request', ...end },
      provider: idOf(start['provider'], 'unknown'),
      model: idOf(start['modelId'], 'unknown'),
      input: [...readInstructions(start['instructions']), ...readMessages(start['messages'])],
      ...(tools.length > 0 && { tools: names }),
    };
    this.#add(call, { ...times, id: `${call.id} request ${++call.requests}`, work });
  }

  /** Ends a request without an answer, for example a stream that failed after its start. */
  #endRequest(call: OpenCall, endMs: number, error: ErrorInfo): void {
    const { request } = call;
    call.request = undefined;
    if (request === undefined || request.isRecorded) return;
    this.#addRequest(call, { startMs: request.startMs, endMs, error }, request.event, noAnswer);
  }

  #end(call: OpenCall | undefined, event: unknown, error?: ErrorInfo): void {
    if (call === undefined) return;
    this.#open.delete(call.id);
    const endMs = this.#timeOf(event);
    if (error !== undefined) this.#endRequest(call, endMs, error);
    const { id, trace, parent, name, startMs } = call;
    const work = { type: 'agent', name } as const;
    this.#sessions.add({ id, trace, parent, startMs, endMs, error, work, size: 0 });
    if (parent === undefined) this.#sessions.end(trace);
  }
}

const interrupted: ErrorInfo = { code: 'aborted', message: 'The program ended before the call' };

const noAnswer: Pick<RequestWork, 'output' | 'stop' | 'usage'> = {
  ...{ output: [], stop: { reason: 'error' }, usage: noUsage },
};

function errorOf(error: unknown): { readonly error: ErrorInfo } {
  const { name, message } = error instanceof Error ? error : { name: 'error', message: '' };
  const text = message === '' ? textOf(errorText(error)) : message;
  const code = name === 'AbortError' ? 'aborted' : idOf(name, 'error');
  return { error: { code, message: clipText(redactKeys(text), 2000) } };
}

function usageOf(usage: Fields): Usage {
  const { cacheReadTokens, cacheWriteTokens } = fieldsOf(usage['inputTokenDetails']);
  return {
    ...noUsage,
    ...{ input: countIn(usage['inputTokens']), output: countIn(usage['outputTokens']) },
    ...{ cacheRead: countIn(cacheReadTokens), cacheWrite: countIn(cacheWriteTokens) },
    reasoning: countIn(fieldsOf(usage['outputTokenDetails'])['reasoningTokens']),
  };
}

/** The input of a request shares its texts with earlier requests, so only the output counts. */
function sizeOf(work: TracedWork): number {
  if (work.type === 'tool') return (work.input?.length ?? 0) + (work.result?.length ?? 0);
  const textLength = (part: Part) => ('text' in part ? part.text.length : 0);
  return work.type === 'request' ? work.output.reduce((sum, part) => sum + textLength(part), 0) : 0;
}

interface AsyncStorage<Value> {
  getStore(): Value | undefined;
  run<T>(value: Value, work: () => T): T;
}

interface Host {
  readonly process?: { getBuiltinModule?(name: string): unknown };
}

/** Creates the storage that follows asynchronous code, on platforms that have it. */
function newAsyncStorage<Value>(): AsyncStorage<Value> | undefined {
  const found = (globalThis as Host).process?.getBuiltinModule?.('node:async_hooks');
  const { AsyncLocalStorage } = (found ?? {}) as {
    readonly AsyncLocalStorage?: new () => AsyncStorage<Value>;
  };
  return AsyncLocalStorage && new AsyncLocalStorage();
}
