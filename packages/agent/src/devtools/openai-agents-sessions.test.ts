import { memoryLog } from '@millrace/log';
import {
  jsonReply,
  type ScriptedServer,
  startScriptedServer,
} from '@millrace/providers/scripted-server';
import {
  Agent,
  addTraceProcessor,
  OpenAIProvider,
  Runner,
  setTraceProcessors,
  setTracingDisabled,
  type TracingProcessor,
  tool,
  withTrace,
} from '@openai/agents';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { readRecordedRun, sessionsIn } from '../testing/recorded-runs.ts';
import { type OpenaiAgentsSessions, openaiAgentsSessions } from './openai-agents-sessions.ts';

let server: ScriptedServer;
let log: ReturnType<typeof memoryLog>;
let sessions: OpenaiAgentsSessions;

// The SDK disables tracing in tests.
beforeAll(() => setTracingDisabled(false));
afterAll(() => {
  setTracingDisabled(true);
  setTraceProcessors([]);
});

beforeEach(async () => {
  // The server does not check requests, because the SDK sends fields that the real API ignores.
  server = await startScriptedServer([], { strict: false });
  log = memoryLog();
  sessions = openaiAgentsSessions({ log });
  setTraceProcessors([]);
  addTraceProcessor(sessions satisfies TracingProcessor);
  const opened = server;
  onTestFinished(() => opened.close());
});

const weather = tool({
  ...{ name: 'weather', description: 'Returns the weather' },
  parameters: z.object({ town: z.string() }),
  execute: async ({ town }) => `sun in ${town}`,
});
const calls = [
  { id: 'c1', name: 'weather', arguments: '{"town":"Bath"}' },
  { id: 'c2', name: 'weather', arguments: '{"town":"York"}' },
];

/** Runs an agent with streamed requests, because the scripted server always streams. */
async function run(
  agent: Agent,
  input: string,
  options: { useResponses?: boolean; hides?: boolean } = {},
) {
  const { useResponses = true, hides = false } = options;
  const modelProvider = new OpenAIProvider({
    ...{ baseURL: `${server.url}/v1`, apiKey: 'none', useResponses },
  });
  const runner = new Runner({ modelProvider, traceIncludeSensitiveData: !hides });
  const streamed = await runner.run(agent, input, { stream: true });
  await streamed.completed;
  return streamed.finalOutput;
}

async function onlySession() {
  await sessions.forceFlush();
  const [session = '', ...others] = await sessionsIn(log);
  expect(others).toEqual([]);
  return readRecordedRun(log, session);
}

describe('25.8: the OpenAI Agents SDK', () => {
  test.each([true, false])(
    'a run with parallel tools becomes a session (Responses API: %s)',
    async (useResponses) => {
      const agent = new Agent({
        ...{ name: 'Desk', instructions: 'Be kind.', model: 'model-1', tools: [weather] },
      });
      server.answer({ text: 'Let me look.', toolCalls: calls, usage: { input: 20, output: 9 } });
      server.answer({ text: 'Sun, both.', usage: { input: 40, output: 4 } });
      expect(await run(agent, 'Weather?', { useResponses })).toBe('Sun, both.');
      const { lines, problems, spans, stop } = await onlySession();
      expect(problems).toEqual([]);
      expect(stop).toMatchObject({ reason: 'stop' });
      expect(lines.filter((line) => !line.startsWith('system'))).toEqual([
        ...['user: Weather?', 'assistant: Let me look.'],
        ...['c1: weather({"town":"Bath"})', 'c2: weather({"town":"York"})'],
        ...['c1: weather = sun in Bath', 'c2: weather = sun in York', 'assistant: Sun, both.'],
      ]);
      expect(spans.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
        ...['run Run 1', 'turn Turn 1', 'attempt model-1', 'call weather', 'call weather'],
        ...['turn Turn 2', 'attempt model-1'],
      ]);
      expect(spans.flatMap(({ usage }) => usage?.input ?? [])).toEqual([20, 40]);
    },
  );

  test('a hand-off is part of the session', async () => {
    const baker = new Agent({ name: 'Baker', model: 'model-2' });
    const desk = Agent.create({ name: 'Desk', model: 'model-1', handoffs: [baker] });
    const handOff = { id: 'c1', name: 'transfer_to_Baker', arguments: '{}' };
    server.answer({ toolCalls: [handOff] });
    server.answer({ text: 'Bread is ready.' });
    await run(desk, 'Bread?');
    const { lines, problems, records } = await onlySession();
    expect(problems).toEqual([]);
    expect(lines.at(-1)).toBe('assistant: Bread is ready.');
    const facts = records.flatMap(({ fact }) => (fact?.type === 'handed_off' ? fact.to : []));
    expect(facts).toEqual(['Baker']);
  });

  test('an agent as a tool becomes the session of a sub-agent', async () => {
    const baker = new Agent({ name: 'Baker', model: 'model-1' });
    const tools = [baker.asTool({ toolName: 'ask_baker', toolDescription: 'Asks the baker' })];
    const desk = new Agent({ name: 'Desk', model: 'model-1', tools });
    const asking = { id: 'c1', name: 'ask_baker', arguments: '{"input":"Bread?"}' };
    server.answer({ toolCalls: [asking] });
    // The SDK does not stream the requests of an agent that is a tool.
    const content = [{ type: 'output_text', text: 'In the oven.', annotations: [] }];
    const message = { type: 'message', id: 'm1', role: 'assistant', status: 'completed', content };
    const response = { id: 'r1', object: 'response', status: 'completed', model: 'model-1' };
    const usage = { input_tokens: 7, output_tokens: 2, total_tokens: 9 };
    server.reply(jsonReply(200, { ...response, output: [message], usage }));
    server.answer({ text: 'It is in the oven.' });
    await run(desk, 'Where is the bread?');
    await sessions.forceFlush();
    const [outer = '', inner = '', ...others] = await sessionsIn(log);
    expect(others).toEqual([]);
    const [boss, child] = [await readRecordedRun(log, outer), await readRecordedRun(log, inner)];
    expect([boss.problems, child.problems]).toEqual([[], []]);
    expect(boss.lines).toEqual([
      ...['user: Where is the bread?', 'c1: ask_baker({"input":"Bread?"})'],
      ...['c1: ask_baker = In the oven.', 'assistant: It is in the oven.'],
    ]);
    expect(child.lines).toEqual(['user: Bread?', 'assistant: In the oven.']);
    expect(boss.spans.find(({ kind }) => kind === 'agent')).toMatchObject({ child: inner });
    expect(child.spans.at(-1)?.usage).toMatchObject({ input: 7, output: 2 });
  });

  test('several runs of one trace are one session', async () => {
    const agent = new Agent({ name: 'Desk', model: 'model-1' });
    server.answer({ text: 'One.' });
    server.answer({ text: 'Two.' });
    await withTrace('Both', async () => {
      await run(agent, 'First?');
      await run(agent, 'Second?');
    });
    const { lines, problems } = await onlySession();
    expect(problems).toEqual([]);
    expect(lines).toEqual(['user: First?', 'assistant: One.', 'user: Second?', 'assistant: Two.']);
  });

  test('content that the program excludes is not stored', async () => {
    const agent = new Agent({ name: 'Desk', model: 'model-1' });
    server.answer({ text: 'A secret answer.' });
    await run(agent, 'A secret question', { hides: true });
    const { records, problems } = await onlySession();
    expect(problems).toEqual([]);
    expect(JSON.stringify(records)).not.toContain('secret');
  });
});
