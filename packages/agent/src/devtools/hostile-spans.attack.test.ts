import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { readRecordedRun, sessionsIn } from '../testing/recorded-runs.ts';
import { aiSdkSessions } from './ai-sdk-sessions.ts';
import { openaiAgentsSessions } from './openai-agents-sessions.ts';
import { type ExportedSpan, otelSessions } from './otel-sessions.ts';

// The content of spans comes from models, tools and other services. It must not stop the program, fill its
// memory, or make a session that cannot be read.

const text = (content: unknown) => [{ role: 'user', parts: [{ type: 'text', content }] }];

function spanOf(id: string, attributes: object, parent?: string): ExportedSpan {
  const ids = { traceId: 'a'.repeat(32), traceFlags: 1 };
  return {
    spanContext: () => ({ ...ids, spanId: id }),
    ...(parent !== undefined && { parentSpanContext: { ...ids, spanId: parent } }),
    ...{ startTime: [1, 0], endTime: [2, 0], status: { code: 0 } },
    attributes: attributes as ExportedSpan['attributes'],
  };
}

const chat = (more: object) => ({ 'gen_ai.operation.name': 'chat', ...more });

/** Exports spans, and returns all sessions. All of them are legal. */
async function exported(...spans: readonly ExportedSpan[]) {
  const log = memoryLog();
  const problems: string[] = [];
  const exporter = otelSessions({ log, onDiagnostic: (problem) => problems.push(problem) });
  await new Promise<void>((resolve) => exporter.export(spans, () => resolve()));
  await exporter.shutdown();
  const sessions = await Promise.all(
    (await sessionsIn(log)).map((session) => readRecordedRun(log, session)),
  );
  for (const session of sessions) expect(session.problems).toEqual([]);
  return { sessions, problems, lines: sessions.flatMap(({ lines }) => lines) };
}

const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test.each([
  ['a deep value', deep(100_000)],
  ['a message that is a deep value', JSON.stringify(text('x')).replace('"x"', deep(500))],
  ['a text that is cut off', '[{"role":"user","parts":[{"type":"te'],
  ['a value of another type', JSON.stringify([null, 5, [], { role: 5 }, { role: '__proto__' }])],
  ['names of the prototype', '[{"role":"constructor","parts":[{"type":"__proto__"}]}]'],
  ['half a character', '[{"role":"user","parts":[{"type":"text","content":"\\ud800"}]}]'],
])('attack: an attribute with %s gives a session that can be read', async (_what, attribute) => {
  const { sessions } = await exported(
    spanOf('1'.repeat(16), chat({ 'gen_ai.input.messages': attribute })),
  );
  expect(sessions).toHaveLength(1);
});

test('attack: a long text is cut off, and a longer attribute is not read', async () => {
  const long = JSON.stringify(text('x'.repeat(2 ** 20 + 5)));
  const { lines } = await exported(spanOf('1'.repeat(16), chat({ 'gen_ai.input.messages': long })));
  expect(lines[0]?.length).toBeLessThan(2 ** 20 + 100);
  expect(lines[0]).toMatch(/\(5 characters were removed\)$/);
  const longer = JSON.stringify(text('x'.repeat(2 ** 24)));
  expect(
    (await exported(spanOf('1'.repeat(16), chat({ 'gen_ai.input.messages': longer })))).lines,
  ).toEqual([]);
});

test('attack: an answer with too many calls and with bad ids has a result for each call', async () => {
  const ids = ['\u0000', 'x'.repeat(5000), 'c1', '', 'c1'];
  const named = (id: string) => ({ type: 'tool_call', id, name: '\u0007' });
  const answerOf = (parts: readonly object[]) =>
    chat({ 'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts }]) });
  const few = await exported(spanOf('1'.repeat(16), answerOf(ids.map(named))));
  expect(few.lines).toHaveLength(10);
  const many = Array.from({ length: 600 }, (_, at) => named(`c${at % 300}`));
  const log = memoryLog();
  const exporter = otelSessions({ log, session: () => 's' });
  exporter.export([spanOf('1'.repeat(16), answerOf(many))], () => {});
  await exporter.forceFlush();
  const { records } = await log.read('s', { maxBytes: Number.POSITIVE_INFINITY });
  const rejected = records.filter(({ fact }) => fact?.type === 'tool_call_rejected');
  expect(rejected).toHaveLength(500);
});

test('attack: spans that are their own ancestors, or that throw, do not affect the others', async () => {
  const broken = { ...spanOf('4', {}), spanContext: () => expect.fail('no context') };
  const { sessions } = await exported(
    ...[spanOf('1', chat({}), '2'), spanOf('2', {}, '3'), spanOf('3', {}, '2'), broken],
    ...[undefined as unknown as ExportedSpan, spanOf('5', chat({}))],
  );
  expect(sessions).toHaveLength(2);
});

test('attack: a flood of spans without an end is bounded, and its problems name no content', async () => {
  const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'secret' };
  const spans = Array.from({ length: 12_000 }, (_, at) => spanOf(`s${at}`, attributes, 'none'));
  const { sessions, problems } = await exported(...spans);
  expect(sessions).toEqual([]);
  expect(problems).toEqual([expect.stringContaining('2000 were dropped')]);
  expect(problems.join()).not.toContain('secret');
});

test('attack: events with values that are not JSON do not throw into the program', async () => {
  const log = memoryLog();
  const circle: Record<string, unknown> = { big: 10n };
  circle['self'] = circle;
  const sessions = aiSdkSessions({ log });
  for (const event of [undefined, null, 5, circle, { callId: circle }]) sessions.onStart(event);
  sessions.onStart({ callId: 'call-1', operationId: 'ai.generateText', functionId: circle });
  sessions.onLanguageModelCallStart({
    callId: 'call-1',
    messages: [{ role: 'user', content: [circle] }],
  });
  sessions.onLanguageModelCallEnd({
    callId: 'call-1',
    content: [{ type: 'tool-call', input: circle }],
    usage: circle,
  });
  sessions.onToolExecutionEnd({
    callId: 'call-1',
    toolCall: circle,
    toolOutput: { output: circle },
  });
  sessions.onError({ callId: 'call-1', error: circle });
  await sessions.close();
  expect((await readRecordedRun(log, 'call-1')).problems).toEqual([]);
  const agents = openaiAgentsSessions({ log });
  const trace = { traceId: 'trace_1', name: 'n', groupId: null };
  await agents.onTraceStart(trace);
  const times = { startedAt: '2026-01-01T00:00:00Z', endedAt: '2026-01-01T00:00:01Z', error: null };
  const ids = { traceId: 'trace_1', spanId: 'span_1', parentId: null };
  await agents.onSpanEnd({
    ...ids,
    ...times,
    spanData: { type: 'response', _response: circle } as never,
  });
  await agents.onSpanEnd({ ...ids, ...times, startedAt: 'never', spanData: { type: 'agent' } });
  await agents.onTraceEnd(trace);
  await agents.forceFlush();
  expect((await readRecordedRun(log, 'trace_1')).problems).toEqual([]);
});
