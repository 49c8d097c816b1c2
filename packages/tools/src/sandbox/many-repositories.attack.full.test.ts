import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startPrepared } from '../shell/start-prepared.ts';
import {
  type AttackedAgent,
  attackAgent,
  endAgents,
  sandboxUsers,
} from '../testing/sandbox/use-sandbox.ts';

endAgents();

// A command creates more repositories or folders than a search finds. The user then works in one of them.

const hostile = (folder: string) =>
  `git init -q ${folder}; git -C ${folder} config core.fsmonitor "$PWD/evil.sh"`;

function prepare({ write, workspace, outside }: AttackedAgent): void {
  write(workspace, { 'evil.sh': `#!/bin/sh\ntouch '${outside}/ran'\n` });
  execFileSync('chmod', ['755', join(workspace, 'evil.sh')]);
}

function gitStatus(cwd: string): void {
  try {
    execFileSync('git', ['-c', 'safe.directory=*', 'status'], { cwd, stdio: 'ignore' });
  } catch {
    // The folder is not a repository any more.
  }
}

describe.for(sandboxUsers)('a command of %s', (user) => {
  test.for([
    ['repositories', 'seq -f a%g/.git 1 2100 | xargs mkdir -p'],
    [
      'bare repositories',
      'for n in $(seq 1 2100); do echo a$n/objects a$n/refs a$n/HEAD a$n/config; done | xargs mkdir -p',
    ],
  ])('18.958: attack: creates a repository behind many %s', async ([, many = ''], context) => {
    const agent = await attackAgent(user, context);
    prepare(agent);
    const text = await agent.run(`${many}; mkdir -p b/c/d; ${hostile('b/c/d/sub')}`);
    gitStatus(join(agent.workspace, 'b/c/d/sub'));
    expect(readdirSync(agent.outside), text).toEqual([]);
    // If the sandbox stopped the command before it wrote the setting, the repository is harmless and keeps its name.
    const config = join(agent.workspace, 'b/c/d/sub/.git/config');
    if (existsSync(config)) expect(readFileSync(config, 'utf8'), text).not.toContain('evil.sh');
    expect(text).toContain('more repositories were renamed');
    expect(text.length).toBeLessThan(10_000);
  });
});

test('18.959: attack: a command creates a repository behind folders that the user must remove', async (context) => {
  const { findSandbox } = await import('./find-sandbox.ts');
  const agent = await attackAgent('self', context);
  prepare(agent);
  const found = await findSandbox({});
  if (found.sandbox === undefined) return context.skip(found.reason);
  const { sandbox } = found;
  const run = async (command: string) => {
    const prepared = await sandbox.prepare({
      ...{ root: agent.workspace, env: { PATH: process.env['PATH'] ?? '' } },
      command: ['sh', '-c', command],
    });
    const { env } = prepared;
    const { child } = startPrepared(prepared, { env, cwd: '/', stdio: ['ignore', 1, 2] });
    const [code] = await once(child, 'exit');
    notes = (await prepared.finish()).join('\n');
    expect(code).toBe(0);
  };
  let notes = '';
  // The search stops before it reaches the deep folder.
  const deep = `z/${Array.from({ length: 20 }, (_, n) => n).join('/')}`;
  await run(
    `mkdir many; (cd many; seq 49990 | xargs mkdir); mkdir -p ${deep}; ${hostile('sub')}; mv sub ${deep}`,
  );
  expect(notes).toContain('cannot check which repositories the command created. Tell the user');
  await expect(run('true')).rejects.toThrow('it has more than 50000 folders');
  execFileSync('sh', ['-c', 'rm -r many'], { cwd: agent.workspace });
  await run('true');
  sandbox.close();
  gitStatus(join(agent.workspace, deep, 'sub'));
  expect(readdirSync(agent.outside), notes).toEqual([]);
});
