import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attackAgent, endAgents, sandboxUsers } from '../testing/sandbox/use-sandbox.ts';

// A setting of git names a program in the workspace. A command changes the program, and git of the user runs it.

endAgents();

const repository = (config: string) => ({
  ...{ '.git/HEAD': 'ref: refs/heads/main\n', '.git/config': config },
  ...{ '.git/refs/x': '', '.git/objects/x': '' },
});

/** Changes, replaces and moves a program, and each folder above it. */
const attack = (path: string, folder: string) =>
  `echo evil > ${path}; rm -f ${path}; echo evil > ${path}; mv ${folder} x; mkdir -p $(dirname ${path}); echo evil > ${path}; true`;

describe.for(sandboxUsers)('as %s', (user) => {
  test.for([
    ['[filter "nb"]\n\tclean = ./tools/run\n', 'tools/run', 'tools'],
    ['[core]\n\tfsmonitor = tools/run\n', 'tools/run', 'tools'],
    ['[gc]\n\trecentObjectsHook = tools/run\n', 'tools/run', 'tools'],
    ['[filter "nb"]\n\tclean = sed -nftools/run\n', 'tools/run', 'tools'],
    ['[alias]\n\tb = !git bisect run sh tools/inner/run\n', 'tools/inner/run', 'tools'],
    ['[alias]\n\tb = !cd tools && git bisect run sh run\n', 'tools/run', 'tools'],
    ['[diff "x"]\n\ttextconv = python3 tools/inner/run\n', 'tools/inner/run', 'tools'],
    [
      '[filter "nb"]\n\tclean = "\\"$PWD/.venv/bin/run\\" -m nbstripout"\n',
      '.venv/bin/run',
      '.venv',
    ],
  ] as const)(
    '18.1690: attack: a command changes the program of the setting %j',
    async ([config, path, folder], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { ...repository(config), [path]: 'good' });
      await agent.run('', { input: { command: attack(path, folder) } });
      expect(readFileSync(join(agent.workspace, path), 'utf8')).toBe('good');
    },
  );

  test('18.1690: attack: the program of a setting is a link to another folder', async (context) => {
    const agent = await attackAgent(user, context);
    const config = '[filter "nb"]\n\tclean = tools/run\n';
    agent.write(agent.workspace, { ...repository(config), 'shared/run': 'good', 'tools/x': '' });
    symlinkSync('../shared/run', join(agent.workspace, 'tools/run'));
    const replace = 'rm -f tools/run; echo evil > tools/run; true';
    await agent.run('', { input: { command: `${attack('shared/run', 'shared')}; ${replace}` } });
    expect(readFileSync(join(agent.workspace, 'tools/run'), 'utf8')).toBe('good');
  });

  test('18.1690: attack: a command changes the filter of a folder below', async (context) => {
    const agent = await attackAgent(user, context);
    const files = { ...repository('[filter "nb"]\n\tclean = tools/run\n'), 'tools/run': 'good' };
    mkdirSync(join(agent.workspace, 'sub'));
    agent.write(join(agent.workspace, 'sub'), files);
    await agent.run('', { input: { command: attack('sub/tools/run', 'sub/tools') } });
    expect(readFileSync(join(agent.workspace, 'sub/tools/run'), 'utf8')).toBe('good');
  });
});

test('18.1690: commands change all files if the settings are those of git-lfs', async (context) => {
  const agent = await attackAgent('self', context);
  const lfs =
    '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n';
  const config = `${lfs}[alias]\n\tclean = reset --hard\n`;
  agent.write(agent.workspace, { ...repository(config), clean: '', 'git-lfs': '', tools: '' });
  mkdirSync(join(agent.workspace, 'smudge'));
  const command = 'rm clean git-lfs tools; rmdir smudge; echo $((6 * 7))';
  expect(await agent.run('', { input: { command } })).toContain('42');
  for (const name of ['clean', 'git-lfs', 'tools', 'smudge'])
    expect(existsSync(join(agent.workspace, name))).toBe(false);
});

test('18.1690: a setting that names no existing file changes nothing', async (context) => {
  const agent = await attackAgent('self', context);
  agent.write(agent.workspace, repository('[filter "nb"]\n\tclean = .venv/bin/run -m x\n'));
  const command = 'mkdir -p .venv/bin; echo new > .venv/bin/run; cat .venv/bin/run';
  expect(await agent.run('', { input: { command } })).toContain('new');
});
