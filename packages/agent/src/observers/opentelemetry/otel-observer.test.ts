import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  agentEvents,
  emptyState,
  executionId,
  type Fact,
  recordVersion,
  runId,
  type SessionId,
  sessionId,
  toolCallId,
} from '@millrace/core';
import {
  DiagLogLevel,
  diag,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import {
  LogBuilder,
  notifyAll,
  type ObservedRecord,
  stop,
  usage,
} from '../../testing/log-builder.ts';
import { type OpenTelemetryOptions, openTelemetryObserver } from './otel-observer.ts';
import { otlpExporter } from './otlp-exporter.ts';

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = provider.getTracer('test');

/** Warnings of the SDK: a span that ends twice, an attribute after the end. */
let warnings: unknown[] = [];

beforeEach(() => {
  warnings = [];
  exporter.reset();
  const warn = (...what: unknown[]) => warnings.push(what);
  const ignore = () => {};
  const logger = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
});

afterEach(() => {
  diag.disable();
  expect(warnings).toEqual([]);
});

/** The spans of a log, in the order in which they ended. */
function spansOf(
  told: readonly ObservedRecord[],
  options: Partial<OpenTelemetryOptions> = {},
): readonly ReadableSpan[] {
  notifyAll(openTelemetryObserver({ tracer, ...options }).observe, told);
  return exporter.getFinishedSpans();
}

const named = (spans: readonly ReadableSpan[], name: string): ReadableSpan => {
  const found = spans.filter((span) => span.name === name);
  if (found[0] === undefined) throw new Error(`no span ${name} in ${spans.map((one) => one.name)}`);
  return found[0];
};
const milliseconds = ([seconds, nanos]: readonly [number, number]) => seconds * 1000 + nanos / 1e6;
const timesOf = ({ startTime, endTime }: ReadableSpan) => [startTime, endTime].map(milliseconds);
const isUnder = (span: ReadableSpan, parent: ReadableSpan) =>
  span.parentSpanContext?.spanId === parent.spanContext().spanId &&
  span.spanContext().traceId === parent.spanContext().traceId;

const call = { toolCallId: toolCallId('call-1'), name: 'read', executionId: executionId('x1') };
const runStarted: Fact = { type: 'run_started', runId: runId('run-1') };
const runFinished = (reason: 'stop' | 'error' | 'aborted' = 'stop'): Fact => ({
  type: 'run_finished',
  runId: runId('run-1'),
  stop: { reason },
});
const turnStarted: Fact = { type: 'turn_started' };
const turnFinished = (reason: 'stop' | 'error' | 'aborted' | 'tool_use' = 'stop'): Fact => ({
  type: 'turn_finished',
  stop: { reason },
});

/** A run of one turn with one tool. All content contains `words`. */
function storyOf(words: string, session?: SessionId): LogBuilder {
  const story = new LogBuilder(session);
  story.fact(runStarted).at(1).fact(turnStarted).at(1, 1);
  const writer = story.request();
  const thought = writer.reasoning();
  thought.append(words);
  thought.commit();
  const text = writer.text();
  text.append(`${words} `);
  text.append('again');
  text.commit();
  const request = writer.toolCall(call.toolCallId, call.name);
  request.append(JSON.stringify({ path: words }));
  request.commit();
  const used = { ...usage(100, 20), cacheRead: 60, cacheWrite: 5, reasoning: 7 };
  const toolUse = { reason: 'tool_use', raw: 'tool_calls' } as const;
  story
    .take(writer)
    .fact({ type: 'response_finished', itemId: story.lastItem, stop: toolUse, usage: used });
  const tool = story.item('tool');
  const result = tool.toolResult(call.toolCallId, call.name, call.executionId);
  story.take(tool).fact({ type: 'tool_execution_started', ...call, summary: words });
  result.replace({ kind: 'tool_result', ...call, text: `read ${words}`, isError: false });
  return story
    .take(tool)
    .fact({ type: 'tool_execution_finished', ...call, isError: false, outcome: 'completed' })
    .at(1)
    .fact(turnFinished('tool_use'))
    .at(0)
    .fact(runFinished());
}

const timeOf = ({ records }: LogBuilder, type: Fact['type']) =>
  records.find(({ fact }) => fact?.type === type)?.time;

describe('a run', () => {
  test('is a span that contains turns, which contain attempts and executions', () => {
    const spans = spansOf(storyOf('hello').observed);
    const names = ['chat model-1', 'execute_tool read', 'turn', 'invoke_agent'];
    expect(spans.map(({ name }) => name)).toEqual(names);
    const [chat, tool, turn, run] = names.map((name) => named(spans, name));
    if (!chat || !tool || !turn || !run) throw new Error('a span is missing');
    expect(run.parentSpanContext).toBeUndefined();
    expect([isUnder(turn, run), isUnder(chat, turn), isUnder(tool, turn)]).toEqual([
      true,
      true,
      true,
    ]);
    for (const span of spans) expect(span.status).toEqual({ code: SpanStatusCode.UNSET });
  });

  test('has the times of its records', () => {
    const story = storyOf('hello');
    const spans = spansOf(story.observed);
    const expected = (from: Fact['type'], to: Fact['type']) => [
      timeOf(story, from),
      timeOf(story, to),
    ];
    const timesIn = (name: string) => timesOf(named(spans, name));
    expect(timesIn('invoke_agent')).toEqual(expected('run_started', 'run_finished'));
    expect(timesIn('turn')).toEqual(expected('turn_started', 'turn_finished'));
    expect(timesIn('chat model-1')).toEqual(expected('response_started', 'response_finished'));
    expect(timesIn('execute_tool read')).toEqual(
      expected('tool_execution_started', 'tool_execution_finished'),
    );
  });

  test('has the attributes of the conventions for generative AI', () => {
    const spans = spansOf(storyOf('hello').observed, { agentName: 'helper' });
    const run = named(spans, 'invoke_agent helper');
    expect(run.kind).toBe(SpanKind.INTERNAL);
    expect(run.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'helper',
      'gen_ai.conversation.id': 'test',
      'millrace.run.id': 'run-1',
      'millrace.stop.reason': 'stop',
    });
    const chat = named(spans, 'chat model-1');
    expect(chat.kind).toBe(SpanKind.CLIENT);
    expect(chat.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'model-1',
      'gen_ai.request.stream': true,
      'gen_ai.conversation.id': 'test',
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'gen_ai.response.time_to_first_chunk': 0.1,
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 20,
      'gen_ai.usage.cache_read.input_tokens': 60,
      'gen_ai.usage.cache_creation.input_tokens': 5,
      'gen_ai.usage.reasoning.output_tokens': 7,
      'millrace.usage.estimated': false,
      'millrace.turn': 1,
      'millrace.attempt': 1,
      'millrace.stop.reason': 'tool_use',
    });
    const tool = named(spans, 'execute_tool read');
    expect(tool.kind).toBe(SpanKind.INTERNAL);
    expect(tool.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'read',
      'gen_ai.tool.call.id': 'call-1',
      'gen_ai.tool.type': 'function',
      'gen_ai.conversation.id': 'test',
      'millrace.execution.id': 'x1',
      'millrace.tool.outcome': 'completed',
    });
  });

  test.each([
    ['openai', 'openai'],
    ['openai-compatible', 'openai-compatible'],
    ['azure-responses', 'azure.ai.openai'],
    ['anthropic', 'anthropic'],
    ['gemini', 'gcp.gemini'],
    ['vertex', 'gcp.vertex_ai'],
    ['xai', 'x_ai'],
    ['mistral', 'mistral_ai'],
    ['amazon-bedrock', 'aws.bedrock'],
    ['my-own', 'my-own'],
  ])('with provider %s names it %s', (id, name) => {
    const story = new LogBuilder().at(1, 1);
    story.item('assistant');
    const itemId = story.lastItem;
    story.fact(
      { type: 'response_started', itemId, provider: id, model: 'm' },
      { type: 'response_finished', itemId, stop, usage: usage(1, 1) },
    );
    const { attributes } = named(spansOf(story.observed), 'chat m');
    expect(attributes['gen_ai.provider.name']).toBe(name);
  });

  test('of another session is another trace', () => {
    const [a, b] = [storyOf('a', sessionId('a')).observed, storyOf('b', sessionId('b')).observed];
    const spans = spansOf(a.flatMap((told, at) => [told, ...b.slice(at, at + 1)]));
    expect(spans).toHaveLength(8);
    for (const session of ['a', 'b']) {
      const own = spans.filter(
        ({ attributes }) => attributes['gen_ai.conversation.id'] === session,
      );
      expect(new Set(own.map((span) => span.spanContext().traceId)).size).toBe(1);
      expect(own).toHaveLength(4);
    }
  });

  test('of a sub-agent is a child of its execution', () => {
    const child = sessionId('child');
    const outer = new LogBuilder(sessionId('outer'))
      .fact(runStarted)
      .at(1)
      .fact(turnStarted)
      .at(1, 1);
    const begin = outer.fact({
      type: 'tool_execution_started',
      ...call,
      summary: 's',
      child,
    }).observed;
    const all = outer.fact({
      type: 'tool_execution_finished',
      ...call,
      isError: false,
      outcome: 'completed',
    });
    const inner = storyOf('inner', child).observed;
    const { observe, end } = openTelemetryObserver({ tracer });
    notifyAll(observe, [...begin, ...inner, ...all.observed.slice(begin.length)]);
    end();
    const spans = exporter.getFinishedSpans();
    const run = spans.find(
      ({ name, attributes }) =>
        name === 'invoke_agent' && attributes['gen_ai.conversation.id'] === 'child',
    );
    const tool = spans.find(({ attributes }) => attributes['millrace.child.session'] === 'child');
    if (run === undefined || tool === undefined) throw new Error('a span is missing');
    expect(isUnder(run, tool)).toBe(true);
  });
});

