import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { serveProcess } from '../testing/serve-process.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

const folder = temporaryFolder('agents-of-a-file');
const packages = new URL('../../../../packages/', import.meta.url);

/** A module that imports its own copy of the packages. The built command contains a second copy. */
const agentsFile = `
import { createAgent } from '${new URL('agent/src/index.ts', packages)}';
import { scriptedProvider } from '${new URL('providers/src/scripted/index.ts', packages)}';
export const weather = ({ log }: { log: never }): unknown =>
  createAgent({ log, provider: scriptedProvider(['It rains.']), instructions: 'Be short.' });
`;

test('22.2: the requests of a loop in a file of agents can be inspected', async () => {
  const path = join(folder(), 'agents.ts');
  writeFileSync(path, agentsFile);
  const source = { NODE_OPTIONS: '--conditions=@millrace/source' };
  const flags = ['--port', '0', '--data', join(folder(), 'data'), '--agents', path];
  const { url, token } = await serveProcess(flags, folder(), source);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const content = { type: 'text', author: 'user', content: 'Will it rain?' };
  const params = { content, task_name: 'rain' };
  const body = JSON.stringify({ method: 'message/send', params });
  await fetch(`${url}/agents/name/weather/rpc`, { method: 'POST', headers, body });
  const task = await fetch(`${url}/tasks/name/rain`, { headers });
  const { id } = (await task.json()) as { readonly id: string };
  const past = await fetch(`${url}/tasks/${id}/request?turn=1&attempt=1`, { headers });
  expect(past.status).toBe(200);
  expect(JSON.stringify(await past.json())).toContain('Will it rain?');
});
