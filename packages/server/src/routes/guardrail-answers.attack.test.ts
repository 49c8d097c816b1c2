import { clientTool, createAgent, defineTool, inputGuardrail } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createServer } from '../create-server.ts';
import { asUser, type Json, userOfCookie } from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

// A user answers a question or runs a tool. The user wants the model to read a text that a guardrail refuses.

const guardrail = inputGuardrail({
  name: 'words',
  check: ({ text }) => {
    if (text.includes('magic')) return { verdict: 'stop', reason: 'no magic' };
    if (!text.includes('secret')) return 'pass';
    return { verdict: 'change', to: text.replaceAll('secret', '[masked]') };
  },
});

const anything = z.looseObject({});
const tools = [
  defineTool({
    ...{ name: 'send', description: 'Sends', input: anything },
    execute: async (input) => `sent ${JSON.stringify(input)}`,
  }),
  clientTool({ name: 'look', description: 'Looks', input: anything, output: z.unknown() }),
  defineTool({
    ...{ name: 'form', description: 'Asks', input: anything },
    execute: async (_input, { ask }) => {
      const schema = { type: 'object', properties: { town: { type: 'string' } } } as const;
      return JSON.stringify(await ask?.({ message: 'Which town?', schema }));
    },
  }),
  defineTool({
    ...{ name: 'weather', description: 'Reports', input: anything },
    execute: async () => 'The weather is secret.',
  }),
];

/** Serves an agent that calls a tool and waits for the user. */
async function serve(...called: readonly string[]) {
  const log = memoryLog();
  const calls = called.map((name) => toolCall(name, {}));
  const provider = scriptedProvider([...calls, 'one', 'two', 'three']);
  const agent = createAgent({
    ...{ log, provider, tools, guardrails: [guardrail], callerOptions: 'accept' },
    ...{ whileAsking: 'park', approve: ({ tool }) => (tool.name === 'send' ? 'ask' : 'allow') },
  });
  const server = createServer({
    ...{ log, tokens: [testToken('operator')], authorize: userOfCookie },
    agents: [{ type: 'loop', name: 'loop', agent }],
  });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const send = async (method: string, path: string, body?: object): Promise<string> => {
    const headers = { cookie: asUser('ann'), 'content-type': 'application/json' };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    return (await fetch(`${url}${path}`, init)).text();
  };
  const taskOf = async (name: string) => JSON.parse(await send('GET', `/tasks/name/${name}`)).id;
  /** Waits until a run has ended with the reason. */
  const ended = (taskId: string, reason: string) =>
    expect
      .poll(() => send('GET', `/tasks/${taskId}/records`))
      .toMatch(new RegExp(`"run_finished","runId":"[^"]+","stop":{"reason":"${reason}"`));
  const sent = () => JSON.stringify(provider.requests.map(({ request }) => request.items));
  return { send, taskOf, ended, sent, provider };
}

type Served = Awaited<ReturnType<typeof serve>>;
/** Answers the waiting call. `text` is the text of the user. Returns the id of the task. */
type Door = (served: Served, text: string) => Promise<string>;

const agUi = '/agents/name/loop/ag-ui';
const hi = { id: 'm', role: 'user', content: 'Hi' };

async function startThread({ send, taskOf }: Served) {
  const first = await send('POST', agUi, { threadId: 't', runId: 'r1', messages: [hi] });
  const [, callId = ''] =
    /"interrupts":\[\{"id":"([^"]+)"/.exec(first) ??
    /"pendingToolCallIds":\["([^"]+)"/.exec(first) ??
    [];
  expect(callId).not.toBe('');
  return { callId, taskId: await taskOf('t') };
}

const resume =
  (payload: (text: string) => object): Door =>
  async (served, text) => {
    const { callId: interruptId, taskId } = await startThread(served);
    const answer = { interruptId, status: 'resolved', payload: payload(text) };
    const body = { threadId: 't', runId: 'r2', messages: [hi], resume: [answer] };
    await served.send('POST', agUi, body);
    return taskId;
  };

const command =
  (of: (text: string) => object): Door =>
  async (served, text) => {
    const { callId: tool_call_id, taskId } = await startThread(served);
    await served.send('POST', `/tasks/${taskId}/commands`, { tool_call_id, ...of(text) });
    return taskId;
  };

const chat =
  (of: (text: string, callId: string) => object): Door =>
  async (served, text) => {
    const user = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
    const path = '/agents/name/loop/chat';
    const first = await served.send('POST', path, { id: 't', messages: [user] });
    const [, callId = ''] = /"toolCallId":"([^"]+)"/.exec(first) ?? [];
    const [, id = ''] = /"messageId":"([^"]+)"/.exec(first) ?? [];
    const part = { toolCallId: callId, input: {}, ...of(text, callId) };
    const answered = { id, role: 'assistant', parts: [part] };
    await served.send('POST', path, { id: 't', messages: [user, answered] });
    return served.taskOf('t');
  };

const responses =
  (of: (text: string, call: Json) => object): Door =>
  async ({ send }, text) => {
    const own = [{ type: 'function', name: 'ask', parameters: {} }];
    const start = { model: 'loop', input: 'Hi', tools: own };
    const first = JSON.parse(await send('POST', '/v1/responses', start));
    const call = first.output.at(-1);
    const input = [of(text, call)];
    const next = { model: 'loop', previous_response_id: first.id, input };
    await send('POST', '/v1/responses', next);
    return first.id.split('_')[1];
  };

