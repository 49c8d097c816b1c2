import { createAgent, defineTool, diffSessions, openTelemetryObserver } from '@millrace/agent';
import { casesFromSessions, codeScorer, matchesText, scoreSession } from '@millrace/agent/evals';
import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { type Attributes, context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readRecordedRun, sessionsIn } from '../testing/recorded-runs.ts';
import { otelSessions } from './otel-sessions.ts';

/** A program that traces itself with the SDK of OpenTelemetry. Its spans have fixed times, in milliseconds. */
function tracedProgram(options: Partial<Parameters<typeof otelSessions>[0]> = {}) {
  const log = memoryLog();
  const problems: string[] = [];
  const exporter = otelSessions({ log, onDiagnostic: (one) => problems.push(one), ...options });
  const provider = new BasicTracerProvider({
    sampler: new AlwaysOnSampler(),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer('program');
  /** Starts a span. The returned function ends it. */
  const start = (name: string, startMs: number, attributes: Attributes, parent?: Span) => {
    const under = parent === undefined ? context.active() : trace.setSpan(context.active(), parent);
    return tracer.startSpan(name, { attributes, startTime: timeOf(startMs) }, under);
  };
  const span = (name: string, [from, to]: [number, number], of: Attributes, parent?: Span) => {
    const one = start(name, from, of, parent);
    one.end(timeOf(to));
    return one;
  };
  return { log, problems, exporter, provider, start, span };
}

/** A small number would be the time since the start of the process. */
const timeOf = (ms: number): [number, number] => [Math.floor(ms / 1000), (ms % 1000) * 1e6];

const agent = (name: string): Attributes => ({
  ...{ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
  'gen_ai.conversation.id': 'conversation-1',
});

const message = (role: string, ...parts: readonly object[]) => ({ role, parts });
const text = (content: string) => ({ type: 'text', content });
const call = (id: string, name: string, input: object) => ({
  ...{ type: 'tool_call', id, name, arguments: input },
});
const result = (id: string, response: unknown) => ({ type: 'tool_call_response', id, response });

function chat(input: readonly object[], output: object, more: Attributes = {}): Attributes {
  return {
    ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai' },
    ...{ 'gen_ai.request.model': 'model-1', 'gen_ai.response.id': 'response-1' },
    'gen_ai.system_instructions': JSON.stringify([text('You report the weather.')]),
    'gen_ai.input.messages': JSON.stringify(input),
    'gen_ai.output.messages': JSON.stringify([output]),
    ...{ 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 5 },
    ...more,
  };
}

const tool = (name: string, id: string | undefined, input: object, output: string): Attributes => ({
  ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
  ...(id !== undefined && { 'gen_ai.tool.call.id': id }),
  'gen_ai.tool.call.arguments': JSON.stringify(input),
  'gen_ai.tool.call.result': output,
});

const noResult = 'The trace has no result of this call.';

const question = message('user', text('Weather in Bath?'));
const asking = message('assistant', text('Let me look.'), call('c1', 'weather', { town: 'Bath' }));

/** A run with a tool: two requests and one execution. */
function weatherRun({ start, span }: ReturnType<typeof tracedProgram>, forecast = 'sun') {
  const run = start('invoke_agent', 1000, agent('weather'));
  span('chat', [1010, 1110], chat([question], asking), run);
  span('execute_tool', [1120, 1150], tool('weather', 'c1', { town: 'Bath' }, forecast), run);
  const history = [question, asking, message('tool', result('c1', forecast))];
  const answer = message('assistant', text(`It will be ${forecast}.`));
  span('chat', [1160, 1260], chat(history, answer), run);
  run.end(timeOf(1270));
  return run.spanContext();
}

describe('25.8: spans of OpenTelemetry', () => {
  test('of a run become a session with turns, calls, results and times', async () => {
    const program = tracedProgram();
    const { traceId, spanId } = weatherRun(program);
    await program.provider.forceFlush();
    const sessions = await sessionsIn(program.log);
    expect([sessions, program.problems]).toEqual([[`${traceId}-${spanId}`], []]);
    const { lines, problems, spans, stop } = await readRecordedRun(
      program.log,
      `${traceId}-${spanId}`,
    );
    expect(problems).toEqual([]);
    expect(stop).toEqual({ reason: 'stop' });
    expect(lines).toEqual([
      'system: You report the weather.',
      'user: Weather in Bath?',
      'assistant: Let me look.',
      'c1: weather({"town":"Bath"})',
      'c1: weather = sun',
      'assistant: It will be sun.',
    ]);
    expect(
      spans.map(({ kind, name, startTime, endTime }) => [kind, name, startTime, endTime]),
    ).toEqual([
      ['run', 'Run 1', 1000, 1270],
      ['turn', 'Turn 1', 1010, 1150],
      ['attempt', 'model-1', 1010, 1110],
      ['call', 'weather', 1120, 1150],
      ['turn', 'Turn 2', 1160, 1260],
      ['attempt', 'model-1', 1160, 1260],
    ]);
    expect(spans[0]?.traceId).toBe(traceId);
    expect(spans[2]?.usage).toMatchObject({ input: 10, output: 5 });
  });

  test('can be compared: the first difference is the result of the tool', async () => {
    const program = tracedProgram({ session: ({ span }) => `run-${span}` });
    const ids = [weatherRun(program, 'sun'), weatherRun(program, 'rain')];
    await program.provider.forceFlush();
    const [a = '', b = ''] = ids.map(({ spanId }) => `run-${spanId}`);
    const diff = await diffSessions(
      { log: program.log, session: a },
      { log: program.log, session: b },
    );
    expect(diff.divergence).toMatchObject({ cause: 'tool_result', turn: 1 });
  });

  test('can be scored, and are cases of a dataset', async () => {
    const program = tracedProgram({ session: () => 's' });
    weatherRun(program, 'sun');
    await program.provider.forceFlush();
    const { log } = program;
    const calls = codeScorer('calls', ({ toolCalls }) => toolCalls.length === 1);
    const fast = codeScorer(
      'fast',
      ({ durationMs, usage }) => durationMs === 270 && usage.input === 20,
    );
    const scorers = [calls, fast, matchesText({ compare: 'contains' })];
    expect(await scoreSession({ log, session: 's', scorers, expected: 'sun' })).toMatchObject({
      ...{ calls: { value: 1 }, fast: { value: 1 }, matchesText: { value: 1 } },
    });
    const cases = casesFromSessions(log, ['s'], { expectAnswer: true });
    expect((await cases.next()).value).toMatchObject({ id: 's', expected: 'It will be sun.' });
  });

  test('of our own observer become the session that the loop wrote, without the message of the user', async () => {
    const { log, provider } = tracedProgram({ session: ({ agent: name }) => `${name}` });
    const look = defineTool({
      ...{ name: 'weather', description: 'The weather', input: z.object({ town: z.string() }) },
      execute: async ({ town }) => `sun in ${town}`,
    });
    const script = [
      ['Let me look.', toolCall('weather', { town: 'Bath' }, 'c1'), toolCall('weather', {}, 'c2')],
      'Sun.',
    ];
    const tracer = provider.getTracer('loop');
    const { observe } = openTelemetryObserver({ tracer, recordContent: true, agentName: 'copy' });
    const model = scriptedProvider(script);
    const desk = createAgent({ log, provider: model, tools: [look], observers: [observe] });
    await desk.run('Weather?', { session: 'own' }).result;
    await provider.forceFlush();
    const [own, copy] = [await readRecordedRun(log, 'own'), await readRecordedRun(log, 'copy')];
    expect(copy.problems).toEqual([]);
    // A call with invalid arguments does not run, so it has no span.
    const expected = own.lines
      .slice(1)
      .map((line) =>
        line.startsWith('c2: weather failed') ? `c2: weather failed ${noResult}` : line,
      );
    expect(copy.lines).toEqual(expected);
  });

  test('of a batch become a session too, and the options give its id and metadata', async () => {
    const log = memoryLog();
    const exporter = otelSessions({
      ...{ log, metadata: { cwd: '/orders' } },
      session: ({ conversation, agent: name }) => `${conversation}-${name}`,
    });
    const processor = new BatchSpanProcessor(exporter);
    const provider = new BasicTracerProvider({ spanProcessors: [processor] });
    const tracer = provider.getTracer('program');
    const run = tracer.startSpan('run', { attributes: agent('desk') });
    const under = trace.setSpan(context.active(), run);
    tracer.startSpan('chat', { attributes: chat([question], asking) }, under).end();
    run.end();
    await provider.shutdown();
    const { lines, records, problems } = await readRecordedRun(log, 'conversation-1-desk');
    expect(problems).toEqual([]);
    expect(lines.at(-1)).toBe(`c1: weather failed ${noResult}`);
    const started = records.find(
      ({ fact }) => fact?.type === 'item_started' && fact.kind === 'user',
    );
    expect(started?.fact).toMatchObject({ metadata: { cwd: '/orders' } });
  });

  test('below a tool are the session of a sub-agent, whose usage counts', async () => {
    const { start, span, provider, log } = tracedProgram({
      session: ({ agent: name }) => `${name}`,
    });
    const run = start('run', 1000, agent('boss'));
    span('chat', [1000, 1010], chat([question], asking), run);
    const execution = start('tool', 1020, tool('weather', 'c1', { town: 'Bath' }, 'sun'), run);
    const inner = start('run', 1025, agent('helper'), execution);
    span(
      'chat',
      [1030, 1040],
      chat([message('user', text('Bath'))], message('assistant', text('sun'))),
      inner,
    );
    inner.end(timeOf(1045));
    execution.end(timeOf(1050));
    run.end(timeOf(1060));
    await provider.forceFlush();
    expect(await sessionsIn(log)).toEqual(['boss', 'helper']);
    const [boss, helper] = [
      await readRecordedRun(log, 'boss'),
      await readRecordedRun(log, 'helper'),
    ];
    expect([boss.problems, helper.problems]).toEqual([[], []]);
    expect(helper.lines.slice(1)).toEqual(['user: Bath', 'assistant: sun']);
    expect(boss.spans.find(({ kind }) => kind === 'agent')).toMatchObject({ child: 'helper' });
    const used = boss.spans.filter(({ child, kind }) => kind === 'attempt' && child === 'helper');
    expect(used.map(({ usage }) => usage?.input)).toEqual([10]);
  });

  test('of a failed request and its retry are two attempts of one turn', async () => {
    const { start, span, provider, log } = tracedProgram({ session: () => 's' });
    const run = start('run', 1000, agent('desk'));
    const key = `sk-${'a1'.repeat(20)}`;
    const failed = start('chat', 1000, chat([question], {}, { 'error.type': '429' }), run);
    failed.setStatus({ code: SpanStatusCode.ERROR, message: `Slow down, ${key}` });
    failed.end(timeOf(1010));
    span('chat', [1100, 1200], chat([question], message('assistant', text('Sun.'))), run);
    run.end(timeOf(1300));
    await provider.forceFlush();
    const { spans, problems, lines, records } = await readRecordedRun(log, 's');
    expect(problems).toEqual([]);
    expect(lines.slice(1)).toEqual(['user: Weather in Bath?', 'assistant: Sun.']);
    const shown = spans.map(({ kind, status, endTime }) => [kind, status, endTime]);
    expect(shown).toEqual([
      ['run', 'ok', 1300],
      ['turn', 'ok', 1200],
      ['attempt', 'discarded', 1010],
      ['retry', 'waiting', 1100],
      ['attempt', 'ok', 1200],
    ]);
    expect(JSON.stringify(records)).not.toContain(key);
  });

  test('without an agent belong to the outermost span, and repeated layers count once', async () => {
    const { start, span, provider, log } = tracedProgram({ session: () => 's' });
    const request = start('POST /chat', 1000, {});
    const step = start('step', 1000, {}, request);
    const outer = start('chat', 1010, chat([question], asking), step);
    span('chat', [1010, 1015], chat([question], asking), outer);
    outer.end(timeOf(1020));
    step.end(timeOf(1020));
    span('tool', [1030, 1040], tool('weather', undefined, { town: 'Bath' }, 'sun'), request);
    span(
      'chat',
      [1050, 1060],
      chat([question, asking], message('assistant', text('Sun.'))),
      request,
    );
    request.end(timeOf(1100));
    await provider.forceFlush();
    const { lines, problems, spans } = await readRecordedRun(log, 's');
    expect(problems).toEqual([]);
    expect(lines.slice(1)).toEqual([
      ...['user: Weather in Bath?', 'assistant: Let me look.', 'c1: weather({"town":"Bath"})'],
      ...['c1: weather = sun', 'assistant: Sun.'],
    ]);
    expect(spans[0]).toMatchObject({ startTime: 1000, endTime: 1100 });
  });

  test('that never end are stored as interrupted at the end of the program', async () => {
    const { start, span, exporter, log } = tracedProgram({ session: () => 's' });
    const run = start('run', 1000, agent('desk'));
    span('chat', [1000, 1010], chat([question], message('assistant', text('Sun.'))), run);
    await exporter.forceFlush();
    expect(await sessionsIn(log)).toEqual([]);
    await exporter.shutdown();
    const { stop, lines, problems } = await readRecordedRun(log, 's');
    expect(problems).toEqual([]);
    expect(stop).toEqual({ reason: 'aborted', cause: 'interrupted' });
    expect(lines.at(-1)).toBe('assistant: Sun.');
  });

  test('that come after the end of their trace become a session of their own', async () => {
    const { start, span, exporter, log } = tracedProgram();
    const request = start('POST /chat', 1000, {});
    const late = start('chat', 1010, chat([question], message('assistant', text('Sun.'))), request);
    request.end(timeOf(1020));
    span('other', [1, 2], {});
    late.end(timeOf(1030));
    await exporter.shutdown();
    const [session = '', ...others] = await sessionsIn(log);
    expect(others).toEqual([]);
    expect((await readRecordedRun(log, session)).lines.at(-1)).toBe('assistant: Sun.');
  });

  test('without content still show models, tools, times and usage', async () => {
    const { start, span, provider, log } = tracedProgram({ session: () => 's' });
    const run = start('run', 1000, agent('desk'));
    const bare = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'model-2' };
    span('chat', [1000, 1010], { ...bare, 'gen_ai.usage.input_tokens': 7 }, run);
    span(
      'tool',
      [1010, 1020],
      { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'buy' },
      run,
    );
    run.end(timeOf(1030));
    await provider.forceFlush();
    const { spans, problems, lines } = await readRecordedRun(log, 's');
    expect([problems, lines]).toEqual([[], []]);
    expect(spans.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      ...['run Run 1', 'turn Turn 1', 'attempt model-2', 'call buy'],
    ]);
  });

  test('of a model with a known price have a cost', async () => {
    const { start, span, provider, log } = tracedProgram({ session: () => 's' });
    const run = start('run', 1000, agent('desk'));
    const known = { 'gen_ai.request.model': 'gpt-4o', 'gen_ai.usage.input_tokens': 1_000_000 };
    span('chat', [1000, 1010], chat([question], asking, known), run);
    run.end(timeOf(1030));
    await provider.forceFlush();
    const { spans } = await readRecordedRun(log, 's');
    const [cost] = spans.flatMap(({ usage }) => usage?.costs ?? []);
    expect(cost).toMatchObject({ currency: 'USD', amount: expect.stringMatching(/^2\.5/) });
  });

  test('of a session that exists already are reported, and change nothing', async () => {
    const program = tracedProgram({ session: () => 's' });
    weatherRun(program);
    await program.provider.forceFlush();
    const before = await program.log.info('s');
    weatherRun(program, 'rain');
    await program.provider.forceFlush();
    expect(program.problems).toEqual([expect.stringMatching(/^Cannot store .*: session_exists$/)]);
    expect(await program.log.info('s')).toEqual(before);
  });
});

test('25.8: an unknown option is refused', () => {
  const log = memoryLog();
  const options = { log, sesion: () => '' } as Parameters<typeof otelSessions>[0];
  expect(() => otelSessions(options)).toThrow('session');
});