describe('a failure', () => {
  const error = { code: 'overloaded', message: 'Try later' };

  test('in an attempt that is retried is an error of that attempt only', () => {
    const story = new LogBuilder().fact(runStarted).at(1).fact(turnStarted).at(1, 1);
    story.request();
    story.fact(
      { type: 'usage_reported', usage: usage(10, 3) },
      { type: 'retry_scheduled', error, delayMs: 500 },
      { type: 'attempt_superseded', reason: 'overloaded' },
    );
    story.at(1, 2).request('model-2');
    story
      .fact({ type: 'response_finished', itemId: story.lastItem, stop, usage: usage(10, 5) })
      .at(1)
      .fact(turnFinished())
      .at(0)
      .fact(runFinished());
    const spans = spansOf(story.observed);
    const failed = named(spans, 'chat model-1');
    expect(failed.status).toEqual({ code: SpanStatusCode.ERROR, message: 'overloaded' });
    expect(failed.attributes).toMatchObject({
      'error.type': 'overloaded',
      'millrace.superseded': true,
      'gen_ai.usage.output_tokens': 3,
    });
    // The attempt ended when it failed, not when the failure was recorded.
    expect(timesOf(failed)[1]).toBe(timeOf(story, 'retry_scheduled'));
    for (const name of ['chat model-2', 'turn', 'invoke_agent'])
      expect(named(spans, name).status.code).toBe(SpanStatusCode.UNSET);
  });

  test('that is permanent is an error of the attempt, the turn and the run', () => {
    const story = new LogBuilder().fact(runStarted).at(1).fact(turnStarted).at(1, 1);
    story.request();
    story
      .fact({ type: 'error_reported', error })
      .at(1)
      .fact(turnFinished('error'))
      .at(0)
      .fact(runFinished('error'));
    const spans = spansOf(story.observed);
    expect(spans).toHaveLength(3);
    for (const { status, attributes } of spans) {
      expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'overloaded' });
      expect(attributes['error.type']).toBe('overloaded');
    }
  });

  test('in a tool is an error of its execution only', () => {
    const story = new LogBuilder().fact(runStarted).at(1).fact(turnStarted).at(1, 1);
    const run = (id: string, isError: boolean, outcome: 'completed' | 'discarded' | 'lost') => {
      const one = { ...call, name: id, executionId: executionId(id) };
      story.fact(
        { type: 'tool_execution_started', ...one, summary: '' },
        { type: 'tool_execution_finished', ...one, isError, outcome },
      );
    };
    run('fails', true, 'completed');
    run('lost', true, 'lost');
    run('discarded', true, 'discarded');
    const spans = spansOf(story.at(1).fact(turnFinished()).at(0).fact(runFinished()).observed);
    const typeOf = (name: string) => named(spans, name).attributes['error.type'];
    expect(typeOf('execute_tool fails')).toBe('tool_error');
    expect(typeOf('execute_tool lost')).toBe('lost');
    expect(typeOf('execute_tool discarded')).toBeUndefined();
    expect(named(spans, 'turn').status.code).toBe(SpanStatusCode.UNSET);
  });

  test('does not include an abort, which reports the usage so far', () => {
    const story = new LogBuilder().fact(runStarted).at(1).fact(turnStarted).at(1, 1);
    story.request();
    story
      .fact({ type: 'usage_reported', usage: usage(10, 3) }, { type: 'aborted' })
      .at(1)
      .fact(turnFinished('aborted'))
      .at(0)
      .fact(runFinished('aborted'));
    const spans = spansOf(story.observed);
    expect(spans.map(({ status }) => status.code)).toEqual([0, 0, 0]);
    const { attributes } = named(spans, 'chat model-1');
    expect(attributes).toMatchObject({
      'millrace.stop.reason': 'aborted',
      'gen_ai.usage.output_tokens': 3,
    });
    expect(named(spans, 'turn').events.map(({ name }) => name)).toEqual(['aborted']);
  });

  test('of the process is an error of the spans that it left open', () => {
    const story = new LogBuilder().fact(runStarted).at(1).fact(turnStarted).at(0);
    const spans = spansOf(story.fact(runStarted, runFinished()).observed);
    const errors = spans.map(({ name, status }) => [name, status.message]);
    expect(errors).toEqual([
      ['turn', 'interrupted'],
      ['invoke_agent', 'interrupted'],
      ['invoke_agent', undefined],
    ]);
  });
});

