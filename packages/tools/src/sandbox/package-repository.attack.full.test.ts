import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type AttackedAgent,
  attackAgent,
  endAgents,
  sandboxUsers,
} from '../testing/sandbox/use-sandbox.ts';

endAgents();

// A command leaves a hostile repository in a large or unusual folder. It also leaves a branch in which this
// folder is a submodule. The index does not contain the submodule until the user checks out the branch.

const identity = '-c user.name=a -c user.email=a@b -c safe.directory=*';
const commit = `git ${identity} commit -q --allow-empty -m x`;
const evil = 'core.fsmonitor "$TOP/evil.sh"';
const create = (folder: string) => `git init -q ${folder}; (cd ${folder}; ${commit})`;
const spoil = (folder: string) => `git -C ${folder} config ${evil}`;
/** Creates a branch with the submodule. The submodule appears nowhere else. */
const branch = (folder: string) =>
  `GIT_INDEX_FILE=$PWD/i git ${identity} update-index --add --cacheinfo 160000,$(git ${identity} -C ${folder} rev-parse HEAD),${folder}; git ${identity} branch evil $(git ${identity} commit-tree -m x $(GIT_INDEX_FILE=$PWD/i git ${identity} write-tree)); rm -f i`;

const attacks: readonly {
  readonly title: string;
  /** A command that the user ran before. Default: none. */
  readonly before?: string;
  readonly commands: readonly string[];
}[] = [
  ...['node_modules/x', 'node_modules/@a/b/lib/c', 'a/node_modules/b/node_modules/c'].map(
    (folder) => ({
      title: folder,
      commands: [`${create(folder)}; ${spoil(folder)}; ${branch(folder)}`],
    }),
  ),
  {
    title: 'a folder of packages that was there before',
    before: 'mkdir -p node_modules/x/lib',
    commands: [
      `${create('node_modules/x/lib')}; ${spoil('node_modules/x/lib')}; ${branch('node_modules/x/lib')}`,
    ],
  },
  {
    title: 'a repository that was harmless before',
    before: create('node_modules/x'),
    commands: [`${branch('node_modules/x')}; ${spoil('node_modules/x')}`],
  },
  {
    title: 'a repository that an earlier command created',
    commands: [`${create('node_modules/x')}; ${branch('node_modules/x')}`, spoil('node_modules/x')],
  },
  {
    title: 'a folder of objects of a bare repository',
    commands: [
      `git init -q --bare b; ${create('b/objects/ab')}; ${spoil('b/objects/ab')}; ${branch('b/objects/ab')}`,
    ],
  },
  {
    title: 'a folder that cannot be listed',
    commands: [
      `mkdir node_modules; ${create('node_modules/a/x')}; ${spoil('node_modules/a/x')}; ${branch('node_modules/a/x')}; chmod 0111 node_modules/a node_modules`,
    ],
  },
];

/** Creates a repository with a program that leaves a trace outside of the workspace. */
function prepare({ write, workspace, outside }: AttackedAgent, before = ''): void {
  write(workspace, { 'evil.sh': `#!/bin/sh\ntouch '${outside}/ran'\n`, 'a.txt': 'a' });
  execFileSync('chmod', ['755', join(workspace, 'evil.sh')]);
  execFileSync('sh', ['-c', `git init -q; ${before}`], { cwd: workspace });
  if (process.getuid?.() !== 0) return;
  const owner = execFileSync('stat', ['-c', '%u:%g', workspace], { encoding: 'utf8' }).trim();
  execFileSync('chown', ['-R', owner, workspace]);
}

/**
 * Checks out the branch of the agent, like a user. The test checks only the trace, and not whether git
 * succeeds.
 */
function checkOut(folder: string): void {
  for (const words of [['checkout', '-q', 'evil'], ['status'], ['update-index', '--refresh']])
    try {
      execFileSync('git', ['-c', 'safe.directory=*', ...words], { cwd: folder, stdio: 'ignore' });
    } catch {
      // Git has refused the checkout.
    }
}

describe.for(sandboxUsers)('a command of %s leaves a branch with a hostile repository', (user) => {
  test.for(attacks)('18.76: attack: $title', async ({ before, commands }, context) => {
    const agent = await attackAgent(user, context);
    prepare(agent, before);
    const texts: string[] = [];
    for (const command of commands)
      texts.push(
        await agent.run(
          `TOP=$PWD; export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'\n${command}`,
        ),
      );
    checkOut(agent.workspace);
    expect(readdirSync(agent.outside), texts.join('\n')).toEqual([]);
  });
});
