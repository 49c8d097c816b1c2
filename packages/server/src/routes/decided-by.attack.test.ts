import { createAgent, defineTool } from '@millrace/agent';
import { type Fact, sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createServer } from '../create-server.ts';
import { asUser, userOfCookie } from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

/** Lets a caller approve a call with the name of Alice. Returns the name on the log. */
async function approveAs(callerOf: (operator: string, task: string) => Promise<string>) {
  const log = memoryLog();
  const refund = defineTool({
    ...{ name: 'refund', description: 'Refunds an order', input: z.object({}) },
    execute: async () => 'Refunded.',
  });
  const call = { content: { parts: [toolCallPart(toolCallId('c'), 'refund', {})] } };
  const provider = scriptedProvider([call, 'Done.']);
  const agent = createAgent({ log, provider, tools: [refund], approve: () => 'ask' });
  const operator = testToken('operator');
  const agents = [{ type: 'loop', name: 'desk', agent }] as const;
  const server = createServer({ log, agents, tokens: [operator], authorize: userOfCookie });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const send = async (who: string, path: string, body: object) => {
    const isUser = who.startsWith(asUser(''));
    const response = await fetch(new URL(path, url), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(isUser ? { cookie: who } : { authorization: `Bearer ${who}` }),
      },
      body: JSON.stringify(body),
    });
    return JSON.parse(await response.text());
  };
  const content = { type: 'text', author: 'user', content: 'Refund it' };
  const create = { method: 'task/create', params: {} };
  const { id } = (await send(asUser('bob'), '/agents/name/desk/rpc', create)).result;
  await send(asUser('bob'), `/tasks/${id}/commands`, { type: 'message', content });
  const facts = async (): Promise<readonly Fact[]> =>
    (await log.read(sessionId(id))).records.flatMap(({ fact }) => fact ?? []);
  const has = async (type: string) => (await facts()).some((fact) => fact.type === type);
  await expect.poll(() => has('approval_asked')).toBe(true);
  const create_token = async (scope: object) => (await send(operator, '/tokens', scope)).token;
  const caller = await callerOf(operator, id).then((one) =>
    one === 'token' ? create_token({ task_id: id }) : one,
  );
  const answer = { type: 'approve', tool_call_id: 'c', by: 'alice' };
  await send(caller, `/tasks/${id}/commands`, answer);
  await expect.poll(() => has('approval_answered')).toBe(true);
  const answered = (await facts()).find((fact) => fact.type === 'approval_answered');
  return (answered as { readonly by?: string }).by;
}

test.each([
  ['a user of the application', async () => asUser('bob'), 'bob'],
  ['a token of the task', async () => 'token', 'unverified: alice'],
  ['an operator', async (operator: string) => operator, 'alice'],
])('18.146: attack: %s approves in the name of another person', async (_, callerOf, by) => {
  expect(await approveAs(callerOf)).toBe(by);
});
