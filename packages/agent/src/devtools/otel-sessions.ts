import { type ErrorInfo, noUsage, type Usage } from '@millrace/core';
import { redactKeys } from '@millrace/providers';
import type { Attributes, HrTime, SpanContext, SpanStatus } from '../contract/telemetry.ts';
import type { DevtoolsOptions, TracedSpan, TracedWork } from './contract.ts';
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
} from './read-messages.ts';
import { TraceSessions } from './trace-sessions.ts';

/** The part of OpenTelemetry's `ReadableSpan` that `otelSessions` uses, of the SDK 1 and 2. */
export interface ExportedSpan {
  spanContext(): SpanContext;
  readonly parentSpanContext?: SpanContext;
  /** The id of the parent, in the SDK 1. */
  readonly parentSpanId?: string;
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly status: SpanStatus;
  readonly attributes: Attributes;
  readonly events?: readonly { readonly name: string; readonly attributes?: Attributes }[];
}

/** A `SpanExporter` of OpenTelemetry. */
export interface OtelSessions {
  /** Adds finished spans. Calls `done` when the traces that ended are stored. */
  export(spans: readonly ExportedSpan[], done: (result: { code: number }) => void): void;
  /** Resolves when all traces that ended are stored. */
  forceFlush(): Promise<void>;
  /** Stores all traces. Runs that have not ended count as interrupted. */
  shutdown(): Promise<void>;
}

/**
 * Creates an exporter for OpenTelemetry that stores the runs of any program as sessions. It reads the spans of the
 * conventions for generative AI: `invoke_agent`, `chat` and `execute_tool`. A run is stored when the outermost span of
 * its trace in this process has ended. The content comes from `gen_ai.input.messages`, `gen_ai.output.messages` and
 * `gen_ai.system_instructions`, which a program usually has to enable.
 *
 * @example
 * const provider = new NodeTracerProvider({
 *   spanProcessors: [new BatchSpanProcessor(otelSessions({ log }))],
 * });
 */
export function otelSessions(options: DevtoolsOptions): OtelSessions {
  const sessions = new TraceSessions('otelSessions', options);
  let isClosed = false;
  return {
    export(spans, done) {
      const ended: string[] = [];
      for (const span of isClosed ? [] : spans) {
        const traced = readSpan(span);
        if (traced === undefined) continue;
        sessions.add(traced);
        const { isRemote = false } = span.parentSpanContext ?? {};
        if (traced.parent === undefined || isRemote) ended.push(traced.trace);
      }
      // The spans of a batch can come after their parent.
      for (const trace of ended) sessions.end(trace);
      void sessions.flush().then(() => done({ code: isClosed ? failed : succeeded }));
    },
    forceFlush: () => sessions.flush(),
    shutdown() {
      isClosed = true;
      return sessions.close();
    },
  };
}

const [succeeded, failed] = [0, 1];
const errorStatus = 2;

/** Reads a span. Returns undefined if the value is not a span, so that one bad span does not affect the others. */
function readSpan(span: ExportedSpan): TracedSpan | undefined {
  try {
    const { traceId, spanId } = span.spanContext();
    const attributes = allAttributes(span);
    const [startMs, endMs] = [millisecondsOf(span.startTime), millisecondsOf(span.endTime)];
    return {
      ...{ trace: idOf(traceId, 'trace'), id: idOf(spanId, 'span') },
      parent: textIn(span.parentSpanContext?.spanId ?? span.parentSpanId),
      ...{ startMs, endMs: Math.max(startMs, endMs), error: errorOf(span, attributes) },
      ...{ work: workOf(attributes, startMs), size: sizeOf(attributes) },
    };
  } catch {
    return undefined;
  }
}

/** Some programs report content in an event of the span instead of its attributes. */
function allAttributes({ attributes, events = [] }: ExportedSpan): Attributes {
  const details = events.find(({ name }) => name === 'gen_ai.client.inference.operation.details');
  return { ...details?.attributes, ...attributes };
}

