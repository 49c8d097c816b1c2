import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { bundledProgram } from '../../../../../scripts/bundled-program.ts';
import { bashTool } from '../../shell/bash-tool.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { runTool } from '../../testing/tool-context.ts';
import { findSandbox } from '../find-sandbox.ts';

const program = bundledProgram(
  new URL('../../testing/sandbox/sandboxed-agent.ts', import.meta.url),
);

test('18.940: attack: a process is killed before it checks what its command created', async (context) => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const place = temporaryFolder();
  vi.stubEnv('TMPDIR', place);
  const { sandbox, ...missing } = await findSandbox();
  if (sandbox === undefined) {
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(JSON.stringify(missing));
    return context.skip(JSON.stringify(missing));
  }
  onTestFinished(() => sandbox.close());
  const root = temporaryFolder();
  const exists = (name: string) =>
    expect.poll(() => existsSync(join(root, name)), { timeout: 60_000 });
  const env = { ...process.env, NODE_OPTIONS: '' };
  const agent = spawn(process.execPath, [program], { stdio: ['pipe', 'ignore', 'inherit'], env });
  onTestFinished(() => void agent.kill('SIGKILL'));
  const create = 'git init -q v; git -C v config core.fsmonitor evil; git init -q harmless';
  const command = `touch started; until [ -e go ]; do sleep 0.02; done; ${create}; touch made; sleep 1000`;
  agent.stdin.write(`${JSON.stringify({ root, input: { command } })}\n`);
  await exists('started').toBe(true);
  // The process cannot check anything from now on.
  agent.kill('SIGSTOP');
  writeFileSync(join(root, 'go'), '');
  await exists('made').toBe(true);
  agent.kill('SIGKILL');
  await once(agent, 'exit');
  const tool = bashTool({ workspace: { root }, sandbox });
  const first = await runTool(tool, { command: 'true' });
  expect(first.text).toContain('The sandbox renamed .git to');
  expect(existsSync(join(root, 'v/.git'))).toBe(false);
  expect(existsSync(join(root, 'harmless/.git'))).toBe(true);
  expect((await runTool(tool, { command: 'echo again' })).text).toBe('again');
});
