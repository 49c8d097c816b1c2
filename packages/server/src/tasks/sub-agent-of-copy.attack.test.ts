import { createAgent, defineTool, subAgent } from '@millrace/agent';
import { type LogRecord, toolCallId, toolCallPart } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createServer } from '../create-server.ts';
import { createToken } from '../http/access/token-store.ts';

// A token for a copy of a task must not reach the sub-agent of the original task.

/** Serves a task T1 whose sub-agent waits for an approval, and a branch T2 of it. */
async function branched() {
  const log = memoryLog();
  const paid: string[] = [];
  const pay = defineTool({
    ...{ name: 'pay', description: 'Pays', input: z.object({}) },
    execute: async (_input, { session }) => {
      paid.push(session);
      return 'paid';
    },
  });
  const payCall = (id: string) => ({
    content: { parts: [toolCallPart(toolCallId(id), 'pay', {})] },
  });
  const help = toolCallPart(toolCallId('h'), 'helper', { task: 'Pay' });
  const shared = { log, whileAsking: 'park' } as const;
  const cashier = createAgent({
    ...{ ...shared, name: 'cashier', tools: [pay], approve: () => 'ask' as const },
    provider: providerOf(payCall('p')),
  });
  const desk = createAgent({
    ...{ ...shared, name: 'desk' },
    tools: [subAgent({ name: 'helper', description: 'Helps', agent: cashier })],
    provider: providerOf({ content: { parts: [help] } }),
  });
  const operator = createToken();
  const agents = [{ type: 'loop', name: 'desk', agent: desk }] as const;
  const server = createServer({ tokens: [operator], log, agents });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const send = async (token: string, method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const init = body && { body: JSON.stringify(body) };
    const response = await fetch(new URL(path, url), { method, headers, ...init });
    const text = await response.text();
    return { status: response.status, text, json: JSON.parse(text || 'null') as unknown };
  };
  const rpc = (token: string, method: string, params: object) =>
    send(token, 'POST', '/agents/name/desk/rpc', { jsonrpc: '2.0', id: 1, method, params });
  const created = await rpc(operator, 'task/create', {});
  const t1 = (created.json as { result: { id: string } }).result.id;
  const content = { type: 'text', author: 'user', content: 'Go' };
  await send(operator, 'POST', `/tasks/${t1}/commands`, { type: 'message', content });
  const parked = await until(log, t1, hasParked);
  const { fact: asked } = parked.find(({ fact }) => fact?.type === 'approval_asked') ?? {};
  const { fact: started } =
    parked.find(({ fact }) => fact?.type === 'tool_execution_started') ?? {};
  if (asked?.type !== 'approval_asked' || started?.type !== 'tool_execution_started')
    return expect.fail('Nobody asked');
  const at = parked.at(-1)?.offset ?? 0;
  const made = await send(operator, 'POST', `/tasks/${t1}/branch`, { at });
  const { id: t2 } = made.json as { readonly id: string };
  await until(log, t2, hasParked);
  const { token } = (await send(operator, 'POST', '/tokens', { task_id: t2 })).json as {
    readonly token: string;
  };
  const question = asked.toolCallId;
  return { log, paid, send, rpc, operator, token, t1, t2, question, child: started.child ?? '' };
}

/** Returns a provider that calls a tool, and answers when it has the result. It serves several runs. */
function providerOf(call: Parameters<typeof scriptedProvider>[0][number]) {
  const calls = scriptedProvider([call, call]);
  const answers = scriptedProvider(['done', 'done']);
  const stream: typeof calls.stream = (...args) =>
    (args[0].items.some(({ kind }) => kind === 'tool') ? answers : calls).stream(...args);
  return { ...calls, stream };
}

function hasParked(records: readonly LogRecord[]): boolean {
  const { fact } = records.at(-1) ?? {};
  return fact?.type === 'run_finished' && fact.stop.reason === 'parked';
}

function questionsIn(records: readonly LogRecord[]): readonly string[] {
  return records.flatMap(({ fact }) => (fact?.type === 'approval_asked' ? fact.toolCallId : []));
}

function isStopped(records: readonly LogRecord[]): boolean {
  const { fact } = records.at(-1) ?? {};
  return fact?.type === 'run_finished' && fact.stop.reason === 'stop';
}

function isAborted(records: readonly LogRecord[]): boolean {
  const { fact } = records.at(-1) ?? {};
  return fact?.type === 'run_finished' && fact.stop.reason === 'aborted';
}

/** Follows a session until its records fulfill the condition. */
async function until(log: Log, session: string, isDone: (all: readonly LogRecord[]) => boolean) {
  const all: LogRecord[] = [];
  for await (const { records } of log.follow(session as never)) {
    all.push(...records);
    if (isDone(all)) break;
  }
  return all;
}

test('18.1730: attack: a token for a branch reads the sub-agent of the original task', async () => {
  const { send, operator, token, t1, t2, child } = await branched();
  const path = (task: string) => `/tasks/${task}/sub-agents/${child}/records`;
  expect((await send(operator, 'GET', path(t1))).status).toBe(200);
  for (const caller of [token, operator])
    expect((await send(caller, 'GET', path(t2))).status).toBe(404);
});

test('18.1730: attack: a token for a branch approves a call of the original task', async () => {
  const { log, paid, send, token, operator, t1, t2, question, child } = await branched();
  const own = questionsIn(await until(log, t2, hasParked)).filter((id) => id !== question);
  const approve = (caller: string, task: string, tool_call_id = '') =>
    send(caller, 'POST', `/tasks/${task}/commands`, { type: 'approve', tool_call_id });
  await approve(token, t2, question);
  expect(own).toHaveLength(1);
  await approve(token, t2, own[0]);
  await until(log, t2, isStopped);
  // The branch has paid for itself, in a session of its own.
  expect(paid).toHaveLength(1);
  expect(paid).not.toContain(child);
  await approve(operator, t1, question);
  await until(log, t1, isStopped);
  expect(paid.slice(1)).toEqual([child]);
});

test('18.1730: attack: a token for a branch stops the sub-agent of the original task', async () => {
  const { log, paid, rpc, send, token, operator, t1, t2, question, child } = await branched();
  await rpc(token, 'task/interrupt', { task_id: t2 });
  await until(log, t2, isAborted);
  const approved = { type: 'approve', tool_call_id: question };
  await send(operator, 'POST', `/tasks/${t1}/commands`, approved);
  await until(log, t1, isStopped);
  expect(paid).toEqual([child]);
});
