import { defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import type { ScriptEntry } from '@millrace/providers/scripted';
import { toolCall } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { toolAgent } from '../../agents/tool-agent.ts';
import { mcpClient, postMcp, serveMcp } from '../../testing/mcp/mcp-client.ts';

const remove = defineTool({
  ...{ name: 'remove', description: 'Removes a file', input: z.object({ path: z.string() }) },
  execute: async ({ path }) => `Removed ${path}`,
});
const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }), effects: 'none' },
  execute: async ({ at }) => ({ output: { text: `Saw ${at}`, value: { at } } }),
});
const versions = ['2026-07-28', '2025-11-25', '2025-06-18'] as const;
const structured = (result: object) =>
  (result as { readonly structuredContent?: Record<string, string> }).structuredContent ?? {};
const firstText = (result: object) =>
  (result as { readonly content: readonly { readonly text?: string }[] }).content[0]?.text ?? '';

describe.each(versions)('24.4: version %s', (version) => {
  test('an agent is a tool that answers, streams progress and continues its session', async () => {
    const { url } = await serveMcp(['One two three.', ({ items }) => `${items.length} items.`]);
    const client = await mcpClient(url, { version });
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['helper']);
    const told: (string | undefined)[] = [];
    const onprogress = ({ message }: { readonly message?: string }) => void told.push(message);
    const first = await client.callTool({ name: 'helper', arguments: { message: 'Count' } }, {
      onprogress,
    } as never);
    expect(structured(first)).toMatchObject({ answer: 'One two three.', status: 'completed' });
    expect(told.join('')).toBe('One two three.');
    const { session_id } = structured(first);
    const args = { message: 'More', session_id };
    expect(structured(await client.callTool({ name: 'helper', arguments: args }))).toEqual({
      ...{ answer: '3 items.', session_id, status: 'completed' },
    });
    const again = await client.callTool({ name: 'helper', arguments: { session_id } });
    expect(structured(again)['answer']).toBe('3 items.');
  });

  test.each([
    [{ action: 'accept', content: { approve: true } }, 'Removed a.txt'],
    [{ action: 'accept', content: { approve: false, reason: 'Not now' } }, 'Not now'],
    [{ action: 'decline' }, 'The user declined'],
    [{ action: 'cancel' }, 'dismissed'],
  ])('an approval is a question to the user, who answers %j', async (answer, result) => {
    const { url, log } = await serveMcp([toolCall('remove', { path: 'a.txt' }, 'c1'), 'Done.'], {
      agent: { tools: [remove], approve: () => 'ask' },
    });
    const asked: string[] = [];
    const onElicit = ({ message }: { readonly message: string }) => {
      asked.push(message);
      return answer;
    };
    const client = await mcpClient(url, { version, onElicit });
    const called = await client.callTool({ name: 'helper', arguments: { message: 'Remove it' } });
    expect(structured(called)).toMatchObject({ answer: 'Done.', status: 'completed' });
    expect(asked).toEqual([expect.stringMatching(/remove.*a\.txt/s)]);
    const { records } = await log.read(sessionId(structured(called)['session_id'] ?? ''));
    expect(JSON.stringify(records)).toContain(result);
  });

  test('a client without forms is told what to do, and gets the answer later', async () => {
    const { url } = await serveMcp([toolCall('remove', { path: 'a.txt' }, 'c1'), 'Done.'], {
      agent: { tools: [remove], approve: () => 'ask' },
    });
    const client = await mcpClient(url, { version });
    const called = await client.callTool({ name: 'helper', arguments: { message: 'Remove it' } });
    expect(structured(called)['status']).toBe('waiting');
    expect(firstText(called)).toMatch(/remove[\s\S]*a\.txt[\s\S]*A person has to answer/);
    const { session_id = '' } = structured(called);
    const more = { message: 'And?', session_id };
    const refused = await client.callTool({ name: 'helper', arguments: more });
    expect([refused.isError, firstText(refused)]).toEqual([
      ...[true, expect.stringContaining('waits for an answer')],
    ]);
    await fetch(`${url}/tasks/${session_id}/commands`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'approve', tool_call_id: 'c1' }),
    });
    const later = await client.callTool({ name: 'helper', arguments: { session_id } });
    expect(structured(later)).toMatchObject({ answer: 'Done.', status: 'completed' });
  });

  test('a cancelled call stops its run', async () => {
    const endless: ScriptEntry = { content: { parts: ['One two three'] }, pauseMs: 10_000_000 };
    const { url, log } = await serveMcp([endless]);
    const client = await mcpClient(url, { version });
    const cancel = new AbortController();
    const called = client.callTool({ name: 'helper', arguments: { message: 'Count' } }, {
      signal: cancel.signal,
      onprogress: () => cancel.abort(),
    } as never);
    await expect(called).rejects.toThrow();
    const [session] = await log.list();
    await expect
      .poll(async () => JSON.stringify((await log.read(session?.session ?? '')).records))
      .toContain('"aborted"');
  });

  test('tools are called directly, with questions and errors', async () => {
    const { url } = await serveMcp([], {
      more: (on) => [
        toolAgent({
          ...{ name: 'tools', tools: [look, remove], log: on },
          approve: ({ name }) => (name === 'remove' ? 'ask' : 'allow'),
        }),
      ],
    });
    const onElicit = () => ({ action: 'accept', content: { approve: true } });
    const client = await mcpClient(url, { version, onElicit });
    const { tools } = await client.listTools();
    expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual([
      ...[
        ['helper', false],
        ['look', true],
        ['remove', false],
      ],
    ]);
    const seen = await client.callTool({ name: 'look', arguments: { at: 'x' } });
    expect([firstText(seen), structured(seen)]).toEqual(['Saw x', { at: 'x' }]);
    // The session of a call that changed nothing is not kept.
    await expect.poll(async () => (await client.listResources()).resources).toEqual([]);
    const gone = await client.callTool({ name: 'remove', arguments: { path: 'b' } });
    expect(firstText(gone)).toBe('Removed b');
    const wrong = await client.callTool({ name: 'look', arguments: { at: 1 } });
    expect([wrong.isError, firstText(wrong)]).toEqual([true, expect.stringContaining('at')]);
    const mute = await mcpClient(url, { version });
    const denied = await mute.callTool({ name: 'remove', arguments: { path: 'c' } });
    expect([denied.isError, firstText(denied)]).toEqual([
      ...[true, expect.stringContaining('cannot ask its user')],
    ]);
    await expect(client.callTool({ name: 'nothing', arguments: {} })).rejects.toThrow(
      'Cannot find the tool nothing',
    );
  });

  test('sessions are resources, and prompts are offered', async () => {
    const prompt = {
      ...{ name: 'review', description: 'Reviews', arguments: [{ name: 'file', required: true }] },
      get: async ({ file }: Readonly<Record<string, string>>) => `Review ${file}`,
    };
    const { url } = await serveMcp(['Hello there.'], { server: { mcp: { prompts: [prompt] } } });
    const client = await mcpClient(url, { version });
    const called = await client.callTool({ name: 'helper', arguments: { message: 'Hi' } });
    const { session_id } = structured(called);
    const { resources } = await client.listResources();
    const uri = `millrace://sessions/${session_id}`;
    expect(resources.map((one) => one.uri)).toEqual([uri]);
    const { contents } = await client.readResource({ uri });
    expect(contents[0]).toMatchObject({ text: '## user\n\nHi\n\n## assistant\n\nHello there.\n' });
    await expect(client.readResource({ uri: `${uri}x` })).rejects.toThrow('Cannot find');
    const { messages } = await client.getPrompt({ name: 'review', arguments: { file: 'a.ts' } });
    expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Review a.ts' } }]);
    await expect(client.getPrompt({ name: 'review' })).rejects.toThrow('file is missing');
  });
});

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {
    elicitation: {},
    extensions: { 'io.modelcontextprotocol/tasks': {} },
  },
};
const modern = (url: string, method: string, params: Record<string, unknown>) =>
  postMcp(
    url,
    { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
    {
      ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
      'mcp-name': String(params['name'] ?? params['taskId'] ?? ''),
    },
  );

test('24.4: a long run is a task that asks, is answered, completes, and can be cancelled', async () => {
  const endless: ScriptEntry = { content: { parts: ['One two'] }, pauseMs: 10_000_000 };
  const { url } = await serveMcp([toolCall('remove', { path: 'a' }, 'c1'), 'Done.', endless], {
    agent: { tools: [remove], approve: () => 'ask' },
  });
  const start = async () => {
    const args = { name: 'helper', arguments: { message: 'Go' } };
    return (await modern(url, 'tools/call', args)).json.result;
  };
  const created = await start();
  expect(created).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null });
  const { taskId } = created;
  const read = async (id = taskId) => (await modern(url, 'tasks/get', { taskId: id })).json.result;
  await expect.poll(() => read()).toMatchObject({ status: 'input_required' });
  const { inputRequests } = await read();
  expect(inputRequests.c1).toMatchObject({ method: 'elicitation/create' });
  const inputResponses = { c1: { action: 'accept', content: { approve: true } }, other: {} };
  const updated = await modern(url, 'tasks/update', { taskId, inputResponses });
  expect(updated.json.result).toMatchObject({ resultType: 'complete' });
  await expect.poll(() => read()).toMatchObject({ status: 'completed' });
  expect((await read()).result).toMatchObject({ structuredContent: { answer: 'Done.' } });
  const second = (await start()).taskId;
  await modern(url, 'tasks/cancel', { taskId: second });
  await expect.poll(() => read(second)).toMatchObject({ status: 'cancelled' });
  const unknown = await modern(url, 'tasks/get', { taskId: 'run_x_1' });
  expect(unknown.json.error).toMatchObject({ code: -32_602 });
});

