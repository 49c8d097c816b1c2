import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
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

// A command creates a repository that git finds, but that the check of the sandbox may miss.

const identity = '-c user.name=a -c user.email=a@b -c safe.directory=*';
const commit = `git ${identity} commit -q --allow-empty -m x`;
/** Turns a folder into a submodule, so that git reads it through the outer repository. */
const add = (folder: string) =>
  `git ${identity} update-index --add --cacheinfo 160000,$(git ${identity} -C ${folder} rev-parse HEAD),${folder}`;
const evil = 'core.fsmonitor "$TOP/evil.sh"';
/** Creates a hostile repository in a folder that is not searched. */
const hidden = (folder: string) =>
  `git init -q ${folder}; git -C ${folder} config ${evil}; (cd ${folder}; ${commit})`;
const bareHidden = `${hidden('node_modules/x')}; git -C node_modules/x config core.worktree "$TOP/sub"`;

interface Attack {
  readonly title: string;
  /** A command that the user ran before. Default: none. */
  readonly before?: string;
  readonly commands: readonly string[];
  readonly in?: string;
}

const attacks: readonly Attack[] = [
  {
    title: 'a hidden submodule of a submodule',
    commands: [
      `git init -q sub; cd sub; ${hidden('node_modules/x')}; ${add('node_modules/x')}; ${commit}; cd ..; ${add('sub')}`,
    ],
  },
  {
    title: 'a hidden submodule of a repository',
    commands: [`git init -q sub; cd sub; ${hidden('node_modules/x')}; ${add('node_modules/x')}`],
    in: 'sub',
  },
  {
    title: 'a hidden submodule, added later',
    commands: [
      `git init -q sub; cd sub; ${commit}; cd ..; ${add('sub')}`,
      `cd sub; ${hidden('node_modules/x')}; ${add('node_modules/x')}`,
    ],
  },
  {
    title: 'a split index after a file of its name',
    commands: [
      'touch .git/sharedindex.a',
      `${hidden('node_modules/x')}; ${add('node_modules/x')}; git ${identity} update-index --split-index`,
    ],
  },
  {
    title: 'a path with .. after a link',
    commands: [
      `${bareHidden}; mkdir sub node_modules/deep; ln -s ../node_modules/deep sub/link; git init -q --bare sub/x; mkdir sub/x/.git; mv sub/x/* sub/x/.git; mv node_modules/x/.git node_modules/y; rm -r sub/x; mkdir sub/y; printf 'gitdir: link/../y\n' > sub/.git`,
    ],
    in: 'sub',
  },
  {
    title: 'a path with a line break',
    commands: [
      `${bareHidden}; mkdir sub "$(printf 'sub/ok\n/..')" 2>/dev/null || true; mkdir 'sub/ok
'; mkdir sub/ok; printf 'gitdir: ok\n/../../node_modules/x/.git\n' > sub/.git`,
    ],
    in: 'sub',
  },
  {
    title: 'a pointer with many line breaks',
    commands: [
      `${bareHidden}; mkdir sub; (printf 'gitdir: ../node_modules/x/.git'; yes '' | head -5000) > sub/.git`,
    ],
    in: 'sub',
  },
  {
    title: 'a path that is no text',
    commands: [
      `${bareHidden}; mkdir sub; n=$(printf '\\377'); mv node_modules/x/.git node_modules/$n; printf 'gitdir: ../node_modules/\\377\n' > sub/.git`,
    ],
    in: 'sub',
  },
  {
    title: 'settings, added later',
    commands: [
      `git init -q sub; rm -r sub/.git/hooks sub/.git/config`,
      `cd sub; git config ${evil}`,
      `cd sub; git config ${evil}`,
    ],
    in: 'sub',
  },
  {
    title: 'settings in an empty .git, added later',
    commands: [`mkdir -p sub/.git`, `git init -q sub; cd sub; git config ${evil}`],
    in: 'sub',
  },
  {
    title: 'config.worktree in a second command',
    commands: [
      `git init -q sub; git -C sub config extensions.worktreeConfig true`,
      `cd sub; git config --worktree ${evil}`,
    ],
    in: 'sub',
  },
  {
    title: 'settings of a known hidden submodule',
    commands: [
      `git init -q node_modules/x; (cd node_modules/x; ${commit}); ${add('node_modules/x')}`,
      `git -C node_modules/x config ${evil}`,
    ],
  },
  {
    title: 'an index beside the worktree',
    commands: [
      `mkdir sub; git init -q data; (cd data; ${commit}); mv data/.git data/git; echo 'gitdir: ../data/git' > sub/.git; ${add('sub')}`,
      `cd sub; ${hidden('node_modules/x')}; ${add('node_modules/x')}`,
    ],
  },
  {
    title: 'a changed file of a split index',
    commands: [
      `echo b > b; git add b; git update-index --split-index; cp .git/sharedindex.* keep`,
      `${hidden('node_modules/x')}; ${add('node_modules/x')}; git update-index --split-index`,
    ],
  },
  {
    title: 'a place that seems to be guarded',
    commands: [
      `git init -q --bare bare`,
      `${hidden('node_modules/x')}; mkdir -p bare/.git/modules/node_modules sub; mv node_modules/x/.git bare/.git/modules/node_modules/x; echo 'gitdir: ../bare/.git/modules/node_modules/x' > sub/.git`,
    ],
    in: 'sub',
  },
  {
    title: 'more folders than are searched',
    commands: [`mkdir many; cd many; seq 1 50001 | xargs mkdir; cd ..; ${hidden('sub')}`],
    in: 'sub',
  },
  {
    title: 'more repositories than are guarded',
    commands: [`for n in $(seq 1 210); do mkdir -p a$n/.git; done; ${hidden('sub')}`],
    in: 'sub',
  },
  {
    title: 'a folder that cannot be read',
    commands: [`mkdir closed; chmod 0 closed; ${hidden('sub')}`],
    in: 'sub',
  },
  {
    title: 'a submodule that cannot be listed',
    commands: [`${hidden('sub')}; ${add('sub')}; chmod 0300 sub`],
  },
  {
    title: 'folders that cannot be listed',
    commands: [`mkdir -p a/b; ${hidden('a/b/sub')}; ${add('a/b/sub')}; chmod 0300 a/b a`],
  },
  {
    title: '18.70: a submodule with another worktree',
    commands: [
      `mkdir w; git init -q sub; (cd sub; ${commit}; git config core.worktree ../../w); ${add('sub')}`,
      `cd w; ${hidden('node_modules/x')}; cd ../sub; git ${identity} update-index --add --cacheinfo 160000,$(git ${identity} -C ../w/node_modules/x rev-parse HEAD),node_modules/x`,
    ],
  },
  {
    title: '18.71: a bare one with another worktree',
    commands: [
      `mkdir w; git init -q --bare sub; git config -f sub/config core.bare false; git config -f sub/config core.worktree ../w`,
      `cd w; ${hidden('node_modules/x')}; cd ../sub; git ${identity} update-index --add --cacheinfo 160000,$(git ${identity} -C ../w/node_modules/x rev-parse HEAD),node_modules/x`,
    ],
    in: 'sub',
  },
  {
    title: '18.72: a known one with another worktree',
    before: `mkdir w; git init -q --bare known; git config -f known/config core.bare false; git config -f known/config core.worktree ../w`,
    commands: [
      `cd w; ${hidden('node_modules/x')}; cd ../known; git ${identity} update-index --add --cacheinfo 160000,$(git ${identity} -C ../w/node_modules/x rev-parse HEAD),node_modules/x`,
    ],
    in: 'known',
  },
  {
    title: '18.73: a folder that cannot be changed',
    commands: [`${hidden('sub')}; ${add('sub')}; chmod 0555 sub`],
  },
  {
    title: '18.74: a bare folder that cannot be changed',
    commands: [
      `git init -q --bare sub; git config -f sub/config core.bare false; git config -f sub/config core.worktree .; git config -f sub/config ${evil}; chmod 0555 sub`,
    ],
    in: 'sub',
  },
  {
    title: '18.75: an index that cannot be changed',
    commands: [
      `mkdir a; git init -q a/sub; (cd a/sub; ${commit}); ${add('a/sub')}`,
      `cd a/sub; ${hidden('node_modules/x')}; ${add('node_modules/x')}; chmod 0555 node_modules/x`,
    ],
  },
  {
    title: 'a commondir through a link',
    commands: [
      `${hidden('node_modules/x')}; mkdir node_modules/deep; git init -q --bare sub; git -C sub config core.bare false; git -C sub config core.worktree ..; ln -s ../node_modules/deep sub/link; mkdir sub/x; mv node_modules/x/.git node_modules/y; echo 'link/../y' > sub/commondir; git init -q --bare sub/y`,
    ],
    in: 'sub',
  },
  ...['modules', 'worktrees'].map((name) => ({
    title: `18.842: a .git file that leads into ${name} of a linked worktree`,
    commands: [
      'git init -q w; mkdir -p v/.git; echo ../../w/.git > v/.git/commondir; echo ref: refs/heads/main > v/.git/HEAD',
      `mkdir x; ${hidden('y')}; mkdir v/.git/${name}; mv y/.git v/.git/${name}/evil; git config -f v/.git/${name}/evil/config core.worktree ../../../../x; echo gitdir: ../v/.git/${name}/evil > x/.git; ${add('x')}`,
    ],
  })),
  {
    title: '18.843: config.worktree of a linked worktree',
    commands: [
      `git init -q w; (cd w; ${commit}); git -C w config extensions.worktreeConfig true; mkdir -p v/.git; echo ../../w/.git > v/.git/commondir; cp w/.git/HEAD v/.git`,
      `git config -f v/.git/config.worktree ${evil}; ${add('v')}`,
    ],
  },
  {
    title: '18.844: a path that starts with a space',
    commands: [
      `git init -q m; (cd m; ${commit}); mkdir -p 'x/ m/.git'; mv m/.git 'x/ m/.git/meta'; echo 'gitdir:  m/.git/meta' > x/.git; ${add('x')}`,
      `git config -f 'x/ m/.git/meta/config' core.worktree ../../..; git config -f 'x/ m/.git/meta/config' ${evil}`,
    ],
  },
  {
    title: '18.844: a known path that starts with a space',
    before: `git init -q m; (cd m; ${commit}); mkdir -p 'x/ m/.git'; mv m/.git 'x/ m/.git/meta'; echo 'gitdir:  m/.git/meta' > x/.git; ${add('x')}`,
    commands: [
      `git config -f 'x/ m/.git/meta/config' core.worktree ../../..; git config -f 'x/ m/.git/meta/config' ${evil}`,
    ],
  },
  {
    title: '18.845: hooks in a folder that could not be changed',
    commands: [
      `git init -q v; (cd v; echo a > a; git add a; ${commit}; touch -d @1 a); rm -r v/.git/hooks; ${add('v')}; chmod 0555 v/.git`,
      `chmod 0755 v/.git; mkdir v/.git/hooks; cp evil.sh v/.git/hooks/post-index-change`,
    ],
  },
];

