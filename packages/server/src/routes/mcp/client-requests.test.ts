import { defineTool, type FormAnswer, type Tool, type ToolContext } from '@millrace/agent';
import { type FormQuestion, foldersQuestion, modelQuestion } from '@millrace/core';
import type { Log } from '@millrace/log';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type ToolAgentOptions, toolAgent } from '../../agents/tool-agent.ts';
import { mcpClient, postMcp, serveMcp } from '../../testing/mcp/mcp-client.ts';

const nameForm = {
  ...{ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
const who: FormQuestion & { key: string } = {
  ...{ key: 'user_name', message: 'Who are you?', schema: nameForm },
};
const tool = (name: string, execute: (context: ToolContext) => Promise<string>): Tool =>
  defineTool({
    ...{ name, description: name, input: z.object({}) },
    execute: async (_, context) => execute(context),
  }) as Tool;
const askWith = async ({ ask }: ToolContext, form: FormQuestion): Promise<string> =>
  JSON.stringify((await ask?.(form)) ?? 'nobody');
const tools = [
  tool('greet', (context) => askWith(context, who)),
  tool('think', (context) =>
    askWith(context, modelQuestion({ prompt: 'Think', maxTokens: 9, system: 'Be kind' })),
  ),
  tool('look', (context) => askWith(context, foldersQuestion({ key: 'folders' }))),
  tool('twice', async (context) => {
    await context.ask?.(who);
    return askWith(context, { ...who, message: 'Again?' });
  }),
];
const serve = (options: Partial<ToolAgentOptions> = {}, server = {}) =>
  serveMcp([], {
    server,
    more: (log: Log) => [toolAgent({ name: 'tools', tools, log, ...options })],
  });

/** Sends a request of 2026-07-28. */
async function modern(
  url: string,
  method: string,
  params: Record<string, unknown>,
  abilities: object,
) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': abilities,
  };
  const { json, status } = await postMcp(
    url,
    { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
    {
      ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
      ...{ 'mcp-name': String(params['name'] ?? params['taskId'] ?? '') },
      accept: 'application/json',
    },
  );
  return { status, ...json };
}

const callOf = (url: string, abilities: object) => (name: string, more: object) =>
  modern(url, 'tools/call', { name, arguments: {}, ...more }, abilities);
const textOf = ({ result }: { readonly result: object }) =>
  (result as { readonly content: readonly { readonly text: string }[] }).content[0]?.text ?? '';
const accepted = (content: object) => ({ action: 'accept', content });

test('24.4: a tool names its question, and the answer can come with the call', async () => {
  const { url } = await serve();
  const call = callOf(url, { elicitation: {} });
  const { result } = await call('greet', {});
  expect(result.inputRequests).toEqual({
    user_name: {
      method: 'elicitation/create',
      params: { message: 'Asked by tool greet:\nWho are you?', requestedSchema: nameForm },
    },
  });
  const ann = { user_name: accepted({ name: 'Ann' }), other: accepted({}) };
  const { requestState } = result;
  expect(textOf(await call('greet', { requestState, inputResponses: ann }))).toContain('Ann');
  expect(textOf(await call('greet', { inputResponses: ann }))).toContain('Ann');
  for (const inputResponses of [null, { user_name: 5 }, { other: accepted({ name: 'Ann' }) }])
    expect((await call('greet', { inputResponses })).result.resultType).toBe('input_required');
  // One answer never answers two questions.
  expect(textOf(await call('twice', { inputResponses: ann }))).toContain('user_name already');
});

test('24.4: an approval is never answered by a key that came with the call', async () => {
  const { url } = await serve({ approve: () => 'ask' });
  const call = callOf(url, { elicitation: {} });
  const inputResponses = {
    user_name: accepted({ approve: true }),
    c1: accepted({ approve: true }),
  };
  const { result } = await call('greet', { inputResponses });
  expect(JSON.stringify(result.inputRequests)).toContain('Allow this call');
});

test('24.4: the model and the folders of a client answer, and others show a form', async () => {
  const { url } = await serve();
  const both = { sampling: {}, roots: {} };
  const call = callOf(url, both);
  const thought = (await call('think', {})).result;
  const [[key, request]] = Object.entries(thought.inputRequests) as [[string, object]];
  expect(request).toEqual({
    method: 'sampling/createMessage',
    params: {
      messages: [{ role: 'user', content: { type: 'text', text: 'Think' } }],
      ...{ maxTokens: 9, systemPrompt: 'Be kind' },
    },
  });
  const said = { role: 'assistant', model: 'm', content: [{ type: 'text', text: 'Hm' }] };
  const { requestState } = thought;
  const answered = await call('think', { requestState, inputResponses: { [key]: said } });
  expect(textOf(answered)).toContain('{"text":"Hm"}');
  const roots = { roots: [{ uri: 'file:///a' }, { uri: 'file:///b' }] };
  const looked = await call('look', { inputResponses: { folders: roots } });
  expect(textOf(looked)).toContain('file:///a\\nfile:///b');
  const wrong = await call('look', { inputResponses: { folders: { roots: 'all' } } });
  expect(textOf(wrong)).toContain('cancel');
  const form = (await callOf(url, { elicitation: {} })('think', {})).result;
  expect(Object.values(form.inputRequests)).toMatchObject([{ method: 'elicitation/create' }]);
  expect(textOf(await callOf(url, { roots: {} })('think', {}))).toContain('cancel');
  // A client of an earlier version gets the same request on its stream.
  const client = await mcpClient(url, {
    ...{ version: '2025-11-25', onSample: () => ({ ...said, content: said.content[0] as object }) },
  });
  const result = await client.callTool({ name: 'think', arguments: {} });
  expect(textOf({ result })).toContain('{"text":"Hm"}');
});

test('24.4: a tool declares what the client must be able to do', async () => {
  const { url } = await serve({
    needs: { think: ['sampling'] },
    longTools: ['look', { name: 'greet', needsTask: true, asksFirst: true }],
  });
  const refused = await callOf(url, { elicitation: {} })('think', {});
  expect(refused).toMatchObject({
    status: 400,
    error: { code: -32_021, data: { requiredCapabilities: { sampling: {} } } },
  });
  expect((await callOf(url, { elicitation: {} })('greet', {})).error.data).toEqual({
    requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  });
  const extensions = { 'io.modelcontextprotocol/tasks': {} };
  const abilities = { elicitation: {}, extensions };
  const call = callOf(url, abilities);
  const first = (await call('greet', {})).result;
  expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { user_name: {} } });
  const { requestState } = first;
  const inputResponses = { user_name: accepted({ name: 'Ann' }) };
  const second = (await call('greet', { requestState, inputResponses })).result;
  expect(second).toMatchObject({ resultType: 'task', taskId: expect.any(String) });
  expect('requestState' in second).toBe(false);
  const read = async (taskId: string) =>
    (await modern(url, 'tasks/get', { taskId }, abilities)).result;
  await expect.poll(() => read(second.taskId)).toMatchObject({ status: 'completed' });
  // The questions of other long tools are questions of the task, with the keys of the tool.
  const { taskId } = (await call('look', {})).result;
  await expect.poll(() => read(taskId)).toMatchObject({ inputRequests: { folders: {} } });
  const folders = accepted({ folders: 'file:///c' });
  await modern(url, 'tasks/update', { taskId, inputResponses: { folders } }, abilities);
  await expect.poll(() => read(taskId)).toMatchObject({ status: 'completed' });
  expect(JSON.stringify(await read(taskId))).toContain('file:///c');
});

