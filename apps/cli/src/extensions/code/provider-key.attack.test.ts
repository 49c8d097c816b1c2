import { sessionId } from '@millrace/core';
import { exportSession } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { openModel } from '../../models/open-model.ts';
import { temporaryFolder, writeExtension } from '../../testing/temporary-folder.ts';
import { testAgent } from '../../testing/test-agent.ts';
import { loadExtensionCode } from './load-code.ts';

// The server of an extension's provider repeats the API key in its answers.

const folder = temporaryFolder('provider-key');
const key = 'acme-9f8e7d6c5b4a39281706';

test.each([
  ['before the answer', 401, ''],
  ['in the middle of the answer', 400, `yield { type: 'text', text: 'Half' };`],
])('18.357: attack: an error %s has the key of an extension', async (_, status, first) => {
  const text = `export default (millrace) => millrace.provider({
    name: 'acme', keyVariable: 'ACME_KEY',
    async *stream(_, { key }) {
      ${first}
      throw Object.assign(new Error('The key ' + key + ' is wrong'), { status: ${status} });
    },
  });`;
  const modules = [writeExtension(folder(), 'acme.ts', text)];
  const code = await loadExtensionCode(modules, { cwd: folder(), env: { ACME_KEY: key } });
  onTestFinished(() => code?.close());
  const acme = code?.models['acme'];
  if (acme === undefined) throw new Error('There is no model');
  const { agent, log } = await testAgent({ provider: openModel(acme, { env: {} }) });
  const session = sessionId('s');
  const failure = await agent.run('Hi', { session }).result.then(
    ({ items, error }) => JSON.stringify({ items, error: error?.message }),
    (error: unknown) => String(error),
  );
  const lines: string[] = [];
  for await (const line of exportSession(log, session)) lines.push(line);
  expect(failure).toContain('is wrong');
  expect(lines.join('\n')).toContain('is wrong');
  expect(`${failure}${lines.join('\n')}`).not.toContain(key);
});
