import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { asUser, type Json, userOfCookie } from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

// An operator branches the session of a user with other instructions. The user, and the holder of a link to
// the branch, want to read these instructions.

const operator = { authorization: `Bearer ${testToken('operator')}` };
const ann = { cookie: asUser('ann') };

/** A session of Ann, and its branch with secret instructions. */
async function serveBranch() {
  const log = memoryLog();
  const agent = createAgent({ log, provider: scriptedProvider(['First.', 'Second.', 'Third.']) });
  const server = createServer({
    ...{ log, agents: [{ type: 'loop', name: 'desk', agent }], authorize: userOfCookie },
    tokens: [testToken('operator')],
  });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const request = (method: string, path: string, headers: object, body?: object) =>
    server.fetch(
      new Request(`http://localhost${path}`, {
        ...{ method, headers: { 'content-type': 'application/json', ...headers } },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
  const send = async (path: string, headers: object, body: object): Promise<Json> =>
    (await request('POST', path, headers, body)).json();
  const rpc = (method: string, params: object) =>
    send('/agents/name/desk/rpc', ann, { method, params });
  const origin: string = (await rpc('task/create', {})).result.id;
  const content = { type: 'text', author: 'user', content: 'Hello' };
  await rpc('message/send', { task_id: origin, content });
  const { records } = await log.read(origin);
  const at = records.find(({ fact }) => fact?.type === 'item_finished')?.offset ?? 0;
  const branchWith = async (instructions: string): Promise<string> => {
    const { id } = await send(`/tasks/${origin}/branch`, operator, { at, instructions });
    await expect.poll(async () => (await log.info(id))?.hasWork).toBe(false);
    return id;
  };
  const branch = await branchWith('SECRET prompt');
  const { token } = await send('/tokens', operator, { task_id: branch, read_only: true });
  /** Reads a reply. A stream ends at the end of the run. */
  const read = async (path: string, headers: object): Promise<string> => {
    const { body } = await request('GET', path, headers);
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes('run_finished')) break;
    }
    return text;
  };
  return { log, origin, branch, branchWith, link: { authorization: `Bearer ${token}` }, read };
}

test.each(['/records', '/stream?view=records', '/stream?view=events', ''])(
  '18.396: attack: a reader of a branch cannot read its instructions (%s)',
  async (door) => {
    const { branch, link, read } = await serveBranch();
    const path = door === '' ? `/streams/tasks/${branch}?offset=-1` : `/tasks/${branch}${door}`;
    for (const reader of [link, ann]) {
      const text = await read(path, reader);
      expect(text).toContain('run_finished');
      expect(text).not.toContain('SECRET');
    }
  },
);

test('18.396: attack: a comparison does not show the instructions of a branch to a user', async () => {
  const { origin, branch, branchWith, read } = await serveBranch();
  const other = await branchWith('SECRET 2');
  const queries = [origin, other].flatMap((id) => [`diff?other=${id}`, `divergence?other=${id}`]);
  for (const query of queries) {
    const path = `/tasks/${branch}/${query}`;
    const text = await read(path, ann);
    expect(JSON.parse(text).divergence).toMatchObject({ cause: 'setting' });
    expect(text).not.toContain('SECRET');
    expect(await read(path, operator)).toContain('SECRET');
  }
});
