import { expect, test } from 'vitest';
import { serveOpenAi } from '../testing/openai-client.ts';
import { asUser, userOfCookie } from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

const operator = { authorization: `Bearer ${testToken('operator')}` };
const ada = { cookie: asUser('ada') };

test('18.384: attack: a user reads the instructions with which an operator branched the session of the user', async () => {
  const { url } = await serveOpenAi(['Hello.', 'Hello again.', 'Hello once more.'], {
    server: { tokens: [testToken('operator')], authorize: userOfCookie },
  });
  const ask = async (method: string, path: string, headers: object, body?: object) => {
    const reply = await fetch(url + path, {
      ...{ method, ...(body && { body: JSON.stringify(body) }) },
      headers: { 'a2a-version': '1.0', 'content-type': 'application/json', ...headers },
    });
    // biome-ignore lint/suspicious/noExplicitAny: the test reads many shapes
    return { status: reply.status, json: (await reply.json()) as any };
  };
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] };
  const sent = await ask('POST', '/agents/name/helper/a2a/message:send', ada, { message });
  const { contextId } = sent.json.task;
  const { records } = (await ask('GET', `/tasks/${contextId}/records`, operator)).json;
  const { offset: at } = records.find((one: { fact?: { type: string } }) => {
    return one.fact?.type === 'item_finished';
  });
  const branch = (body: object) =>
    ask('POST', `/tasks/${contextId}/branch`, operator, { at, ...body });
  const secret = (await branch({ instructions: 'SECRET PROMPT' })).json;
  expect((await ask('GET', `/tasks/${secret.id}/records`, ada)).status).toBe(404);
  expect((await ask('GET', `/tasks/${secret.id}`, operator)).status).toBe(200);
  // The user still owns all other branches.
  const content = { type: 'text', author: 'user', content: 'Hello?' };
  const plain = (await branch({ content })).json;
  expect((await ask('GET', `/tasks/${plain.id}/records`, ada)).status).toBe(200);
});
