import { type ErrorInfo, noUsage, type Part, type Usage } from '@millrace/core';
import { redactKeys } from '@millrace/providers';
import type { DevtoolsOptions, RequestWork, TracedItem, TracedWork } from './contract.ts';
import {
  clipText,
  countIn,
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

/** The part of a trace of the OpenAI Agents SDK that `openaiAgentsSessions` uses. */
export interface AgentsTrace {
  readonly traceId: string;
  readonly name: string;
  readonly groupId: string | null;
}

/** The part of a span of the OpenAI Agents SDK that `openaiAgentsSessions` uses. */
export interface AgentsSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly error: {
    readonly message: string;
    readonly data?: Readonly<Record<string, unknown>>;
  } | null;
  readonly spanData: { readonly type: string };
}

/** A `TracingProcessor` of the OpenAI Agents SDK. */
export interface OpenaiAgentsSessions {
  onTraceStart(trace: AgentsTrace): Promise<void>;
  onTraceEnd(trace: AgentsTrace): Promise<void>;
  onSpanStart(span: AgentsSpan): Promise<void>;
  onSpanEnd(span: AgentsSpan): Promise<void>;
  /** Resolves when all traces that ended are stored. */
  forceFlush(): Promise<void>;
  /** Stores all traces. Runs that have not ended count as interrupted. */
  shutdown(): Promise<void>;
}

/**
 * Creates a tracing processor for the OpenAI Agents SDK that stores each trace as a session. An agent that is used as
 * a tool is the session of a sub-agent. The SDK reports content only if `traceIncludeSensitiveData` is true.
 *
 * @example setTraceProcessors([openaiAgentsSessions({ log })]);
 */
export function openaiAgentsSessions(options: DevtoolsOptions): OpenaiAgentsSessions {
  const sessions = new TraceSessions('openaiAgentsSessions', options);
  const traces = new OpenTraces();
  return {
    async onTraceStart({ traceId }) {
      traces.start(traceId);
    },
    async onTraceEnd({ traceId, groupId, name }) {
      const { startMs, endMs, error } = traces.end(traceId);
      const work = { type: 'agent', name, conversation: groupId ?? undefined } as const;
      const ids = { trace: idOf(traceId, 'trace'), id: idOf(traceId, 'trace'), parent: undefined };
      if (startMs <= endMs) sessions.add({ ...ids, startMs, endMs, error, work, size: 0 });
      sessions.end(ids.trace);
    },
    async onSpanStart() {},
    async onSpanEnd(span) {
      const { traceId, parentId, spanId } = span;
      const [startMs, endMs] = [timeOf(span.startedAt), timeOf(span.endedAt)];
      if (startMs === undefined || endMs === undefined) return;
      const error = errorOf(span);
      const work = workOf(fieldsOf(span.spanData));
      traces.note(traceId, { startMs, endMs, error: parentId === null ? error : undefined });
      const [trace, id] = [idOf(traceId, 'trace'), idOf(spanId, 'span')];
      const size = work.type === 'request' ? sizeOf(work.output) : 0;
      sessions.add({ trace, id, parent: parentId ?? trace, startMs, endMs, error, work, size });
    },
    forceFlush: () => sessions.flush(),
    shutdown: () => sessions.close(),
  };
}

interface TraceTimes {
  readonly startMs: number;
  readonly endMs: number;
  readonly error: ErrorInfo | undefined;
}

/** Maximum number of traces whose times are kept. The times of the oldest trace are dropped if there are more. */
const maxTraces = 1000;

/** The times of traces, from their spans, because a trace of the SDK has no times. */
class OpenTraces {
  readonly #times = new Map<string, TraceTimes>();

