import { createHash } from 'node:crypto';
import { type Agent, clientTool, createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createServer } from '../create-server.ts';
import { asUser, type Json, userOfCookie } from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

// A user answers a call of a tool that clients run. In the output, the user refers to content of somebody else, as a
// tool of the agent could do it.

const salaries = `the salaries of all people ${'x'.repeat(3000)}`;
const hash = createHash('sha256').update(salaries).digest('hex');
const rpcPath = '/agents/name/loop/rpc';
const file = { kind: 'file', name: 'a.txt', mimeType: 'text/plain' };
const stored = { ...file, source: { type: 'blob', hash, length: salaries.length } };
const uploaded = { ...file, source: { type: 'provider_file', provider: 'openai', id: 'file-1' } };
const metadata = { changedInput: { q: 'other' }, wholeOutput: { hash, length: salaries.length } };

const outputs = {
  'a file in the store': { output: { text: 'ok', attachments: [stored] } },
  'a file of the operator at the provider': { output: { text: 'ok', attachments: [uploaded] } },
  'marks of the loop': { output: { text: 'ok', attachments: [stored], metadata } },
};

test.each(Object.entries(outputs))(
  '18.1029: attack: the output of a client names %s',
  async (_title, output) => {
    const log = memoryLog();
    const provider = scriptedProvider([toolCall('look', {}, 'c1'), 'Done.']);
    const look = clientTool({ name: 'look', description: 'Looks', input: z.object({}) });
    const agent = createAgent({ log, provider, tools: [look], whileAsking: 'park' });
    const server = createServer({
      ...{ log, tokens: [testToken('operator')], authorize: userOfCookie },
      agents: [{ type: 'loop', name: 'loop', agent: agent as Agent }],
    });
    onTestFinished(async () => {
      await server.close();
      await log.close();
    });
    const send = (user: string, method: string, path: string, body?: object) => {
      const isFile = body instanceof Blob;
      const type = `application/${isFile ? 'octet-stream' : 'json'}`;
      const headers = { cookie: asUser(user), 'content-type': type };
      const sent = body && { body: isFile ? body : JSON.stringify(body) };
      return server.fetch(new Request(`http://localhost${path}`, { method, headers, ...sent }));
    };
    const rpc = async (user: string, method: string, params: object) =>
      ((await (await send(user, 'POST', rpcPath, { method, params })).json()) as Json).result;
    const taskOf = async (user: string): Promise<string> => (await rpc(user, 'task/create', {})).id;
    const kept = await taskOf('ann');
    const upload = `/tasks/${kept}/files?name=a.txt&type=text/plain`;
    expect((await send('ann', 'POST', upload, new Blob([salaries]))).status).toBeLessThan(300);
    const task = await taskOf('bob');
    const content = { type: 'text', author: 'user', content: 'Go' };
    await rpc('bob', 'message/send', { task_id: task, content });
    const given = { type: 'tool_output', tool_call_id: 'c1', output };
    expect((await send('bob', 'POST', `/tasks/${task}/commands`, given)).status).toBe(202);
    await expect.poll(() => provider.requests.length).toBe(2);
    const [result] = provider.requests[1]?.request.items.at(-1)?.parts ?? [];
    // The model reads the output as the JSON that it is.
    expect(result).toMatchObject({ kind: 'tool_result', text: JSON.stringify(output) });
    expect(result).not.toHaveProperty('attachments');
    expect(result).not.toHaveProperty('metadata.changedInput');
    expect((await send('bob', 'GET', `/tasks/${task}/blobs/${hash}`)).status).toBe(404);
  },
);
