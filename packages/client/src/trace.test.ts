import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent, defineTool, otlpExporter, type ToolContext } from '@millrace/agent';
import { itemId, parseTraceparent, sessionId, spanIdOf, type TraceContext } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { openaiChat } from '@millrace/providers';
import { type ScriptedServer, startScriptedServer } from '@millrace/providers/scripted-server';
import type { ServedAgent } from '@millrace/server';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { startProcess } from '../../log/src/testing/start-process.ts';
import { createClient } from './create-client.ts';
import { type CollectedSpan, collector } from './testing/collector.ts';
import { eventually } from './testing/eventually.ts';
import { serving } from './testing/serving.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerSpan = '00f067aa0ba902b7';
const given: TraceContext = {
  traceparent: `00-${traceId}-${callerSpan}-01`,
  tracestate: 'mill=stream',
};

async function modelServer(): Promise<ScriptedServer> {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  return server;
}

const modelAt = ({ url }: ScriptedServer, more: object = {}) =>
  openaiChat({ model: 'gpt', apiKey: 'none', baseUrl: `${url}/v1`, ...more });

/** Returns the trace headers that the model received. */
const tracesAt = ({ requests }: ScriptedServer) =>
  requests.map(({ headers }) => parseTraceparent(String(headers['traceparent'])));

function only(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const found = spans.filter((span) => span.name === name);
  expect(found, name).toHaveLength(1);
  return found[0] ?? expect.fail();
}

const attributeOf = (span: CollectedSpan, name: string) =>
  Object.values(span.attributes.find(({ key }) => key === name)?.value ?? {})[0];

async function exporting() {
  const collected = await collector();
  const exporter = otlpExporter({ url: collected.url });
  onTestFinished(() => exporter.close());
  return { exporter, spans: collected.spans };
}

/** Returns an agent loop that calls a tool once and then answers, and the context that the tool received. */
function millers(model: ScriptedServer) {
  const log = memoryLog();
  const contexts: ToolContext[] = [];
  const grind = defineTool({
    ...{ name: 'grind', description: 'Grinds', input: z.object({}) },
    execute: async (_input, context) => {
      contexts.push(context);
      return 'flour';
    },
  });
  const agent = createAgent({ name: 'miller', provider: modelAt(model), tools: [grind], log });
  const served: ServedAgent = { type: 'loop', name: 'miller', agent };
  model.answer({ toolCalls: [{ name: 'grind', arguments: '{}' }] });
  model.answer({ text: 'It is done.' });
  return { served, log, contexts };
}

test('what a client asks for is one trace: request, run, turns, attempts and tools, each under the one that it is part of', async () => {
  const model = await modelServer();
  const { served, log, contexts } = millers(model);
  const { exporter, spans } = await exporting();
  const server = await serving([served], { log, exporter });
  const client = server.client({ trace: () => given });
  const task = await client.createTask({ agent: 'miller' });
  await task.send('Grind it');
  await task.until(({ items, isRunning }) => items.length === 4 && !isRunning);
  await exporter.flush();

  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  const request = only(spans, 'POST /tasks/{task_id}/commands');
  expect(request.parentSpanId).toBe(callerSpan);
  const run = only(spans, 'invoke_agent miller');
  expect(run.parentSpanId).toBe(request.spanId);
  const turns = spans.filter(({ name }) => name === 'turn');
  expect(turns.map(({ parentSpanId }) => parentSpanId)).toEqual([run.spanId, run.spanId]);
  const chats = spans.filter(({ name }) => name === 'chat gpt');
  expect(chats.map(({ parentSpanId }) => parentSpanId)).toEqual(turns.map(({ spanId }) => spanId));
  const tool = only(spans, 'execute_tool grind');
  expect(tool.parentSpanId).toBe(turns[0]?.spanId);

  // The sent headers contain the ids of the collected spans.
  expect(tracesAt(model)).toEqual(chats.map(({ spanId }) => ({ traceId, spanId, flags: 1 })));
  expect(model.requests.map(({ headers }) => headers['tracestate'])).toEqual([
    ...['mill=stream', 'mill=stream'],
  ]);
  expect(contexts.map(({ trace }) => trace)).toEqual([
    { traceparent: `00-${traceId}-${tool.spanId}-01`, tracestate: 'mill=stream' },
  ]);
});

test('what nobody named a trace for is in one of its own, whose root is the request', async () => {
  const model = await modelServer();
  const { served, log } = millers(model);
  const { exporter, spans } = await exporting();
  const server = await serving([served], { log, exporter });
  const task = await server.client().createTask({ agent: 'miller' });
  await task.send('Grind it');
  await task.until(({ items, isRunning }) => items.length === 4 && !isRunning);
  await exporter.flush();
  const request = only(spans, 'POST /tasks/{task_id}/commands');
  expect(request.parentSpanId).toBeUndefined();
  const run = only(spans, 'invoke_agent miller');
  expect([run.traceId, run.parentSpanId]).toEqual([request.traceId, request.spanId]);
  expect(new Set(tracesAt(model).map((trace) => trace?.traceId))).toEqual(
    new Set([request.traceId]),
  );
});

