import { createAgent, inputGuardrail, outputGuardrail } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { asUser, type Json, userOfCookie } from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

// A guardrail asks a person about an answer. Until the decision, a client writes a message that an input guardrail
// refuses. A second guardrail then changes the answer, so that the answer stands after the message.

const guardrails = [
  inputGuardrail({
    name: 'no-magic',
    check: ({ text }) => (text.includes('magic') ? { verdict: 'stop', reason: 'refused' } : 'pass'),
  }),
  outputGuardrail({
    name: 'asks',
    check: ({ text }) => (text.includes('rude') ? { verdict: 'ask' } : 'pass'),
  }),
  outputGuardrail({
    name: 'masks',
    check: ({ text }) =>
      text.includes('rude') ? { verdict: 'change', to: text.replace('rude', 'calm') } : 'pass',
  }),
];

/** Serves an agent whose first answer waits for a person. */
async function serve() {
  const log = memoryLog();
  const provider = scriptedProvider(['A rude answer.', 'two', 'three']);
  const agent = createAgent({ log, provider, guardrails, whileAsking: 'park' });
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
  const respond = (more: object) => send('POST', '/v1/responses', { model: 'loop', ...more });
  const first = await respond({ input: 'Hi' });
  const taskId = first.conversation.id;
  const approve = () => {
    const approval_request_id = first.output.at(-1).id;
    const input = [{ type: 'mcp_approval_response', approve: true, approval_request_id }];
    return respond({ previous_response_id: first.id, input });
  };
  const isSent = () =>
    JSON.stringify(provider.requests.map(({ request }) => request.items)).includes('magic');
  return { send, respond, approve, isSent, taskId };
}

const text = (content: string, author = 'agent') => ({ type: 'text', author, content });

test.each(['user', 'agent'])(
  '18.1105: attack: a message of the author %s stands before an answer that a guardrail changes',
  async (author) => {
    const { send, respond, approve, isSent, taskId: task_id } = await serve();
    await send('POST', '/messages', { task_id, content: text('magic', author) });
    await approve();
    await respond({ conversation: task_id, input: 'Go on' });
    expect(isSent()).toBe(false);
  },
);

test('18.1105: attack: an edited message stands before an answer that a guardrail changes', async () => {
  const { send, respond, approve, isSent, taskId: task_id } = await serve();
  const listed = await send('GET', `/messages?task_id=${task_id}`);
  const { id } = listed.find((one: Json) => one.content.author === 'user');
  await send('PUT', `/messages/${id}`, { task_id, content: text('magic', 'user') });
  await approve();
  await respond({ conversation: task_id, input: 'Go on' });
  expect(isSent()).toBe(false);
});
