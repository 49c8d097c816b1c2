import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { snapshot } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { childEnv } from '../../../core/src/testing/runs.ts';
import { openAcpAgent as open, session } from '../testing/acp/open-acp-agent.ts';

test.each([
  ['leave', 'It exited with code 4'],
  ['flood', 'The remote agent sent too much while its calls ran'],
])(
  'attack 24.8: an agent that asks and then does %s ends the run and the question',
  async (word, problem) => {
    const { agent, next, cwd, log } = open();
    const run = agent.run(word, { session });
    await next(1);
    writeFileSync(join(cwd, 'go'), '');
    const { reason, error } = await run.result;
    expect([reason, error?.message]).toEqual(['error', expect.stringContaining(problem)]);
    expect((await snapshot(log, session)).asked).toEqual([]);
  },
);

test('attack 24.8: the agent gets no keys, no files and no terminals of the server', async () => {
  process.env['MY_SECRET_TOKEN'] = 'hidden-value';
  onTestFinished(() => void delete process.env['MY_SECRET_TOKEN']);
  const { say, cwd } = open({ env: { GIVEN: 'yes', ...(childEnv() as object) } });
  writeFileSync(join(cwd, 'secret.txt'), 'secret');
  const env = JSON.parse(await say('env')) as Record<string, string>;
  expect([env['MY_SECRET_TOKEN'], env['GIVEN']]).toEqual([undefined, 'yes']);
  expect(await say('files')).toBe(
    'The client does not offer fs/read_text_file. The client does not offer terminal/create. ',
  );
  expect(readFileSync(join(cwd, 'secret.txt'), 'utf8')).toBe('secret');
  const allowed = open({ allowEnv: ['MY_SECRET_TOKEN'] });
  expect(JSON.parse(await allowed.say('env'))['MY_SECRET_TOKEN']).toBe('hidden-value');
});