/** Creates a repository with a program that leaves a trace outside of the workspace. */
function prepare({ write, workspace, outside }: AttackedAgent, before = ''): void {
  const trap = `#!/bin/sh\ntouch '${outside}/ran'\n`;
  write(workspace, { 'evil.sh': trap, 'a.txt': 'a' });
  execFileSync('chmod', ['755', join(workspace, 'evil.sh')]);
  execFileSync('git', ['init', '-q'], { cwd: workspace });
  execFileSync('sh', ['-c', before], { cwd: workspace });
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
  for (const words of [['status'], ['update-index', '--refresh'], ['add', '-A']])
    try {
      execFileSync('git', ['-c', 'safe.directory=*', ...words], options);
    } catch {
      // The folder is not a repository any more.
    }
}

describe.for(sandboxUsers)('a command of %s hides a repository', (user) => {
  test.for(attacksAs(user, attacks))(
    'attack: $title runs a program outside',
    async (attack, context) => {
      const agent = await attackAgent(user, context);
      prepare(agent, attack.before);
      const texts: string[] = [];
      for (const command of attack.commands)
        texts.push(
          await agent.run(
            `TOP=$PWD; export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'\n${command}`,
          ),
        );
      runGitAsUser(join(agent.workspace, attack.in ?? '.'));
      expect(readdirSync(agent.outside), texts.join('\n')).toEqual([]);
    },
  );
});
