import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { bundledProgram } from '../../../../../scripts/bundled-program.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { findSandbox } from '../find-sandbox.ts';

// A process that is killed leaves the private `/tmp` of its commands behind. The next process removes it. Another
// user plants links and folders with the same prefix, so that the process removes something else.

const program = bundledProgram(
  new URL('../../testing/sandbox/sandboxed-agent.ts', import.meta.url),
);

/** Kills an agent while its command runs. Returns the folder that it leaves behind. */
async function abandonedFolder(temporary: string): Promise<string> {
  const env = { ...process.env, TMPDIR: temporary, NODE_OPTIONS: '' };
  const agent = spawn(process.execPath, [program], { stdio: ['pipe', 'ignore', 'inherit'], env });
  onTestFinished(() => void agent.kill('SIGKILL'));
  const input = { command: 'touch /tmp/started; sleep 1000' };
  agent.stdin?.write(`${JSON.stringify({ root: temporaryFolder(), input })}\n`);
  const started = () =>
    readdirSync(temporary).find((name) => existsSync(join(temporary, name, 'tmp/started')));
  await expect.poll(started).toBeDefined();
  const folder = join(temporary, started() ?? '');
  agent.kill('SIGKILL');
  await once(agent, 'exit');
  return folder;
}

/** Returns a text that names this process in the form of an earlier owner. */
function thisProcess(earlier: string): string {
  const [boot, namespace] = earlier.split(' ');
  const stat = readFileSync('/proc/self/stat', 'utf8');
  return [boot, namespace, process.pid, stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]].join(
    ' ',
  );
}

test('18.204: attack: only folders of ended processes of this user are removed', async (context) => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const probe = await findSandbox();
  if (probe.sandbox === undefined) {
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(probe.reason);
    return context.skip(probe.reason);
  }
  probe.sandbox.close();
  const place = temporaryFolder();
  const abandoned = await abandonedFolder(place);
  const owner = readFileSync(join(abandoned, 'owner'), 'utf8');
  const plant = (folder: string, text = owner) => {
    mkdirSync(join(folder, 'tmp'), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, 'owner'), text);
    return folder;
  };
  const named = (name: string) => join(place, `millrace-sandbox-${name}`);
  const outside = plant(join(temporaryFolder(), 'outside'));
  symlinkSync(outside, named('link'));
  const running = plant(named('running'), thisProcess(owner));
  const elsewhere = plant(named('elsewhere'), owner.replace(/pid:\[\d+\]/, 'pid:[1]'));
  const open = plant(named('open'));
  chmodSync(open, 0o755);
  const foreign = plant(named('foreign'));
  if (process.getuid?.() === 0) chownSync(foreign, 65_534, 65_534);
  else chmodSync(foreign, 0o770);
  vi.stubEnv('TMPDIR', place);
  const { sandbox } = await findSandbox();
  onTestFinished(() => sandbox?.close());
  // The notes about its command stay, because nobody has checked its workspace: one about repositories, and one about
  // names.
  await expect.poll(() => existsSync(join(abandoned, 'tmp'))).toBe(false);
  expect(readdirSync(join(abandoned, 'running')).length).toBe(2);
  const kept = [running, elsewhere, open, foreign, named('link'), outside];
  expect(kept.filter((path) => !existsSync(join(path, 'tmp')))).toEqual([]);
});
