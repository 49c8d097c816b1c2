import {
  countingIds,
  type Fact,
  type LogRecord,
  parseTraceparent,
  runId,
  type SessionId,
  sessionId,
  spanIdOf,
  type TraceContext,
} from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type Provider, wrapProvider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from './create-agent.ts';
import { openTelemetryObserver } from './observers/opentelemetry/otel-observer.ts';
import { RunSpanIds } from './observers/opentelemetry/run-span-ids.ts';
import { call } from './testing/model-script.ts';
import { subAgent } from './tool/agent-tools.ts';
import { defineTool } from './tool/define-tool.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const given: TraceContext = {
  traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
  tracestate: 'vendor=stream',
};
const other: TraceContext = { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01` };
const session = sessionId('s');
const under = (spanId: string) => ({ ...given, traceparent: `00-${traceId}-${spanId}-01` });

/** Records the trace contexts that the provider receives. */
function listening(provider: Provider) {
  const traces: (TraceContext | undefined)[] = [];
  const heard = wrapProvider(provider, (request, context, next) => {
    traces.push(context.trace);
    return next(request, context);
  });
  return { provider: heard, traces };
}

function grinding() {
  const traces: (TraceContext | undefined)[] = [];
  const grind = defineTool({
    ...{ name: 'grind', description: 'Grinds', input: z.object({}) },
    execute: async (_input, { trace }) => {
      traces.push(trace);
      return 'the result';
    },
  });
  return { grind, traces };
}

const grindIt = { content: { parts: [call('c1', 'grind', {})] } };

async function factsOf(log: Log, of: SessionId): Promise<readonly Fact[]> {
  const { records } = await log.read(of);
  return records.flatMap(({ fact }) => fact ?? []);
}

const started = (facts: readonly Fact[]) => facts.filter((fact) => fact.type === 'run_started');

describe('a run that is part of a trace', () => {
  test('stores it on the log, and passes it to its provider and its tools under their spans', async () => {
    const log = memoryLog();
    const { grind, traces: inTool } = grinding();
    const { provider, traces } = listening(scriptedProvider([grindIt, 'Done.']));
    const agent = createAgent({ provider, tools: [grind], log, ids: countingIds() });
    await agent.run('Grind', { session, trace: given }).result;
    const facts = await factsOf(log, session);
    const run = runId('run1');
    expect(started(facts)).toEqual([{ type: 'run_started', runId: run, trace: given }]);
    expect(traces).toEqual(
      [1, 2].map((turn) => under(spanIdOf.attempt(run, { turn, attempt: 1 }))),
    );
    const execution = facts.find((fact) => fact.type === 'tool_execution_started');
    const id = execution?.type === 'tool_execution_started' ? execution.executionId : expect.fail();
    expect(inTool).toEqual([under(spanIdOf.execution(run, id))]);
  });

  test('passes it to its sub-agents, under their executions', async () => {
    const log = memoryLog();
    const helper = createAgent({ provider: scriptedProvider(['Helped.']), log });
    const help = subAgent({ name: 'help', description: 'Helps', agent: helper });
    const script = [{ content: { parts: [call('c1', 'help', { task: 'Help' })] } }, 'Done.'];
    const agent = createAgent({ provider: scriptedProvider(script), tools: [help], log });
    await agent.run('Go', { session, trace: given }).result;
    const facts = await factsOf(log, session);
    const [outer = expect.fail()] = started(facts);
    const execution = facts.find((fact) => fact.type === 'tool_execution_started');
    if (execution?.type !== 'tool_execution_started' || outer.type !== 'run_started')
      return expect.fail();
    const [inner] = started(await factsOf(log, execution.child ?? expect.fail()));
    const trace = under(spanIdOf.execution(outer.runId, execution.executionId));
    expect(inner).toMatchObject({ trace });
  });

  test('reports its sub-agents to its observers, under their names', async () => {
    const exporter = new InMemorySpanExporter();
    const ids = new RunSpanIds();
    const spanProcessors = [new SimpleSpanProcessor(exporter)];
    const sdk = new BasicTracerProvider({ idGenerator: ids, spanProcessors });
    const tracer = sdk.getTracer('test');
    const { observe } = openTelemetryObserver({ tracer, ids, agentName: 'asked' });
    const helper = createAgent({ name: 'helper', provider: scriptedProvider(['Helped.']) });
    const help = subAgent({ name: 'help', description: 'Helps', agent: helper });
    const calling = { content: { parts: [call('c1', 'help', { task: 'Help' })] } };
    const agent = createAgent({ provider: scriptedProvider([calling, 'Done.']), tools: [help] });
    await agent.run('Go', { session, trace: given, observers: [observe] }).result;
    const spans = exporter.getFinishedSpans();
    const named = (name: string) => spans.find((span) => span.name === name);
    expect(named('invoke_agent asked')?.parentSpanContext?.traceId).toBe(traceId);
    const execution = named('execute_tool help')?.spanContext().spanId;
    expect(named('invoke_agent helper')?.parentSpanContext?.spanId).toBe(execution);
  });

  test('20.11: names the agent in the span of the run, without an option of the observer', async () => {
    const exporter = new InMemorySpanExporter();
    const sdk = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    const { observe } = openTelemetryObserver({ tracer: sdk.getTracer('test') });
    const provider = scriptedProvider(['Hi.']);
    await createAgent({ name: 'desk', provider, observers: [observe] }).run('Go').result;
    const root = exporter.getFinishedSpans().find((span) => span.parentSpanContext === undefined);
    expect(root?.name).toBe('invoke_agent desk');
    expect(root?.attributes['gen_ai.agent.name']).toBe('desk');
  });

  test('that waited for an approval continues in it, in any process', async () => {
    const log = memoryLog();
    const { grind, traces } = grinding();
    const asking = {
      tools: [grind],
      log,
      approve: () => 'ask' as const,
      whileAsking: 'park',
    } as const;
    const first = createAgent({ ...asking, provider: scriptedProvider([grindIt]) });
    const { stop } = await first.run('Grind', { session, trace: given }).result;
    expect(stop.reason).toBe('parked');
    const asked = (await factsOf(log, session)).find(({ type }) => type === 'approval_asked');
    if (asked?.type !== 'approval_asked') return expect.fail();
    await log.submit(session, { type: 'approve', toolCallId: asked.toolCallId }, 'k');
    const { provider, traces: asks } = listening(scriptedProvider(['Done.']));
    await createAgent({ ...asking, provider }).resume(session).result;
    expect(started(await factsOf(log, session))).toMatchObject([
      { trace: given },
      { trace: given },
    ]);
    const ids = [...traces, ...asks].map((trace) => parseTraceparent(trace?.traceparent ?? ''));
    expect(ids).toMatchObject([{ traceId }, { traceId }]);
  });

  test('keeps it in a replay', async () => {
    const log = memoryLog();
    const { grind } = grinding();
    const agent = createAgent({
      provider: scriptedProvider([grindIt, 'Done.']),
      tools: [grind],
      log,
    });
    await agent.run('Grind', { session, trace: given }).result;
    expect(await agent.replay(session)).not.toHaveProperty('divergence');
  });
});

describe('a queued message', () => {
  const message = (text: string, more: object = {}) => ({
    ...{ type: 'message', when: 'follow_up', ...more },
    items: [{ id: text, kind: 'user', parts: [{ kind: 'text', text }] }],
  });

  test('starts its run in the trace of its sender', async () => {
    const log = memoryLog();
    await log.submit(session, message('a', { trace: { ...other } }), 'a');
    await createAgent({ provider: scriptedProvider(['A.']), log }).resume(session).result;
    await log.submit(session, message('b'), 'b');
    await createAgent({ provider: scriptedProvider(['B.']), log }).resume(session).result;
    const facts = started(await factsOf(log, session));
    expect(facts.map((fact) => 'trace' in fact && fact.trace)).toEqual([other, false]);
  });

  test.each([[{ traceparent: 'nonsense' }], ['text'], [null], [7]])(
    'is still used if its trace is %j',
    async (trace) => {
      const log = memoryLog();
      await log.submit(session, message('a', { trace }), 'a');
      const agent = createAgent({ provider: scriptedProvider(['A.']), log });
      expect((await agent.resume(session).result).text).toBe('A.');
      expect(started(await factsOf(log, session))).not.toHaveProperty('0.trace');
    },
  );
});

test('a run without a trace sends and stores none', async () => {
  const log = memoryLog();
  const { provider, traces } = listening(scriptedProvider(['Done.']));
  await createAgent({ provider, log }).run('Go', { session }).result;
  expect(traces).toEqual([undefined]);
  expect(started(await factsOf(log, session))).not.toHaveProperty('0.trace');
});

test('observers of one run receive it, and the run of each record', async () => {
  const told: (readonly [LogRecord, string | undefined])[] = [];
  const agent = createAgent({ provider: scriptedProvider(['A.', 'B.']), ids: countingIds() });
  const observers = [
    (record: LogRecord, _events: unknown, run?: { readonly id: string }) => {
      told.push([record, run?.id]);
    },
  ];
  await agent.run('One', { session, observers }).result;
  const count = told.length;
  await agent.run('Two', { session }).result;
  expect(told).toHaveLength(count);
  expect(new Set(told.map(([, id]) => id))).toEqual(new Set(['run1']));
});

test("with OpenTelemetry's SDK, the spans have the ids that requests and tools were sent", async () => {
  const exporter = new InMemorySpanExporter();
  const ids = new RunSpanIds();
  const sdk = new BasicTracerProvider({
    ...{ idGenerator: ids, spanProcessors: [new SimpleSpanProcessor(exporter)] },
  });
  const { observe } = openTelemetryObserver({ tracer: sdk.getTracer('test'), ids });
  const { grind, traces: inTool } = grinding();
  const { provider, traces } = listening(scriptedProvider([grindIt, 'Done.']));
  const agent = createAgent({ provider, tools: [grind], observers: [observe] });
  await agent.run('Grind', { session, trace: given }).result;
  const spans = exporter.getFinishedSpans();
  const sent = (name: string) =>
    spans
      .filter((span) => span.name.startsWith(name))
      .map((span) => under(span.spanContext().spanId));
  expect(sent('chat')).toEqual(traces);
  expect(sent('execute_tool')).toEqual(inTool);
  expect([traces.length, inTool.length]).toEqual([2, 1]);
  const run = spans.find(({ name }) => name === 'invoke_agent agent');
  expect(run?.parentSpanContext).toMatchObject({ traceId, spanId: '00f067aa0ba902b7' });
  expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]));
  const elsewhere = sdk.getTracer('other').startSpan('other').spanContext();
  expect(elsewhere.traceId).not.toBe(traceId);
  expect(spans.map((span) => span.spanContext().spanId)).not.toContain(elsewhere.spanId);
});
