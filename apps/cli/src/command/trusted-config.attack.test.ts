import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { quietMs, settleMs } from '../input/answer/answer-guard.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { folderWith } from '../testing/test-agent.ts';
import { trustedConfig } from './trusted-config.ts';

const settings = (command: string) => JSON.stringify({ mcpServers: { helper: { command } } });

/** A user reads the question, something happens, and the user answers with yes. */
async function trustAfter(happens: (file: string) => void) {
  const outer = folderWith({
    'home/x': '',
    'project/.git/HEAD': 'ref: refs/heads/main\n',
    'project/millrace.json': settings('shown'),
  });
  const cwd = join(outer, 'project');
  const stdin = new PassThrough();
  const clock = new VirtualClock();
  const stdout = new CapturedOutput({ isTTY: true });
  const env = { HOME: join(outer, 'home') };
  const { signal } = new AbortController();
  const config = trustedConfig({}, { stdin, stdout, signal, clock, env }, cwd);
  await expect.poll(() => stdout.text).toContain('[y/N]');
  happens(join(cwd, 'millrace.json'));
  clock.advance(quietMs);
  stdin.write('y');
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(settleMs);
  return config;
}

test('settings that the question showed are used after a yes', async () => {
  const config = await trustAfter(() => {});
  expect(config?.mcpServers).toMatchObject([{ stdio: { command: 'shown' } }]);
  expect(config?.warnings).toEqual([]);
});

test('attack 36: settings that replace the shown ones before the answer are not trusted', async () => {
  const config = await trustAfter((file) => writeFileSync(file, settings('evil')));
  expect(config?.mcpServers).toEqual([]);
  expect(config?.warnings).toEqual([expect.stringContaining('skipped')]);
});