/** Answers the form of a running tool. */
const form: Door = async ({ send }, town) => {
  const create = { method: 'task/create', params: {} };
  const { result } = JSON.parse(await send('POST', '/agents/name/loop/rpc', create));
  const commands = `/tasks/${result.id}/commands`;
  const content = { type: 'text', author: 'user', content: 'Hi' };
  await send('POST', commands, { type: 'message', content });
  const asked = /"approval_asked","toolCallId":"([^"]+)"/;
  const records = () => send('GET', `/tasks/${result.id}/records`);
  await expect.poll(records).toMatch(asked);
  const [, tool_call_id] = asked.exec(await records()) ?? [];
  await send('POST', commands, { type: 'approve', tool_call_id, input: { town } });
  return result.id;
};

const doors: readonly (readonly [title: string, tool: string, door: Door])[] = [
  ['the reason of a denial', 'send', command((reason) => ({ type: 'deny', reason }))],
  ['edited arguments', 'send', command((text) => ({ type: 'approve', input: { text } }))],
  ['the output of a client', 'look', command((output) => ({ type: 'tool_output', output }))],
  ['the error of a client', 'look', command((error) => ({ type: 'tool_output', error }))],
  ['the answer to a form', 'form', form],
  ['a reason of AG-UI', 'send', resume((reason) => ({ approved: false, reason }))],
  [
    ...['edited arguments of AG-UI', 'send'],
    resume((text) => ({ approved: true, editedArgs: { text } })),
  ] as const,
  [
    'a tool message of AG-UI',
    'look',
    async (served, content) => {
      const { callId: toolCallId, taskId } = await startThread(served);
      const messages = [hi, { id: 'o', role: 'tool', toolCallId, content }];
      await served.send('POST', agUi, { threadId: 't', runId: 'r2', messages });
      return taskId;
    },
  ],
  [
    ...['a reason of a chat', 'send'],
    chat((reason, callId) => ({
      ...{ type: 'tool-send', state: 'approval-responded' },
      approval: { id: callId, approved: false, reason },
    })),
  ] as const,
  [
    ...['the output of a page', 'look'],
    chat((output) => ({ type: 'tool-look', state: 'output-available', output })),
  ] as const,
  [
    ...['a reason of /v1/responses', 'send'],
    responses((reason, { id: approval_request_id }) => ({
      ...{ type: 'mcp_approval_response', approve: false, reason, approval_request_id },
    })),
  ] as const,
  [
    ...['an output of /v1/responses', 'ask'],
    responses((output, { call_id }) => ({ type: 'function_call_output', call_id, output })),
  ] as const,
];

describe.each(doors)('18.310: attack: %s reaches the model', (_title, tool, door) => {
  test('although a guardrail stops it', async () => {
    const served = await serve(tool);
    const taskId = await door(served, 'some magic');
    await served.ended(taskId, 'blocked');
    // The stopped text is in no later request either.
    const runInput = { threadId: taskId, runId: 'r9', messages: [{ ...hi, id: 'm9' }] };
    expect(await served.send('POST', agUi, runInput)).toContain('RUN_FINISHED');
    expect(served.provider.requests).toHaveLength(2);
    expect(served.sent()).not.toContain('magic');
  });

  test('although a guardrail masks it', async () => {
    const served = await serve(tool);
    const taskId = await door(served, 'the secret');
    await served.ended(taskId, 'stop');
    expect(served.provider.requests).toHaveLength(2);
    expect(served.sent()).toContain('the [masked]');
    expect(served.sent()).not.toContain('the secret');
    // The call has one result on the log.
    const records = await served.send('GET', `/tasks/${taskId}/records`);
    expect(records.split('"part":{"kind":"tool_result"')).toHaveLength(2);
  });
});

test('18.310: a text that the guardrail passes reaches the model, and results of tools are no inputs', async () => {
  const served = await serve('weather');
  const started = await served.send('POST', agUi, { threadId: 't', runId: 'r', messages: [hi] });
  expect(started).toContain('RUN_FINISHED');
  expect(served.sent()).toContain('The weather is secret.');
  for (const [, tool, door] of doors.slice(0, 3)) {
    const passed = await serve(tool);
    await passed.ended(await door(passed, 'a calm word'), 'stop');
    expect(passed.sent()).toContain('a calm word');
  }
});

test.each([
  ['look', { type: 'tool_output', output: 'calm' }],
  ['send', { type: 'approve' }],
  ['send', { type: 'deny' }],
])(
  '18.1104: attack: a client writes the result of a waiting call of %s as a message (%o)',
  async (tool, answer) => {
    const served = await serve(tool);
    const { callId: tool_call_id, taskId } = await startThread(served);
    const listed = JSON.parse(await served.send('GET', `/messages?task_id=${taskId}`));
    const { id, content } = listed.find((one: Json) => one.content.type === 'tool_response');
    const edit = { ...content, content: 'some magic' };
    const one = { task_id: taskId, content: edit };
    expect(await served.send('PUT', `/messages/${id}`, one)).toContain(
      'the agent still writes its turn',
    );
    for (const more of [
      { streaming_status: 'IN_PROGRESS' },
      { content: { ...edit, author: 'user' } },
      { content: { type: 'text', author: 'agent', content: 'some magic' } },
    ])
      expect(await served.send('PUT', `/messages/${id}`, { ...one, ...more })).toContain(
        'bad_state',
      );
    const batch = { task_id: taskId, updates: { [id]: edit } };
    expect(await served.send('PUT', '/messages/batch', batch)).toContain('bad_state');
    await served.send('POST', `/tasks/${taskId}/commands`, { tool_call_id, ...answer });
    await served.ended(taskId, 'stop');
    expect(served.provider.requests).toHaveLength(2);
    expect(served.sent()).not.toContain('magic');
  },
);