test('24.4: a task whose run failed has an error and no result', async () => {
  const { url } = await serve({
    longTools: ['greet'],
    prepareStep: () => {
      throw new Error('The agent is broken');
    },
  });
  const abilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const { taskId } = (await callOf(url, abilities)('greet', {})).result;
  const read = async () => (await modern(url, 'tasks/get', { taskId }, abilities)).result;
  await expect.poll(read).toMatchObject({
    status: 'failed',
    error: { code: -32_603, data: { session_id: expect.any(String) } },
  });
  expect('result' in (await read())).toBe(false);
});

test('24.4: a prompt and a resource ask the user, one question after the other', async () => {
  const prompt = {
    name: 'letter',
    get: async (_: object, reader: { ask(q: typeof who): Promise<FormAnswer> }) => {
      const first = await reader.ask(who);
      const second = await reader.ask({ ...who, key: 'other', message: 'And who else?' });
      return JSON.stringify([first, second]);
    },
  };
  const resource = {
    ...{ uri: 'docs://me', name: 'me' },
    read: async (_: object, reader: { ask(q: typeof who): Promise<FormAnswer> }) =>
      JSON.stringify(await reader.ask(who)),
  };
  const { url } = await serve({}, { mcp: { prompts: [prompt], resources: [resource] } });
  const get = (more: object, abilities: object = { elicitation: {} }) =>
    modern(url, 'prompts/get', { name: 'letter', ...more }, abilities);
  const first = (await get({})).result;
  expect(Object.keys(first.inputRequests)).toEqual(['user_name']);
  const wrong = { inputResponses: { user_name: accepted({ name: 5 }) } };
  expect(Object.keys((await get(wrong)).result.inputRequests)).toEqual(['user_name']);
  const ann = { inputResponses: { user_name: accepted({ name: 'Ann' }) } };
  const second = (await get(ann)).result;
  expect(Object.keys(second.inputRequests)).toEqual(['other']);
  const { requestState } = second;
  const last = await get({ requestState, inputResponses: { other: { action: 'decline' } } });
  expect(JSON.parse(last.result.messages[0].content.text)).toEqual([
    { action: 'accept', content: { name: 'Ann' } },
    { action: 'decline' },
  ]);
  for (const bad of ['x', '[]', 5]) {
    const { error } = await get({ requestState: bad });
    expect(error.code).toBe(-32_602);
  }
  expect(JSON.stringify((await get({}, {})).result)).toContain('cancel');
  const client = await mcpClient(url, { version: '2025-11-25' });
  expect(JSON.stringify(await client.getPrompt({ name: 'letter' }))).toContain('cancel');
  const read = await postMcp(
    url,
    {
      ...{ jsonrpc: '2.0', id: 1, method: 'resources/read' },
      params: {
        uri: 'docs://me',
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
        },
      },
    },
    {
      ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'resources/read' },
      'mcp-name': 'docs://me',
    },
  );
  expect(read.json.result.inputRequests).toMatchObject({ user_name: {} });
});
