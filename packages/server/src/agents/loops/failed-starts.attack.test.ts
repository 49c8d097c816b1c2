import { createAgent, defineTool, handOff, inputGuardrail, type Tool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { patientMs } from '../../../../core/src/testing/runs.ts';
import type { Rows } from '../../contract/rows.ts';
import type { LoopAgent } from '../../contract/served-agent.ts';
import { createServer } from '../../create-server.ts';
import { memoryRows } from '../../rows/memory-rows.ts';
import { testToken } from '../../testing/servers/test-server.ts';

// A program serves an agent whose hand-offs cannot work. A run finds this only at its start.

const token = testToken('operator');
const headers = {
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  'a2a-version': '1.0',
};

/** Serves the agent `front`, which hands off to `billing` and to `legal`. */
function frontAgent(
  log: Log,
  names: readonly [string, string],
  script: readonly ScriptEntry[] = ['Hi.', 'Hi.'],
): LoopAgent {
  const agentOf = (name: string, guardrail: string, tools: readonly Tool[]) =>
    createAgent({
      ...{ name, tools, log, provider: scriptedProvider([]) },
      guardrails: [inputGuardrail({ name: guardrail, check: () => 'pass' })],
    });
  const legal = agentOf('legal', names[0], []);
  const billing = agentOf('billing', names[1], [handOff({ to: legal, description: 'Law' })]);
  const front = createAgent({
    ...{ name: 'front', log, provider: scriptedProvider(script), whileAsking: 'park' },
    approve: () => 'ask',
    tools: [
      handOff({ to: billing, description: 'Bills' }),
      defineTool({
        ...{ name: 'pay', description: 'Pays', input: z.object({}) },
        execute: async () => 'paid',
      }),
    ],
  });
  return { type: 'loop', name: 'front', agent: front };
}

async function serve(
  log: Log,
  rows: Rows,
  names: readonly [string, string],
  script?: readonly ScriptEntry[],
) {
  const agents = [frontAgent(log, names, script)];
  const server = createServer({ log, rows, tokens: [token], agents });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const post = async (path: string, body: object) => {
    const sent = { method: 'POST', headers, body: JSON.stringify(body) };
    const answer = await fetch(url + path, sent);
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of any shape
    return { status: answer.status, json: (await answer.json()) as any };
  };
  return { server, url, post };
}

test('18.1205: attack: a message to an agent that cannot start waits for ever', async () => {
  const [log, rows] = [memoryLog(), memoryRows()];
  const broken = await serve(log, rows, ['policy', 'policy']);
  const say = (text: string, contextId?: string) => ({
    message: {
      ...{ messageId: text, role: 'ROLE_USER', parts: [{ text }] },
      ...(contextId !== undefined && { contextId }),
    },
  });
  const a2a = '/agents/name/front/a2a/message:send';
  const failed = {
    state: 'TASK_STATE_FAILED',
    message: {
      parts: [{ text: expect.stringMatching('billing and legal: both have a guardrail') }],
    },
  };
  const first = await broken.post(a2a, say('one'));
  expect(first.json).toMatchObject({ task: { status: failed } });
  const { contextId } = first.json.task;
  const chat = { model: 'front', messages: [{ role: 'user', content: 'Hi' }] };
  expect(await broken.post('/v1/chat/completions', chat)).toMatchObject({
    ...{ status: 502, json: { error: { code: 'name_taken' } } },
  });
  expect(await broken.post('/v1/responses', { model: 'front', input: 'Hi' })).toMatchObject({
    json: { status: 'failed', error: { code: 'name_taken' } },
  });
  const rpc = await broken.post('/agents/name/front/rpc', {
    ...{ jsonrpc: '2.0', id: 1, method: 'message/send' },
    params: { task_id: contextId, content: { type: 'text', author: 'user', content: 'two' } },
  });
  expect(JSON.stringify(rpc.json.error)).toContain('name_taken');
  // The next message gets its own error, and no command starts further runs.
  await broken.post(`/tasks/${contextId}/commands`, { type: 'compact' });
  const again = await broken.post(a2a, say('three', contextId));
  expect(again.json).toMatchObject({ task: { status: failed } });
  const session = sessionId(contextId);
  expect(await log.info(session)).toMatchObject({ hasWork: false });
  await broken.server.close();
  const { records } = await log.read(session);
  const runs = records.filter(({ fact }) => fact?.type === 'run_started');
  expect(runs.length).toBeLessThanOrEqual(4);
  const repaired = await serve(log, rows, ['policy', 'other']);
  const answered = await repaired.post(a2a, say('four', contextId));
  expect(answered.json).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
});

test('18.1207: attack: a message to a task whose open call cannot continue waits for ever', async () => {
  const [log, rows] = [memoryLog(), memoryRows()];
  const first = await serve(log, rows, ['policy', 'other'], [toolCall('pay')]);
  const create = { jsonrpc: '2.0', id: 1, method: 'task/create', params: {} };
  const { id } = (await first.post('/agents/name/front/rpc', create)).json.result;
  const say = { task_id: id, content: { type: 'text', author: 'user', content: 'Hi' } };
  const rpc = { jsonrpc: '2.0', id: 1, method: 'message/send', params: say };
  await first.post('/agents/name/front/rpc', rpc);
  const session = sessionId(id);
  await expect.poll(async () => (await log.info(session))?.lease).toBeUndefined();
  await first.server.close();
  const broken = await serve(log, rows, ['policy', 'policy']);
  const refused = { error: { data: { code: 'bad_state', stop: 'error' } } };
  expect((await broken.post('/agents/name/front/rpc', rpc)).json).toMatchObject(refused);
  const { records } = await log.read(session);
  const { toolCallId } =
    records.flatMap(({ fact }) => (fact?.type === 'approval_asked' ? fact : []))[0] ?? {};
  const approve = { type: 'approve', tool_call_id: toolCallId };
  const approved = await broken.post(`/tasks/${id}/commands`, approve);
  expect(approved.status).toBeLessThan(300);
  expect((await broken.post('/agents/name/front/rpc', rpc)).json).toMatchObject(refused);
  await broken.server.close();
  const answers = ['It is paid.', 'Hi.', 'Hi.', 'Hi.', 'Hi.'];
  const repaired = await serve(log, rows, ['policy', 'other'], answers);
  expect((await repaired.post('/agents/name/front/rpc', rpc)).json.error).toBeNull();
  const { records: all } = await log.read(session);
  const paid = all.filter(({ fact }) => fact?.type === 'tool_execution_finished');
  expect(paid).toHaveLength(1);
});

test('18.1300: attack: a message to a session of a later version waits for ever', async () => {
  const [log, rows] = [memoryLog(), memoryRows()];
  const { post } = await serve(log, rows, ['a', 'b']);
  const rpc = async (method: string, params: object) =>
    (await post('/agents/name/front/rpc', { jsonrpc: '2.0', id: 1, method, params })).json;
  const { id } = (await rpc('task/create', {})).result;
  const content = { type: 'text', author: 'user', content: 'Hi' };
  expect((await rpc('message/send', { task_id: id, content })).error).toBeNull();
  // The run of the first message still holds the lease for a moment.
  const open = () => log.open(id).catch(() => undefined);
  const driver = await vi.waitUntil(open, patientMs(10_000));
  const fact = { type: 'treaty_signed', must_understand: true };
  await driver.append([{ turn: 0, attempt: 0, fact } as never]);
  await driver.release();
  // Before, this request got no answer, and the test ran into its time limit.
  expect((await rpc('message/send', { task_id: id, content })).error).toMatchObject({
    message: expect.any(String),
  });
});
