import { submitCommand } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { serveOpenAi } from '../../testing/openai-client.ts';

// A client sends a message with more parts than an item can have. No later message of the task gets an answer.

const parts = Array.from({ length: 4097 }, () => ({ text: 'x' }));
const limit = /at most 4096 parts/;

async function serve() {
  const { url, log } = await serveOpenAi(['One.', 'Two.']);
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
    const sent = await fetch(`${url}${path}`, {
      ...{ method: 'POST', headers, body: JSON.stringify(body) },
    });
    return { status: sent.status, text: await sent.text() };
  };
  const send = (text: string, task_id?: string) => {
    const content = { type: 'text', author: 'user', content: text };
    const params = { task_id, content };
    return post('/agents/name/helper/rpc', {
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params,
    });
  };
  const { result } = JSON.parse((await send('Hi.')).text);
  return { post, log, task: result[0].task_id as string, send };
}

test.each([
  [
    'A2A',
    '/agents/name/helper/a2a/message:send',
    (contextId: string) => ({
      message: { ...{ messageId: 'm', role: 'ROLE_USER' }, contextId, parts },
    }),
  ],
  [
    'Responses',
    '/v1/responses',
    (conversation: string) => ({
      ...{ model: 'helper', conversation },
      input: [{ role: 'user', content: parts.map(({ text }) => ({ type: 'input_text', text })) }],
    }),
  ],
])(
  '18.1366: attack: a message of too many parts through %s blocks its task',
  async (_, path, bodyFor) => {
    const { post, send, task } = await serve();
    const refused = await post(path, bodyFor(task));
    expect(refused.status).toBe(413);
    expect(refused.text).toMatch(limit);
    expect((await send('Go on.', task)).text).toContain('Two.');
  },
);

test('18.1367: attack: a message of too many parts is on the log, and blocks its task', async () => {
  const { send, task, log } = await serve();
  const session = sessionId(task);
  const item = { id: 'i', kind: 'user', parts: parts.map(({ text }) => ({ kind: 'text', text })) };
  await log.submit(session, { type: 'message', when: 'follow_up', items: [item] }, 'many');
  expect((await send('Go on.', task)).text).toContain('Two.');
  const { records } = await log.read(session);
  const consumed = records.find(
    ({ fact }) => fact?.type === 'command_consumed' && fact.key === 'many',
  );
  expect(consumed?.fact).toMatchObject({ error: { code: 'bad_command' } });
});

test('18.1368: attack: a program submits a message of too many parts', async () => {
  const log = memoryLog();
  const input = { kind: 'user', parts: parts.map(({ text }) => ({ kind: 'text', text }) as const) };
  const sent = submitCommand(log, 'many', { type: 'message', input: input as never });
  await expect(sent).rejects.toMatchObject({ code: 'too_large' });
  expect(await log.info(sessionId('many'))).toBeUndefined();
  await log.close();
});