test('24.4: a stream of a version before 2026-07-28 continues after a cut at any event', async () => {
  const { url } = await serveMcp(['One two three four.']);
  const opened = await postMcp(url, {
    ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} },
  });
  const headers = {
    'mcp-session-id': opened.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': '2025-11-25',
  };
  const call = { name: 'helper', arguments: { message: 'Go' }, _meta: { progressToken: 'p' } };
  const whole = await postMcp(
    url,
    { jsonrpc: '2.0', id: 7, method: 'tools/call', params: call },
    headers,
  );
  const events = (text: string) =>
    text.split('\n\n').flatMap((block) => {
      const [, id = ''] = /^id: (.*)$/m.exec(block) ?? [];
      const [, data = ''] = /^data: ?(.*)$/m.exec(block) ?? [];
      return id === '' ? [] : { id, data };
    });
  const all = events(whole.text);
  expect(JSON.parse(all.at(-1)?.data ?? '')).toMatchObject({
    ...{ id: 7, result: { structuredContent: { answer: 'One two three four.' } } },
  });
  for (const [index, { id }] of all.slice(0, -1).entries()) {
    const rest = await fetch(`${url}/mcp`, {
      headers: { ...headers, accept: 'text/event-stream', 'last-event-id': id },
    });
    const more = events(await rest.text());
    expect(more.at(-1)).toEqual(all.at(-1));
    expect(more.length).toBeLessThanOrEqual(all.length - index - 1);
  }
});

