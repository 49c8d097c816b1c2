import { createAgent, defineTool } from '@millrace/agent';
import { agUiAgent } from '@millrace/agent/remote';
import { isJsonObject, type JsonObject, type JsonValue, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { openaiChat } from '@millrace/providers';
import { a2a } from '@millrace/providers/a2a';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { resultLine, startRemoteAgent } from '../../testing/servers/remote-agent.ts';
import { createTaskHarness, textDelta } from '../../testing/servers/task-harness.ts';

// A model or a remote agent repeats the token of the request in fields that are no text of the answer.

const token = 'corporate "key" 7f3a9c/of-the-user';
const headers = { authorization: `Bearer ${token}` };
const session = sessionId('s1');

const sse = (...events: readonly (object | string)[]): Response => {
  const texts = events.map((event) => (typeof event === 'string' ? event : JSON.stringify(event)));
  const body = texts.map((text) => `data: ${text}\n\n`).join('');
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
};

type Path = readonly (string | number)[];

function textPaths(value: JsonValue, path: Path = []): readonly Path[] {
  if (typeof value === 'string') return [path];
  if (Array.isArray(value)) return value.flatMap((one, at) => textPaths(one, [...path, at]));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, one]) => textPaths(one ?? null, [...path, name]));
}

function withToken(value: JsonValue, [first, ...rest]: Path): JsonValue {
  if (first === undefined) return `${String(value)} ${token}`;
  const copy = structuredClone(value) as Record<string | number, JsonValue>;
  copy[first] = withToken(copy[first] ?? null, rest);
  return copy;
}

/** The texts of the answer. The remote agent can write the token there. */
const texts = new Set(['chunk', 'text', 'arguments', 'input', 'value']);

/** Returns the places of the token in a log, except in texts of the answer. */
function placesOf(value: unknown, path = ''): readonly string[] {
  if (typeof value === 'string')
    return value.includes(token) || value.includes('7f3a9c') ? [`${path}: ${value}`] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => {
    const isAnswer = texts.has(name) && typeof one === 'string' && !path.includes('metadata');
    const found = isAnswer ? [] : placesOf(one, `${path}.${name}`);
    return name.includes('7f3a9c') ? [`${path}: the field ${name}`, ...found] : found;
  });
}

