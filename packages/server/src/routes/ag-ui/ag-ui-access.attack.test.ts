import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { agUiClient, runAgUi, say, shownOf } from '../../testing/ag-ui/ag-ui-client.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { asUser, userOfCookie } from '../../testing/scope-requests.ts';
import { testToken } from '../../testing/servers/test-server.ts';

const operator = testToken('operator');
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function serveGuarded(script: readonly string[]) {
  const served = await serveOpenAi(script, {
    server: { tokens: [operator], authorize: userOfCookie },
  });
  const { url } = served;
  const post = async (path: string, headers: Record<string, string>, body: object = {}) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const issue = async (body: object): Promise<string> =>
    ((await (await post('/tokens', bearer(operator), body)).json()) as { token: string }).token;
  const client = (headers: Record<string, string>, threadId: string) =>
    agUiClient(url, { headers, threadId });
  const taskOf = async (name: string): Promise<string> => {
    const task = await fetch(`${url}/tasks/name/${name}`, { headers: bearer(operator) });
    return ((await task.json()) as { id: string }).id;
  };
  /** Sends a message in a thread. Returns the error, or the messages of the client. */
  const attempt = async (headers: Record<string, string>, threadId: string) => {
    const agent = client(headers, threadId);
    say(agent, 'Tell me');
    const { error } = await runAgUi(agent);
    return { error: error?.message, shown: shownOf(agent.messages) };
  };
  return { ...served, post, issue, client, taskOf, attempt };
}

test('24.2: a restricted token reaches only its own thread', async () => {
  const { attempt, issue, taskOf, post, client } = await serveGuarded([
    ...['A secret.', 'Another secret.', 'Yours.'],
  ]);
  await attempt(bearer(operator), 'own');
  await attempt(bearer(operator), 'others');
  const [own, others] = [await taskOf('own'), await taskOf('others')];
  expect((await attempt({}, 'own')).error).toContain('HTTP 401');
  expect((await attempt(bearer('wrong'), 'own')).error).toContain('HTTP 401');
  const reader = bearer(await issue({ read_only: true }));
  expect((await attempt(reader, 'own')).error).toContain('HTTP 403');
  const task = bearer(await issue({ task_id: own }));
  for (const thread of ['others', others, 'new']) {
    const { error, shown } = await attempt(task, thread);
    expect([thread, error, shown]).toEqual([
      ...[thread, expect.stringMatching(/HTTP 40[349]/), ['user: Tell me']],
    ]);
    const follower = client(task, thread);
    expect((await runAgUi(follower)).error?.message).toMatch(/HTTP 4\d\d/);
    expect(follower.messages).toEqual([]);
    const stop = await post(`/agents/name/helper/ag-ui/${thread}/stop`, task);
    expect([stop.status, await stop.text()]).toEqual([404, expect.not.stringContaining('secret')]);
  }
  expect((await attempt(task, own)).shown).toContain('assistant: Yours.');
});

test('24.2: a user cannot read, continue or stop the thread of another user', async () => {
  const { attempt, taskOf, post } = await serveGuarded(['A secret.', 'Hello Mallory.']);
  const [alice, mallory] = [{ cookie: asUser('alice') }, { cookie: asUser('mallory') }];
  expect((await attempt(alice, 'diary')).shown).toEqual(['user: Tell me', 'assistant: A secret.']);
  const id = await taskOf('diary');
  expect((await attempt(mallory, 'diary')).error).toContain('HTTP 409');
  const stolen = await attempt(mallory, id);
  expect(JSON.stringify(stolen)).not.toContain('A secret');
  expect(await taskOf('diary')).toBe(id);
  expect((await post('/agents/name/helper/ag-ui/diary/stop', mallory)).status).toBe(404);
});

test('24.2: a body that is too large is refused', async () => {
  const { url } = await serveOpenAi([], { server: { limits: { maxFileBytes: 1000 } } });
  const agent = agUiClient(url);
  say(agent, 'x'.repeat(2000));
  expect((await runAgUi(agent)).error?.message).toContain('HTTP 413');
});

test('attack 18.323: a client names a file in the provider account of the operator', async () => {
  const provider = scriptedProvider(['I see no file.']);
  const { url } = await serveOpenAi([], { agent: { provider } });
  const source = { type: 'file', provider: 'gemini', value: 'gs://private/salaries.pdf' };
  const content = [
    { type: 'text', text: 'Read it to me' },
    ...['document', 'image'].map((type) => ({
      ...{ type, source: { ...source, mimeType: 'application/pdf' } },
    })),
  ];
  const response = await fetch(`${url}/agents/name/helper/ag-ui`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ threadId: 'thread', runId: 'run' },
      messages: [{ id: 'm', role: 'user', content }],
    }),
  });
  expect(await response.text()).toContain('because it cannot use it');
  const [sent] = provider.requests.map(({ request }) => request.items.at(-1)?.parts);
  expect(sent).toEqual([{ kind: 'text', text: 'Read it to me' }]);
});