describe('content', () => {
  const secret = 'correct horse battery staple';

  /** A log with text in every field that may hold some, except in the run itself. */
  const wordy = () => {
    const story = storyOf(secret).at(0).fact(runStarted).at(2).fact(turnStarted).at(2, 1);
    const writer = story.request();
    writer.whole({ kind: 'text', text: secret });
    story
      .take(writer)
      .fact(
        { type: 'tool_call_rejected', ...call, code: 'invalid', message: secret },
        { type: 'approval_asked', ...call, reason: secret },
        { type: 'approval_answered', ...call, decision: 'deny', reason: secret, input: secret },
        { type: 'compacted', itemIds: [], summary: secret },
        { type: 'aborted', reason: secret },
        { type: 'handed_off', to: 'other', reason: secret },
        { type: 'error_reported', error: { code: 'bad', message: secret } },
        { type: 'attempt_superseded', reason: secret },
      )
      .at(2)
      .fact(turnFinished('error'));
    return story.at(0).fact(runFinished('error')).observed;
  };
  const textOf = (spans: readonly ReadableSpan[]) =>
    JSON.stringify(
      spans.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
    );

  test('is not recorded by default', () => {
    const spans = spansOf(wordy());
    expect(spans.length).toBeGreaterThan(6);
    expect(textOf(spans)).not.toContain(secret);
  });

  test('is recorded if enabled: messages, arguments, results', () => {
    const spans = spansOf(storyOf(secret).observed, { recordContent: true });
    const { attributes } = named(spans, 'chat model-1');
    expect(JSON.parse(String(attributes['gen_ai.output.messages']))).toEqual([
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: secret },
          { type: 'text', content: `${secret} again` },
          { type: 'tool_call', id: 'call-1', name: 'read', arguments: { path: secret } },
        ],
        finish_reason: 'tool_calls',
      },
    ]);
    const tool = named(spans, 'execute_tool read').attributes;
    expect(tool['gen_ai.tool.call.arguments']).toBe(JSON.stringify({ path: secret }));
    expect(tool['gen_ai.tool.call.result']).toBe(`read ${secret}`);
    expect(tool['millrace.tool.summary']).toBe(secret);
  });

  test('is clipped if it is long, and stays valid JSON', () => {
    const long = 'x'.repeat(200_000);
    const spans = spansOf(storyOf(long).observed, { recordContent: true });
    const messages = String(named(spans, 'chat model-1').attributes['gen_ai.output.messages']);
    expect(messages.length).toBeLessThan(150_000);
    expect(JSON.parse(messages)).toHaveLength(1);
  });
});

