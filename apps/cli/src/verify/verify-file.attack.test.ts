import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { exportSession } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { exitCodes } from '../exit-code.ts';
import { openStore } from '../store/open-store.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { verifyCommand } from './verify-command.ts';

const folder = temporaryFolder('verify-file');

test('18.358: attack: a file of the folder takes the place of the session that millrace verify checks', async () => {
  const config = { store: join(folder(), 'a.db'), chain: true };
  const { log, close } = await openStore({ config, env: {} });
  const agent = createAgent({ log, provider: scriptedProvider(['It is on its way', 'Bye']) });
  for (const session of ['orders', 'eval/orders'])
    await agent.run('Where is my order?', { session }).result;
  const lines: string[] = [];
  for await (const line of exportSession(log, 'orders')) lines.push(line);
  await close();
  const text = `${lines.join('\n')}\n`.replace('my order', 'my money');
  mkdirSync(join(folder(), 'eval'));
  for (const name of ['orders', 'last', 'talk.jsonl', 'eval/orders'])
    writeFileSync(join(folder(), name), text);
  const verify = async (operand: string) => {
    const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
    const code = await verifyCommand({
      args: { command: 'verify', operands: [operand], heads: [], json: false, color: false },
      ...{ config, stdout, stderr, env: {}, cwd: folder() },
    });
    return [code, stdout.text.split(' (')[0]];
  };
  for (const id of ['orders', 'eval/orders'])
    expect(await verify(id)).toEqual([exitCodes.done, `${id}: verified`]);
  for (const file of ['./last', './eval/orders', 'talk.jsonl', join(folder(), 'last')])
    expect(await verify(file)).toEqual([exitCodes.error, `${file}: NOT VERIFIED`]);
  // The session of the test belongs to no folder, so there is no last one.
  await expect(verify('last')).rejects.toThrow('There is no last session');
});
