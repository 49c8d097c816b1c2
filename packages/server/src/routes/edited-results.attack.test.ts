import { createAgent, defineTool } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createServer } from '../create-server.ts';
import { asUser, type Json, userOfCookie } from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

// Two calls wait. A person approves the first one, and it runs. While the second one still waits, a client edits a
// message of the turn.

async function serve() {
  const ran: string[] = [];
  const pay = defineTool({
    ...{ name: 'pay', description: 'Pays', input: z.object({ to: z.string() }) },
    execute: async ({ to }) => {
      ran.push(to);
      return 'Paid.';
    },
  });
  const log = memoryLog();
  const agent = createAgent({
    ...{ log, tools: [pay], whileAsking: 'park', approve: () => 'ask' },
    provider: scriptedProvider([
      [toolCall('pay', { to: 'a' }), toolCall('pay', { to: 'b' })],
      'Done.',
    ]),
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
  const send = async (method: string, path: string, body?: object): Promise<Json> => {
    const headers = { cookie: asUser('ann'), 'content-type': 'application/json' };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    return (await fetch(`${url}${path}`, init)).json();
  };
  return { ran, send };
}

const edits = [
  ['the result of the call that ran', 'tool_response', 'a'],
  ['the call that ran', 'tool_request', 'a'],
  ['the call that waits', 'tool_request', 'b'],
] as const;

test.each(edits)(
  '18.1161: attack: an approved call runs again after an edit of %s',
  async (_, type, of) => {
    const { ran, send } = await serve();
    const first = await send('POST', '/v1/responses', { model: 'loop', input: 'Hi' });
    const task_id = first.conversation.id;
    const messages = (): Promise<Json[]> => send('GET', `/messages?task_id=${task_id}`);
    const requests = (await messages()).filter(({ content }) => content.type === 'tool_request');
    const idOf = (to: string) =>
      requests.find((one) => one.content.arguments.to === to).content.tool_call_id;
    const [a, b] = [idOf('a'), idOf('b')];
    const decide = (tool_call_id: string, how: string) =>
      send('POST', `/tasks/${task_id}/commands`, { type: how, tool_call_id });
    await decide(a, 'approve');
    const isPaid = ({ content }: Json) =>
      content.type === 'tool_response' && content.content === 'Paid.';
    await expect.poll(async () => (await messages()).some(isPaid)).toBe(true);
    const listed = await messages();
    const { id, content } = listed.find(
      (one) => one.content.type === type && one.content.tool_call_id === (of === 'a' ? a : b),
    );
    const changed =
      type === 'tool_request' ? { arguments: { to: 'c' } } : { content: 'The payment failed.' };
    const edited = await send('PUT', `/messages/${id}`, {
      task_id,
      content: { ...content, ...changed },
    });
    expect(JSON.stringify(edited)).toContain('the agent still writes its turn');
    await decide(b, 'deny');
    const isDone = (one: Json) => one.content.content === 'Done.';
    await expect.poll(async () => (await messages()).some(isDone)).toBe(true);
    expect(ran).toEqual(['a']);
    // After the turn, the user can correct the message.
    const later = await send('PUT', `/messages/${id}`, {
      task_id,
      content: { ...content, ...changed },
    });
    expect(later.content).toMatchObject(changed);
    expect(ran).toEqual(['a']);
  },
);