  start(id: string): void {
    const [oldest] = this.#times.keys();
    if (this.#times.size >= maxTraces && oldest !== undefined) this.#times.delete(oldest);
    this.#times.set(id, noTimes);
  }

  note(id: string, { startMs, endMs, error }: TraceTimes): void {
    const known = this.#times.get(id);
    if (known === undefined) return;
    this.#times.set(id, {
      startMs: Math.min(known.startMs, startMs),
      endMs: Math.max(known.endMs, endMs),
      error: error ?? known.error,
    });
  }

  end(id: string): TraceTimes {
    const times = this.#times.get(id) ?? noTimes;
    this.#times.delete(id);
    return times;
  }
}

const noTimes: TraceTimes = {
  ...{ startMs: Number.POSITIVE_INFINITY, endMs: Number.NEGATIVE_INFINITY, error: undefined },
};

function timeOf(text: string | null): number | undefined {
  const time = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

function errorOf({ error }: AgentsSpan): ErrorInfo | undefined {
  if (error === null || error === undefined) return undefined;
  const why = textIn(error.data?.['error']);
  const message = why === undefined ? error.message : `${error.message}: ${why}`;
  return { code: 'error', message: clipText(redactKeys(String(message)), 2000) };
}

function sizeOf(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + ('text' in part ? part.text.length : 0), 0);
}

type Fields = Readonly<Record<string, unknown>>;

function workOf(data: Fields): TracedWork {
  switch (data['type']) {
    case 'agent':
      return { type: 'agent', name: textIn(data['name']) };
    case 'function': {
      const { name, input, output } = data;
      const result = output === undefined ? undefined : clipText(textOf(output));
      // The SDK does not report the id of the call.
      const about = { name: idOf(name, 'tool'), callId: undefined, input: textIn(input) };
      return { type: 'tool', ...about, result };
    }
    case 'response':
      return responseWork(data);
    case 'generation':
      return generationWork(data);
    default:
      return { type: 'other' };
  }
}

/** Reads a request of the Responses API. */
function responseWork({ _input, _response, response_id: id }: Fields): RequestWork {
  const response = fieldsOf(_response);
  const output = readAnswer(response['output']);
  const tools = listOf(response['tools']);
  const responseId = textIn(response['id'] ?? id);
  return {
    ...{ type: 'request', provider: 'openai', model: idOf(response['model'], 'unknown') },
    input: [...readInstructions(response['instructions'] ?? undefined), ...readMessages(_input)],
    ...{ output, stop: stopOf(response['status'] ?? undefined, output) },
    usage: usageOf(fieldsOf(response['usage'])),
    details: { ...(responseId && { responseId }) },
    ...(tools.length > 0 && { tools: namesOf(tools) }),
  };
}

/** Reads a request of Chat Completions, or of a model of another vendor. */
function generationWork({ model, input, output: given, usage }: Fields): RequestWork {
  const completions = listOf(given).map(fieldsOf);
  const choices = completions.flatMap((one) => listOf(one['choices']).map(fieldsOf));
  const messages = choices.map((choice) => choice['message']);
  const output = readAnswer(messages.length === 0 ? given : messages);
  const reported = usage ?? completions[0]?.['usage'];
  const items: readonly TracedItem[] = readMessages(input);
  return {
    ...{ type: 'request', provider: 'openai', model: idOf(model, 'unknown'), input: items },
    ...{ output, stop: stopOf(choices[0]?.['finish_reason'] ?? undefined, output) },
    usage: usageOf(fieldsOf(reported)),
  };
}

function namesOf(tools: readonly unknown[]): readonly string[] {
  return tools.flatMap((tool) => idOf(fieldsOf(tool)['name'], '') || []);
}

/** Reads the usage of both APIs. */
function usageOf(usage: Fields): Usage {
  const input = fieldsOf(usage['input_tokens_details'] ?? usage['prompt_tokens_details']);
  const output = fieldsOf(usage['output_tokens_details'] ?? usage['completion_tokens_details']);
  return {
    ...noUsage,
    input: countIn(usage['input_tokens'] ?? usage['prompt_tokens']),
    output: countIn(usage['output_tokens'] ?? usage['completion_tokens']),
    ...{
      cacheRead: countIn(input['cached_tokens']),
      reasoning: countIn(output['reasoning_tokens']),
    },
  };
}