function millisecondsOf([seconds, nanoseconds]: HrTime): number {
  return seconds * 1000 + nanoseconds / 1e6;
}

function sizeOf(attributes: Attributes): number {
  const texts = Object.values(attributes).filter((value) => typeof value === 'string');
  return texts.reduce((sum, text) => sum + text.length, 0);
}

function errorOf({ status }: ExportedSpan, attributes: Attributes): ErrorInfo | undefined {
  if (status?.code !== errorStatus) return undefined;
  const code = idOf(attributes['error.type'], 'error');
  return { code, message: clipText(redactKeys(status.message ?? code), 2000) };
}

function workOf(attributes: Attributes, startMs: number): TracedWork {
  switch (attributes['gen_ai.operation.name']) {
    case 'chat':
    case 'text_completion':
    case 'generate_content':
      return requestOf(attributes, startMs);
    case 'invoke_agent':
    case 'invoke_workflow':
      return {
        type: 'agent',
        name: textIn(attributes['gen_ai.agent.name'] ?? attributes['gen_ai.workflow.name']),
        conversation: textIn(attributes['gen_ai.conversation.id']),
      };
    case 'execute_tool':
      return {
        ...{ type: 'tool', name: idOf(attributes['gen_ai.tool.name'], 'tool') },
        callId: idOf(attributes['gen_ai.tool.call.id'], '') || undefined,
        input: textIn(attributes['gen_ai.tool.call.arguments']),
        result: textIn(attributes['gen_ai.tool.call.result']),
      };
    default:
      return { type: 'other' };
  }
}

function requestOf(attributes: Attributes, startMs: number): TracedWork {
  const model = attributes['gen_ai.request.model'] ?? attributes['gen_ai.response.model'];
  const answers = jsonOf(attributes['gen_ai.output.messages']);
  const output = readAnswer(answers);
  const [first] = listOf(attributes['gen_ai.response.finish_reasons']);
  const reason = first ?? fieldsOf(listOf(answers)[0])['finish_reason'];
  const seconds = attributes['gen_ai.response.time_to_first_chunk'];
  const tools = listOf(jsonOf(attributes['gen_ai.tool.definitions']));
  const named = tools.flatMap((tool) => idOf(fieldsOf(tool)['name'], '') || []);
  const [responseId, answeredBy] = ['gen_ai.response.id', 'gen_ai.response.model'].map((name) =>
    textIn(attributes[name]),
  );
  return {
    type: 'request',
    provider: idOf(attributes['gen_ai.provider.name'] ?? attributes['gen_ai.system'], 'unknown'),
    model: idOf(model, 'unknown'),
    input: [
      ...readInstructions(jsonOf(attributes['gen_ai.system_instructions'])),
      ...readMessages(jsonOf(attributes['gen_ai.input.messages'])),
    ],
    ...{ output, stop: stopOf(reason, output), usage: usageOf(attributes) },
    ...(tools.length > 0 && { tools: named }),
    details: { ...(responseId && { responseId }), ...(answeredBy && { model: answeredBy }) },
    ...(typeof seconds === 'number' && { firstContentMs: startMs + seconds * 1000 }),
  };
}

function usageOf(attributes: Attributes): Usage {
  const count = (name: string) => countIn(attributes[`gen_ai.usage.${name}`]);
  return {
    ...noUsage,
    ...{ input: count('input_tokens'), output: count('output_tokens') },
    cacheRead: count('cache_read.input_tokens'),
    cacheWrite: count('cache_creation.input_tokens'),
    reasoning: count('reasoning.output_tokens'),
  };
}

/** Maximum length of an attribute with JSON. A longer attribute is not read. */
const maxJsonLength = 2 ** 24;

function jsonOf(attribute: Attributes[string]): unknown {
  if (typeof attribute !== 'string') return attribute;
  if (attribute.length > maxJsonLength) return undefined;
  try {
    // The history of a run is parsed again for each request, so the fast parser of the platform is used.
    return JSON.parse(attribute);
  } catch {
    // A text that is not JSON is a message of its own, for example because the SDK has cut it off.
    return attribute;
  }
}
