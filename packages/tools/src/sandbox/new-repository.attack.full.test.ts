import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type AttackedAgent,
  attackAgent,
  attacksAs,
  endAgents,
  sandboxUsers,
} from '../testing/sandbox/use-sandbox.ts';

endAgents();

// A command creates a repository in a folder of the workspace, and the user runs git later.

const identity = '-c user.name=a -c user.email=a@b -c safe.directory=*';
const commit = `git ${identity} commit -q --allow-empty -m x`;
/** Turns a folder into a submodule, so that git reads it through the outer repository. */
const add = (folder: string) =>
  `git ${identity} update-index --add --cacheinfo 160000,$(git ${identity} -C ${folder} rev-parse HEAD),${folder}`;
const evil = 'core.fsmonitor "$PWD/evil.sh"';

interface Attack {
  readonly title: string;
  readonly command: string;
  /** The folder in which the user runs `git status`. Default: the workspace. */
  readonly in?: string;
}

const attacks: readonly Attack[] = [
  {
    title: 'a submodule',
    command: `git init -q sub; git -C sub config ${evil}; (cd sub; ${commit}); ${add('sub')}`,
  },
  {
    title: 'a submodule in a folder that is not searched',
    command: `git init -q node_modules/sub; git -C node_modules/sub config ${evil}; (cd node_modules/sub; ${commit}); ${add('node_modules/sub')}`,
  },
  {
    title: 'a submodule in an index of two files',
    command: `git init -q node_modules/sub; git -C node_modules/sub config ${evil}; (cd node_modules/sub; ${commit}); ${add('node_modules/sub')}; git ${identity} update-index --split-index`,
  },
  {
    title: 'a submodule whose repository has another name',
    command: `git init -q --separate-git-dir=data sub; git -C sub config ${evil}; (cd sub; ${commit}); ${add('sub')}`,
  },
  {
    title: 'a repository below another folder',
    command: `mkdir -p a/b; git init -q a/b/c; git -C a/b/c config ${evil}`,
    in: 'a/b/c',
  },
  {
    title: 'a folder that looks like a bare repository',
    command: `git init -q --bare bare; git -C bare config core.bare false; git -C bare config core.worktree "$PWD/bare"; git -C bare config ${evil}`,
    in: 'bare',
  },
  {
    title: 'a folder that takes its settings from another one',
    command: `git init -q --bare data; mkdir sub; mv data/HEAD sub; echo ../data > sub/commondir; for s in "core.bare false" "core.worktree $PWD/sub" "core.fsmonitor $PWD/evil.sh"; do git config -f data/config $s; done`,
    in: 'sub',
  },
  {
    title: 'a repository with a hook',
    command: `git init -q sub; mkdir -p sub/.git/hooks; cp evil.sh sub/.git/hooks/post-index-change; (cd sub; echo a > a; git ${identity} add a)`,
    in: 'sub',
  },
  {
    title: '18.1260: a remote whose name is an option',
    command: `git init -q sub; cd sub; ${commit}; printf '[remote "--upload-pack=../evil.sh; git-upload-pack"]\\n\\turl = .\\n[remote "origin"]\\n\\turl = .\\n' >> .git/config`,
    in: 'sub',
  },
];

/** Creates a repository with a program that leaves a trace outside of the workspace. */
function prepare({ write, workspace, outside }: AttackedAgent): void {
  const trap = `#!/bin/sh\ntouch '${outside}/ran'\n`;
  write(workspace, { 'evil.sh': trap, 'a.txt': 'a' });
  execFileSync('chmod', ['755', join(workspace, 'evil.sh')]);
  execFileSync('git', ['init', '-q'], { cwd: workspace });
  if (process.getuid?.() === 0) {
    const [owner = ''] = execFileSync('stat', ['-c', '%u:%g', workspace], {
      encoding: 'utf8',
    }).split('\n');
    execFileSync('chown', ['-R', owner, workspace]);
  }
}

function runGitAsUser(folder: string): void {
  // The test checks only the trace in `outside`. It does not matter whether git can read the repository.
  const options = { cwd: folder, stdio: 'ignore' } as const;
  for (const words of [
    ['status'],
    ['update-index', '--refresh'],
    ['add', '-A'],
    ['fetch', '--all'],
  ])
    try {
      execFileSync('git', ['-c', 'safe.directory=*', ...words], options);
    } catch {
      // The folder is not a repository any more.
    }
}

describe.for(sandboxUsers)('a command of %s creates a repository', (user) => {
  test.for(attacksAs(user, attacks))(
    'attack: $title runs a program outside',
    async (attack, context) => {
      const agent = await attackAgent(user, context);
      prepare(agent);
      const text = await agent.run(`set -e\n${attack.command}`);
      runGitAsUser(join(agent.workspace, attack.in ?? '.'));
      expect(readdirSync(agent.outside), text).toEqual([]);
      expect(text).toContain('The sandbox renamed');
    },
  );

  test('attack: a command changes the settings of Mercurial and Jujutsu', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, { '.hg/hgrc': 'as before', '.jj/repo/store': '' });
    const text = await agent.run('echo evil > .hg/hgrc; echo evil > .jj/repo/config.toml');
    expect(readFileSync(join(agent.workspace, '.hg/hgrc'), 'utf8')).toBe('as before');
    expect(existsSync(join(agent.workspace, '.jj/repo/config.toml'))).toBe(false);
    expect(text).toContain('The sandbox renamed');
  });

  test.for([
    ['logs/HEAD', 'checkout -q -b other'],
    ['COMMIT_EDITMSG', 'commit -q --allow-empty -m other'],
    ['FETCH_HEAD', 'fetch -q .'],
  ] as const)(
    '18.1112: attack: git writes outside through a link at %s',
    async ([name, words], context) => {
      const agent = await attackAgent(user, context);
      prepare(agent);
      const own = `${user === 'nobody' ? 'setpriv --reuid 65534 --regid 65534 --clear-groups ' : ''}git ${identity}`;
      const file = join(agent.outside, 'file');
      agent.write(agent.outside, { file: 'as before' });
      const runAsUser = (command: string) =>
        execFileSync('sh', ['-c', command], { cwd: agent.workspace, stdio: 'pipe' });
      runAsUser(`${own} commit -q --allow-empty -m first`);
      const text = await agent.run(`ln -sf ${file} .git/${name}; ls -la .git/${name}`);
      runAsUser(`${own} ${words}`);
      expect(readFileSync(file, 'utf8'), text).toBe('as before');
      expect(text).toContain('a link, or another entry that git does not create');
    },
  );

  test('attack: a command that still runs keeps such a repository', async (context) => {
    const agent = await attackAgent(user, context);
    prepare(agent);
    const text = await agent.run(`git init -q sub; git -C sub config ${evil}; sleep 300`);
    expect(text).toContain('It was stopped by the sandbox');
    expect(existsSync(join(agent.workspace, 'sub/.git'))).toBe(false);
  });

  test('a repository without programs stays, with its submodules', async (context) => {
    const agent = await attackAgent(user, context);
    prepare(agent);
    const text = await agent.run(`set -e
git init -q other; (cd other; ${commit})
git -c protocol.file.allow=always clone -q other clone
cd clone; git ${identity} -c protocol.file.allow=always submodule --quiet add ../other inner; ${commit}`);
    expect(text).toBe('No output.');
    expect(existsSync(join(agent.workspace, 'clone/.git/modules/inner/config'))).toBe(true);
    expect(existsSync(join(agent.workspace, 'clone/inner/.git'))).toBe(true);
  });
});