describe('spans', () => {
  test('that are open end on request, at the last known time', () => {
    const story = new LogBuilder().fact(runStarted).at(1).fact(turnStarted).at(1, 1);
    story.request();
    story.fact({ type: 'tool_execution_started', ...call, summary: 's' });
    const { observe, end } = openTelemetryObserver({ tracer });
    notifyAll(observe, story.observed);
    expect(exporter.getFinishedSpans()).toEqual([]);
    end();
    const spans = exporter.getFinishedSpans();
    expect(spans.map(({ name }) => name)).toEqual([
      'execute_tool read',
      'chat model-1',
      'turn',
      'invoke_agent',
    ]);
    for (const span of spans) {
      expect(timesOf(span)[1]).toBe(story.records.at(-1)?.time);
      expect(span.attributes['millrace.unfinished']).toBe(true);
    }
    end();
    expect(exporter.getFinishedSpans()).toHaveLength(4);
  });

  test('are children of the given context and inherit its values', () => {
    const parent = tracer.startSpan('request');
    const baggage = propagation.createBaggage({ user: { value: 'u' } });
    const context = propagation.setBaggage(trace.setSpan(ROOT_CONTEXT, parent), baggage);
    const seen: (string | undefined)[] = [];
    const processor = new SimpleSpanProcessor(exporter);
    processor.onStart = (_span, of) => {
      seen.push(propagation.getBaggage(of)?.getEntry('user')?.value);
    };
    const own = new BasicTracerProvider({ spanProcessors: [processor] });
    const spans = spansOf(storyOf('hello').observed, { tracer: own.getTracer('test'), context });
    expect(named(spans, 'invoke_agent').parentSpanContext?.spanId).toBe(
      parent.spanContext().spanId,
    );
    expect(seen).toEqual(['u', 'u', 'u', 'u']);
  });

  test('cost nothing if tracing is off', () => {
    const sampler = new ParentBasedSampler({ root: new AlwaysOffSampler() });
    const off = new BasicTracerProvider({
      sampler,
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    expect(spansOf(storyOf('hello').observed, { tracer: off.getTracer('test') })).toEqual([]);
    // The API's own tracer, which is used if no SDK is installed.
    expect(spansOf(storyOf('hello').observed, { tracer: trace.getTracer('none') })).toEqual([]);
  });

  test('of an unsampled run do not start traces of their own', () => {
    const silent = {
      startSpan: (...given: Parameters<typeof tracer.startSpan>) =>
        given[0] === 'invoke_agent'
          ? trace.getTracer('none').startSpan('nothing')
          : tracer.startSpan(...given),
      startActiveSpan: tracer.startActiveSpan.bind(tracer),
    };
    expect(spansOf(storyOf('hello').observed, { tracer: silent })).toEqual([]);
  });

  const facts: readonly Fact[] = [
    runStarted,
    runFinished(),
    runFinished('error'),
    turnStarted,
    turnFinished(),
    { type: 'response_started', itemId: 'i' as never, provider: 'p', model: 'm' },
    { type: 'response_finished', itemId: 'i' as never, stop, usage: usage(1, 1) },
    { type: 'usage_reported', usage: usage(1, 1) },
    { type: 'attempt_superseded', reason: 'r' },
    { type: 'retry_scheduled', error: { code: 'c', message: 'm' }, delayMs: 1 },
    { type: 'error_reported', error: { code: 'c', message: 'm' } },
    { type: 'tool_execution_started', ...call, summary: 's', child: sessionId('b') },
    { type: 'tool_execution_finished', ...call, isError: true, outcome: 'completed' },
    { type: 'aborted' },
  ];

  test('each end once and not before they start, in any order of records', () => {
    const step = fc.record({
      fact: fc.constantFrom(...facts),
      turn: fc.nat(2),
      attempt: fc.nat(2),
      time: fc.nat(1000),
      session: fc.constantFrom(sessionId('a'), sessionId('b')),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, recordContent) => {
        exporter.reset();
        let started = 0;
        const counting = {
          startSpan: (...given: Parameters<typeof tracer.startSpan>) => {
            started++;
            return tracer.startSpan(...given);
          },
          startActiveSpan: tracer.startActiveSpan.bind(tracer),
        };
        const { observe, end } = openTelemetryObserver({ tracer: counting, recordContent });
        for (const [at, { session, ...rest }] of steps.entries()) {
          const record = { v: recordVersion, offset: at + 1, producer: 'test', ...rest } as const;
          observe(record, agentEvents(emptyState(session), record, emptyState(session)));
        }
        end();
        const spans = exporter.getFinishedSpans();
        expect(spans).toHaveLength(started);
        for (const span of spans) {
          const [from = 0, to = 0] = timesOf(span);
          expect(from).toBeLessThanOrEqual(to);
        }
        expect(warnings).toEqual([]);
      }),
      { numRuns: runs(500) },
    );
  });
});

test('20.03: nothing imports the OpenTelemetry API, not even its types, so it need not be installed', () => {
  const folder = join(import.meta.dirname, '../..');
  const sources = globSync('**/*.ts', { cwd: folder }).filter(
    (name) => !name.endsWith('.test.ts') && !name.includes('testing/'),
  );
  const importing = sources.filter((name) =>
    /from '@opentelemetry\//.test(readFileSync(join(folder, name), 'utf8')),
  );
  expect(sources.length).toBeGreaterThan(50);
  expect(importing).toEqual([]);
});

test('an unknown option is refused', () => {
  const options = { tracer, recordContents: true } as OpenTelemetryOptions;
  expect(() => openTelemetryObserver(options)).toThrow('Did you mean recordContent?');
  const exporter = otlpExporter({ url: 'http://127.0.0.1:1' });
  expect(() => openTelemetryObserver(exporter)).not.toThrow();
});