test.each([
  ['nonsense'],
  [`ff-${traceId}-${callerSpan}-01`],
  [`00-${'0'.repeat(32)}-${callerSpan}-01`],
])('a bad traceparent counts as none: %s', async (traceparent) => {
  const model = await modelServer();
  const { served, log, contexts } = millers(model);
  const { url } = await serving([served], { log });
  const response = await fetch(`${url}/agents/name/miller/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent, tracestate: 'mill=stream' },
    body: JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'message/send' },
      params: { content: { type: 'text', author: 'user', content: 'Grind it' } },
    }),
  });
  expect(((await response.json()) as { readonly error: unknown }).error).toBeNull();
  expect(model.requests).toHaveLength(2);
  for (const { headers } of model.requests) {
    expect(headers).not.toHaveProperty('traceparent');
    expect(headers).not.toHaveProperty('tracestate');
  }
  expect(contexts.map(({ trace }) => trace)).toEqual([undefined]);
});

test('a caller that does not want its trace kept gets no spans, and passes it on all the same', async () => {
  const model = await modelServer();
  const { served, log } = millers(model);
  const { exporter, spans } = await exporting();
  const server = await serving([served], { log, exporter });
  const traceparent = given.traceparent.replace(/01$/, '00');
  const client = server.client({ trace: () => ({ traceparent }) });
  const task = await client.createTask({ agent: 'miller' });
  await task.send('Grind it');
  await task.until(({ items, isRunning }) => items.length === 4 && !isRunning);
  await exporter.flush();
  expect(spans).toEqual([]);
  expect(tracesAt(model)).toMatchObject([
    { traceId, flags: 0 },
    { traceId, flags: 0 },
  ]);
});

test.each(['sync', 'async'] as const)(
  "a %s handler's spans and requests are under its run, and that under the request",
  async (type) => {
    const model = await modelServer();
    model.answer({ text: 'Flour.' });
    const { exporter, spans } = await exporting();
    const answer = async ({ tracing, trace, stream }: Parameters<Handler>[1]) => {
      await using span = await tracing.span('look at the corn');
      expect(trace?.tracestate).toBe('mill=stream');
      expect(parseTraceparent(span.traceparent)?.traceId).toBe(traceId);
      const parts = [{ kind: 'text', text: 'Hello' }] as const;
      await stream.auto(modelAt(model), { items: [{ id: itemId('u'), kind: 'user', parts }] });
    };
    const agents: Record<typeof type, ServedAgent> = {
      sync: {
        ...{ type: 'sync', name: 'hand' },
        // biome-ignore lint/correctness/useYield: it streams by itself
        async *onMessage(_content, context) {
          await answer(context);
        },
      },
      async: { type: 'async', name: 'hand', onEvent: (_event, context) => answer(context) },
    };
    const server = await serving([agents[type]], { exporter });
    const task = await server.client({ trace: () => given }).createTask({ agent: 'hand' });
    await task.send('Grind it');
    await task.until(({ items, isRunning }) => items.length >= 1 && !isRunning);
    await eventually(async () => {
      await exporter.flush();
      return spans.some(({ name }) => name === 'invoke_agent hand');
    });
    const run = only(spans, 'invoke_agent hand');
    const requests = spans.filter(({ name }) => name.startsWith('POST '));
    expect(requests.map(({ spanId }) => spanId)).toContain(run.parentSpanId);
    expect(only(spans, 'look at the corn').parentSpanId).toBe(run.spanId);
    expect(tracesAt(model)).toEqual([{ traceId, spanId: run.spanId, flags: 1 }]);
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  },
);

type Handler = Extract<ServedAgent, { readonly type: 'async' }>['onEvent'];

test('a run whose process is killed goes on in the same trace in another one, which ends the spans that it had begun', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trace-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { url: collectorUrl, spans } = await collector();
  const model = await modelServer();
  // The first attempt gets no answer until its process has ended.
  model.reply(() => new Promise(() => {}));
  model.answer({ text: 'It turns.' });
  const serve = async () => {
    const said = Promise.withResolvers<{ readonly url: string }>();
    const program = new URL('./testing/serve-traced.ts', import.meta.url);
    const args = [folder, model.url, collectorUrl];
    const child = startProcess(program, { args, onMessage: (told) => said.resolve(told as never) });
    void child.exit.then(({ stderr }) => said.reject(new Error(`It did not start: ${stderr}`)));
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await child.exit;
    });
    return { child, ...(await said.promise) };
  };

  const first = await serve();
  const client = createClient({ url: first.url, trace: () => given });
  onTestFinished(() => client.close());
  const task = await client.createTask({ agent: 'miller' });
  await task.send('Does the wheel turn?');
  await model.nextRequest();
  first.child.kill('SIGKILL');
  await first.child.exit;
  await serve();
  await eventually(() => spans.some(({ name }) => name.startsWith('invoke_agent')));

  const log = sqliteLog({ path: join(folder, 'log.db') });
  onTestFinished(() => log.close());
  const { records } = await log.read(sessionId(task.id));
  const runs = records.flatMap(({ fact }) => (fact?.type === 'run_started' ? [fact] : []));
  expect(runs).toHaveLength(1);
  const [started = expect.fail()] = runs;
  const run = only(spans, 'invoke_agent miller');
  expect([run.traceId, run.spanId]).toEqual([traceId, spanIdOf.run(started.runId)]);
  expect(run.parentSpanId).toBe(parseTraceparent(started.trace?.traceparent ?? '')?.spanId);
  expect(attributeOf(run, 'millrace.resumed')).toBe(true);
  const turn = only(spans, 'turn');
  expect(turn.parentSpanId).toBe(run.spanId);
  const tries = [1, 2].map((attempt) => spanIdOf.attempt(started.runId, { turn: 1, attempt }));
  expect(tracesAt(model)).toEqual(tries.map((spanId) => ({ traceId, spanId, flags: 1 })));
  const chat = only(spans, 'chat gpt');
  expect([chat.spanId, chat.parentSpanId]).toEqual([tries[1], turn.spanId]);
});
