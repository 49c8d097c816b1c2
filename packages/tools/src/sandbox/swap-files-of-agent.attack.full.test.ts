import { mkdirSync, readdirSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { bashTool } from '../shell/bash-tool.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { findSandbox } from './find-sandbox.ts';

// The folder for temporary files is inside the workspace, so commands can change the agent's temporary files.

async function agentWithTemporaryFolderInside(context: Pick<TestContext, 'skip'>) {
  const root = temporaryFolder();
  const outside = temporaryFolder();
  writeFileSync(join(outside, 'of-the-host'), '');
  const temporary = join(root, 'tmp');
  mkdirSync(temporary);
  const before = process.env['TMPDIR'];
  onTestFinished(() => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  });
  process.env['TMPDIR'] = temporary;
  const found = await findSandbox();
  if (found.sandbox === undefined) {
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(found.reason);
    return context.skip(found.reason);
  }
  const { sandbox } = found;
  onTestFinished(() => sandbox.close());
  const bash = bashTool({ workspace: { root }, sandbox });
  const run = async (command: string) => (await runTool(bash, { command })).text;
  return { outside, temporary, run };
}

test('attack: a command replaces the folder that is /tmp for the next command', async (context) => {
  const { outside, temporary, run } = await agentWithTemporaryFolderInside(context);
  await run(
    `cd ${temporary}; for home in millrace-sandbox-*; do mv $home/tmp $home/old; ln -s ${outside} $home/tmp; done`,
  );
  expect(await run('ls /tmp | grep of-the-host; echo hello > /tmp/escaped; cat /tmp/escaped')).toBe(
    'hello',
  );
  expect(readdirSync(outside)).toEqual(['of-the-host']);
});

test('attack: a command finds the output pipe of another command', async (context) => {
  const { temporary, run } = await agentWithTemporaryFolderInside(context);
  const before = readdirSync(temporary);
  const seen = new Set<string>();
  const watcher = watch(temporary, (_event, name) => void (name && seen.add(name)));
  onTestFinished(() => watcher.close());
  expect(await run(`echo works; touch ${temporary}/end`)).toBe('works');
  while (!seen.has('end')) await setImmediate();
  expect([...seen].filter((name) => !before.includes(name))).toEqual(['end']);
});