describe('24.4: bad input', () => {
  test.each<[string, unknown, Record<string, string>, number, number]>([
    ['text that is not JSON', '{', {}, 400, -32_700],
    ['a batch', [], {}, 400, -32_600],
    ['another version of JSON-RPC', { id: 1, method: 'ping' }, {}, 400, -32_600],
    ['no method', { jsonrpc: '2.0', id: 1 }, {}, 400, -32_600],
    ['an id that is null', { jsonrpc: '2.0', id: null, method: 'ping' }, {}, 400, -32_600],
    ['a long id', { jsonrpc: '2.0', id: 'x'.repeat(300), method: 'ping' }, {}, 400, -32_600],
    [
      'params that are a list',
      { jsonrpc: '2.0', id: 1, method: 'ping', params: [] },
      {},
      400,
      -32_600,
    ],
    ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'constructor' }, {}, 200, -32_601],
    [
      'an unknown version',
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { 'mcp-protocol-version': '1999-01-01' },
      ...[400, -32_022],
    ] as never,
    [
      'an unknown connection',
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { 'mcp-session-id': 'x' },
      ...[404, -32_000],
    ] as never,
  ])('%s is refused', async (_, message, headers, status, code) => {
    const { url } = await serveMcp([]);
    const { json, ...reply } = await postMcp(url, message as never, headers);
    expect([reply.status, json?.error.code]).toEqual([status, code]);
  });

  test('a state of another call, an answer to nothing and another origin are refused', async () => {
    const { url } = await serveMcp(
      [toolCall('remove', { path: 'a' }, 'c1'), toolCall('remove', { path: 'b' }, 'c2'), 'Done.'],
      { agent: { tools: [remove], approve: () => 'ask' } },
    );
    const noTasks = { ...meta, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
    const call = (params: Record<string, unknown>) =>
      postMcp(
        url,
        {
          ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
          params: { name: 'helper', arguments: { message: 'Go' }, ...params, _meta: noTasks },
        },
        {
          ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' },
          ...{ 'mcp-name': 'helper', accept: 'application/json' },
        },
      );
    const { requestState } = (await call({})).json.result;
    const inputResponses = { c1: { action: 'accept', content: { approve: true } } };
    for (const wrong of [
      { requestState: `${requestState}x` },
      { requestState: 'x' },
      { requestState: 1 },
      { requestState, arguments: { message: 'Other' } },
    ]) {
      const { json } = await call({ inputResponses, ...wrong });
      expect([wrong, json.error?.code]).toEqual([wrong, -32_602]);
    }
    const same = (await call({ requestState, inputResponses: { other: {} } })).json.result;
    expect(same).toMatchObject({ resultType: 'input_required', inputRequests: { c1: {} } });
    const next = (await call({ requestState, inputResponses })).json.result;
    expect(Object.keys(next.inputRequests)).toEqual(['c2']);
    const stray = await postMcp(url, { jsonrpc: '2.0', id: 'q.eyJ9', result: {} });
    expect(stray.status).toBe(202);
    const page = await postMcp(
      url,
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { origin: 'https://evil.example' },
    );
    expect(page.status).toBe(403);
    expect((await fetch(`${url}/mcp`)).status).toBe(405);
    expect((await fetch(`${url}/mcp`, { method: 'DELETE' })).status).toBe(405);
  });
});