const card = {
  capabilities: { streaming: true },
  supportedInterfaces: [
    { url: 'https://agents.example/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
};

const about = { taskId: 'task-1', contextId: 'ctx-1' };
const said = (text: string) => ({ messageId: `m-${text}`, role: 'ROLE_AGENT', parts: [{ text }] });
const file = { url: 'https://x.example/a.png', mediaType: 'image/png', filename: 'a.png' };
const taskEvents = (state: string): JsonObject[] => [
  { task: { id: 'task-1', contextId: 'ctx-1', status: { state: 'TASK_STATE_WORKING' } } },
  { statusUpdate: { ...about, status: { state: 'TASK_STATE_WORKING', message: said('Hm') } } },
  {
    artifactUpdate: {
      ...about,
      artifact: {
        artifactId: 'a-1',
        name: 'answer',
        parts: [{ text: 'Hi' }, file, { data: ['x'] }],
      },
    },
  },
  { statusUpdate: { ...about, status: { state, message: said('Done') } } },
];

async function logOf(agent: ReturnType<typeof createAgent>, log: ReturnType<typeof memoryLog>) {
  const { error } = await agent.run('Hello', { session }).result;
  const { records } = await log.read(session);
  return [error?.message, records] as const;
}

test.each(['COMPLETED', 'FAILED', 'INPUT_REQUIRED'])(
  '18.861: attack: an agent of A2A repeats the token in each field of a task in turn: %s',
  async (state) => {
    const events = taskEvents(`TASK_STATE_${state}`);
    const results: JsonValue = events.map((result) => ({ jsonrpc: '2.0', id: 1, result }));
    const refusal = { code: -32_001, message: 'Bad', data: [{ reason: 'NO' }] };
    const refused: JsonValue = [{ jsonrpc: '2.0', id: 1, error: refusal }];
    for (const answer of [results, refused]) {
      for (const path of textPaths(answer)) {
        const changed = withToken(answer, path) as JsonObject[];
        const fetch: typeof globalThis.fetch = async (url, init) => {
          if (String(url).endsWith('agent-card.json')) return Response.json(card);
          // A task that did not end cannot be followed again.
          return String(init?.body).includes('SendStreamingMessage')
            ? sse(...changed)
            : Response.json({ jsonrpc: '2.0', id: 1, error: { code: -32_001, message: token } });
        };
        const log = memoryLog();
        const provider = a2a({ url: 'https://agents.example', headers, fetch });
        const found = await logOf(createAgent({ provider, log, retry: { maxAttempts: 1 } }), log);
        expect([path, placesOf(found)]).toEqual([path, []]);
      }
    }
  },
);

test('18.862: attack: an id of A2A with the token is not sent back, so the next message works', async () => {
  const sent: JsonObject[] = [];
  const fetch: typeof globalThis.fetch = async (url, init) => {
    if (String(url).endsWith('agent-card.json')) return Response.json(card);
    sent.push(JSON.parse(String(init?.body)) as JsonObject);
    const task = { id: 'task-1', contextId: `ctx ${token}` };
    const status = { state: 'TASK_STATE_COMPLETED', message: said('Hi') };
    return sse({ jsonrpc: '2.0', id: 1, result: { task: { ...task, status } } });
  };
  const log = memoryLog();
  const provider = a2a({ url: 'https://agents.example', headers, fetch });
  const agent = createAgent({ provider, log });
  for (const text of ['Hello', 'Again'])
    expect((await agent.run(text, { session }).result).reason).toBe('stop');
  expect(sent).toHaveLength(2);
  expect(JSON.stringify(sent[1])).not.toMatch(/contextId|redacted/);
});

const run = { threadId: 's1', runId: 'r-1' };
const runEvents: JsonObject[] = [
  { type: 'RUN_STARTED', ...run },
  { type: 'REASONING_MESSAGE_CONTENT', messageId: 'm-0', delta: 'Hm' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm-1', delta: 'Hi' },
  { type: 'TOOL_CALL_START', toolCallId: 'c-1', toolCallName: 'pay', parentMessageId: 'm-2' },
  { type: 'TOOL_CALL_ARGS', toolCallId: 'c-1', delta: '{}' },
  { type: 'TOOL_CALL_END', toolCallId: 'c-1' },
  { type: 'TOOL_CALL_RESULT', messageId: 'm-3', toolCallId: 'c-1', content: 'paid' },
  { type: 'RUN_FINISHED', ...run },
];

test.each<[string, readonly JsonObject[]]>([
  ['a run', runEvents],
  ['a failed run', [...runEvents.slice(0, -1), { type: 'RUN_ERROR', message: 'Bad', code: 'x' }]],
  ['an interrupt', [...runEvents.slice(0, 6), interrupted()]],
])('18.863: attack: an agent of AG-UI repeats the token in each field of %s', async (_, events) => {
  for (const path of textPaths([...events])) {
    const name = path.at(-1);
    if (name === 'type' || name === 'delta' || name === 'content') continue;
    // A server that uses the token in an id uses it in all fields with this id.
    const value = path.reduce<unknown>((at, step) => Reflect.get(at as object, step), events);
    const sameId = textPaths([...events]).filter(
      (other) =>
        other.reduce<unknown>((at, step) => Reflect.get(at as object, step), events) === value,
    );
    const changed = sameId.reduce<JsonValue>(withToken, [...events]) as JsonObject[];
    let count = 0;
    const fetch = async () =>
      ++count === 1 ? sse(...changed) : sse({ type: 'RUN_FINISHED', ...run });
    const log = memoryLog();
    const agent = agUiAgent({ url: 'https://agents.example/x', headers, fetch, log });
    const running = agent.run('Hello', { session });
    let isOver = false;
    const result = running.result.finally(() => {
      isOver = true;
    });
    const isAsked = async () =>
      (await log.read(session)).records.some(({ fact }) => fact?.type === 'approval_asked');
    await expect.poll(async () => isOver || (await isAsked())).toBe(true);
    running.abort();
    const { error } = await result;
    const { records } = await log.read(session);
    expect([path, placesOf([error?.message, records])]).toEqual([path, []]);
    if (events !== runEvents) continue;
    const results = records.flatMap(({ delta }) =>
      delta?.type === 'commit_part' && delta.part?.kind === 'tool_result' ? [delta.part.text] : [],
    );
    expect([path, results]).toEqual([path, ['paid']]);
  }
});

const longToken = `7f3a9c${'abcdefghij'.repeat(30)}`;
const longHeaders = { authorization: `Bearer ${longToken}` };

test.each(['a refusal', 'an error event'])(
  '18.1532: attack: an agent of AG-UI repeats a long token in %s, so that the text is cut inside of the token',
  async (kind) => {
    for (let before = 0; before < 300; before += 30) {
      const text = `${'x'.repeat(before)}${longToken.repeat(200)}`;
      const fetch = async () =>
        kind === 'a refusal'
          ? new Response(text, { status: 403 })
          : sse({ type: 'RUN_STARTED', ...run }, { type: 'RUN_ERROR', message: text, code: 'x' });
      const log = memoryLog();
      const url = 'https://agents.example/x';
      const agent = agUiAgent({ url, headers: longHeaders, fetch, log });
      const { error } = await agent.run('Hello', { session }).result;
      const { records } = await log.read(session);
      const shown = JSON.stringify([error?.message, records]);
      expect(shown).toContain('[redacted]');
      expect([before, shown.match(/7f3a9c\w*/)?.[0]]).toEqual([before, undefined]);
    }
  },
);

test('18.1533: attack: an agent of AG-UI repeats the token in a long question, which is cut inside of the token', async () => {
  for (const before of [7_400, 7_600, 7_800, 7_900]) {
    const message = `${'x'.repeat(before)}${longToken}${'y'.repeat(9_000)}`;
    const question = {
      ...interrupted(),
      outcome: { type: 'interrupt', interrupts: [{ id: 'i-1', message }] },
    };
    const fetch = async () => sse({ type: 'RUN_STARTED', ...run }, question);
    const log = memoryLog();
    const url = 'https://agents.example/x';
    const running = agUiAgent({ url, headers: longHeaders, fetch, log }).run('Hello', { session });
    const asked = async () =>
      (await log.read(session)).records.find(({ fact }) => fact?.type === 'approval_asked');
    await expect.poll(asked).toBeDefined();
    running.abort();
    await running.result;
    const shown = JSON.stringify((await log.read(session)).records);
    expect([before, shown.match(/7f3a9c\w*/)?.[0]]).toEqual([before, undefined]);
  }
});

function interrupted(): JsonObject {
  const responseSchema = { type: 'object', properties: { why: { type: 'string', title: 'Why' } } };
  const interrupt = { id: 'i-1', toolCallId: 'c-1', message: 'May I?', responseSchema };
  return { type: 'RUN_FINISHED', ...run, outcome: { type: 'interrupt', interrupts: [interrupt] } };
}

test('18.864: attack: a call id with the key gets another id, in the log and in the next request', async () => {
  const key = 'key-7f3a9c-of-the-user';
  const bodies: JsonObject[] = [];
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    bodies.push(JSON.parse(String(init?.body)) as JsonObject);
    const call = (index: number) => ({
      ...{ index, id: `call_${key}_${index}`, type: 'function' },
      function: { name: 'weather', arguments: `{"city":"${index}"}` },
    });
    const delta = bodies.length === 1 ? { tool_calls: [call(0), call(1)] } : { content: 'Sunny' };
    const finish_reason = bodies.length === 1 ? 'tool_calls' : 'stop';
    return sse(
      { choices: [{ index: 0, delta }] },
      { choices: [{ index: 0, delta: {}, finish_reason }] },
      '[DONE]',
    );
  };
  const log = memoryLog();
  const provider = openaiChat({ model: 'm', baseUrl: 'http://localhost:9', apiKey: key, fetch });
  const weather = defineTool({
    ...{ name: 'weather', description: 'Weather', input: z.object({ city: z.string() }) },
    execute: async ({ city }) => `Sunny in ${city}`,
  });
  const { text } = await createAgent({ provider, log, tools: [weather] }).run('Hi', { session })
    .result;
  expect(text).toBe('Sunny');
  expect(JSON.stringify((await log.read(session)).records)).not.toContain(key);
  const messages = bodies[1]?.['messages'] as JsonObject[];
  const calls = messages.flatMap(({ tool_calls: made }) => (made ?? []) as JsonObject[]);
  const results = messages.filter(({ role }) => role === 'tool');
  expect(calls.map(({ id }) => id)).toEqual(['call_redacted_0', 'call_redacted_1']);
  expect(results.map(({ tool_call_id: id, content }) => [id, content])).toEqual([
    ['call_redacted_0', 'Sunny in 0'],
    ['call_redacted_1', 'Sunny in 1'],
  ]);
});

test('18.865: attack: a registered agent repeats its key in an error and in ids', async () => {
  const agent = await startRemoteAgent((call, response) => {
    const key = String(call.headers['x-agent-api-key']);
    response.setHeader('content-type', 'application/x-ndjson');
    response.write(resultLine(textDelta(0, 'Hi')));
    const request = { type: 'tool_request', author: 'agent', name: 'pay', arguments: {} };
    response.write(
      resultLine({ type: 'full', index: 1, content: { ...request, tool_call_id: key } }),
    );
    response.end(resultLine(null, { error: { code: 1, message: `The key ${key} is invalid` } }));
  });
  const { service, newTask, send, log } = await createTaskHarness([]);
  const described = { name: 'far', description: 'Far away', acp_url: agent.url };
  await service.agents.register({ ...described, acp_type: 'sync' });
  const { id } = await newTask('far');
  const failure = await send('far', id, 'Hi').then(
    async (answer) => answer.messages().then(String, String),
    String,
  );
  const key = String(agent.calls[0]?.headers['x-agent-api-key']);
  expect(key.length).toBeGreaterThan(8);
  const { records } = await log.read(sessionId(id));
  expect(JSON.stringify([failure, records])).not.toContain(key);
  expect(JSON.stringify([failure, records])).toContain('The key redacted is invalid');
});
