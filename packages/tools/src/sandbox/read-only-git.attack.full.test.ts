import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, readdirSync, readFileSync } from 'node:fs';
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

// A command that nobody allowed to change git changes a repository, or creates one. The user runs git later.

const identity = '-c user.name=a -c user.email=a@b -c safe.directory=* -c init.defaultBranch=main';

/** Creates repositories of all kinds in the workspace, as the user. */
const repositories = `
git init -q
echo a > a.txt
git ${identity} add a.txt
git ${identity} commit -q -m first
git init -q sub
git init -q --separate-git-dir=data other
git clone -q --bare . bare.git
git ${identity} -c protocol.file.allow=always submodule --quiet add ./bare.git module
git worktree add -q tree`;

function asUser(agent: AttackedAgent, script: string): string {
  const [program = '', ...args] = [
    ...(agent.isRoot ? [] : ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--']),
    ...['sh', '-ec', script],
  ];
  const env = { ...process.env, HOME: agent.home };
  return execFileSync(program, args, { cwd: agent.workspace, stdio: 'pipe', env }).toString();
}

/** Runs a command without the permission to change git. A line whose program is `env` does not request it. */
function runPlain(agent: AttackedAgent, command: string): Promise<string> {
  const line = command.replaceAll('git -', 'env git -').replaceAll('git clone', 'env git clone');
  return agent.run('', {
    input: {
      command: `export HOME='${agent.home}'\n${line.replaceAll('git init', 'env git init')}`,
    },
  });
}

/** Returns names, times and contents of all files of the repositories. */
const state = `find .git data bare.git sub/.git other/.git module/.git tree/.git -printf '%p %m %T@ %l\\n' | sort
find .git data bare.git sub/.git -type f | sort | xargs sha256sum`;

const attacks = [
  'echo x > $G/MERGE_RR',
  'echo x > $G/HEAD',
  'echo x >> $G/index',
  'touch $G/new; mkdir -p $G/refs/heads/new',
  'echo "* filter=x" > $G/info/attributes',
  'rm -rf $G',
  'mv $G $G.old; cp -a $G.old $G',
  'mv $(dirname $G) moved',
  'ln $G/index alias && echo x >> alias',
  'ln -sfn "$PWD/a.txt" $G/index',
  'chmod -R 777 $G; truncate -s 0 $G/config',
  'cp -al $G copy; echo x >> copy/index',
  'mkdir -p elsewhere; mount --bind elsewhere $G; umount $G; mount -o remount,rw $G',
  `git --git-dir=$G ${identity} update-index --add --cacheinfo 160000,1234567890123456789012345678901234567890,sub`,
  `git --git-dir=$G ${identity} commit -q --allow-empty -m x; git --git-dir=$G stash; git --git-dir=$G gc`,
  'git --git-dir=$G worktree add new; git --git-dir=$G remote add evil "ext::sh -c ls"',
  `python3 - "$G/index" << 'END'
import mmap, os, sys
with open(sys.argv[1], 'r+b') as file:
    with mmap.mmap(file.fileno(), 0) as memory: memory[0:4] = b'EVIL'
END`,
] as const;

describe.for(sandboxUsers)('a command of %s without change_git', (user) => {
  test.for(attacksAs(user, attacks))('18.1382: attack: %s', async (command, context) => {
    const agent = await attackAgent(user, context);
    asUser(agent, repositories);
    // The sandbox itself creates missing folders, such as `.git/modules`.
    await runPlain(agent, 'true');
    const before = asUser(agent, state);
    for (const git of ['.git', 'sub/.git', 'data', 'bare.git', '.git/modules/module'])
      await runPlain(agent, `G=${git}\n${command}`);
    expect(asUser(agent, state)).toBe(before);
  });

  test.for([
    ['echo x > refs/heads/evil', 'bare'],
    ['echo x > packed-refs', 'bare'],
    ['mkdir -p info objects/info rr-cache; echo x > info/attributes', 'bare'],
    ['echo x > objects/info/alternates; rm -rf refs', 'bare'],
    ['echo x > MERGE_RR; mkdir sequencer rebase-merge; echo x > index', 'bare'],
    ['echo x > .git/refs/heads/evil; echo x > moved/heads/evil', 'refs'],
    ['echo x > .git/info/attributes; echo x > moved/new', 'info'],
    ['echo x >> .git/index; echo x >> moved', 'index'],
    ['echo x >> .git/objects/info/x; echo x >> moved/x', 'objects/info'],
  ] as const)(
    '18.1442: attack: `%s` changes a repository of unusual form: %s',
    async ([command, form], context) => {
      const agent = await attackAgent(user, context);
      if (form === 'bare') asUser(agent, 'git init -q --bare .');
      else
        asUser(
          agent,
          `git init -q; touch .git/index; mv .git/${form} moved; ln -s "$PWD/moved" .git/${form}`,
        );
      await runPlain(agent, 'true');
      const all =
        "find . -name '*blocked-by*' -prune -o -type d -empty -o -print | sort; find . -type f -not -name '*blocked-by*' | sort | xargs sha256sum";
      const before = asUser(agent, all);
      await runPlain(agent, command);
      expect(asUser(agent, all)).toBe(before);
    },
  );

  test.for([
    ['git init -q new', 'new/.git'],
    ['mkdir -p a/b; cp -r .git a/b/.git', 'a/b/.git'],
    ['git init -q --bare new.git', 'new.git/HEAD'],
    ['mkdir new; echo "gitdir: $PWD/data" > new/.git', 'new/.git'],
    ['mkdir new; ln -s ../.git new/.git', 'new/.git'],
    ['git clone -q . new', 'new/.git'],
    ['git init -q .hidden/new; chmod 500 .hidden', '.hidden/new/.git'],
    ['git init -q new; chmod 000 new', 'new/.git'],
  ] as const)('18.1383: attack: `%s` leaves a repository', async ([command, left], context) => {
    const agent = await attackAgent(user, context);
    asUser(agent, repositories);
    const text = await runPlain(agent, command);
    expect(existsSync(join(agent.workspace, left)), text).toBe(false);
    expect(text).toContain('only a command with change_git: true may create a repository');
    const [folder = '', name = ''] = [join(agent.workspace, left, '..'), left.split('/').at(-1)];
    expect(readdirSync(folder).join()).toContain(`${name}.blocked-by-sandbox`);
  });

  test.for([
    ['an empty folder', 'mkdir mod'],
    ['a folder with files', 'mkdir mod; touch mod/a'],
    ['no folder', 'true'],
    ['a file', 'touch mod'],
    ['a link', 'mkdir other; ln -s other mod'],
    ['a folder below the repository', 'mkdir -p sub/mod', 'sub'],
  ] as const)(
    '18.1443: attack: a command creates a repository at the path of a submodule that is %s, and removes it',
    async ([, create, below], context) => {
      const agent = await attackAgent(user, context);
      const path = below === undefined ? 'mod' : `${below}/mod`;
      asUser(
        agent,
        `git init -q; git ${identity} commit -q --allow-empty -m first; git ${identity} update-index --add --cacheinfo 160000,$(git rev-parse HEAD),${path}; ${create}`,
      );
      const command = `env git init -q /tmp/p; rm -rf mod; mkdir -p mod; cp -r /tmp/p/.git mod/.git; mv mod moved; mkdir mod; mv /tmp/p/.git mod; ls -d mod/.git && echo $((6 * 7)); while [ -d mod/.git ]; do sleep 0.1; done`;
      const root = join(agent.workspace, below ?? '');
      const input = { command: `export HOME='${agent.home}'\n${command}` };
      const text = await agent.run('', { root, input });
      expect(existsSync(join(agent.workspace, path, '.git')), text).toBe(false);
      const isStopped = text.includes('It was stopped by the sandbox');
      expect(isStopped || !text.includes('42'), text).toBe(true);
    },
  );

  test('git still reads the repositories', async (context) => {
    const agent = await attackAgent(user, context);
    asUser(agent, repositories);
    const git = `git ${identity}`;
    const text = await runPlain(
      agent,
      `set -e; echo b > a.txt; ${git} status --short; ${git} diff --stat; ${git} log --oneline; ${git} describe --always --dirty; cd tree; ${git} status`,
    );
    expect(text).toContain('1 file changed');
    expect(text).not.toContain('Exit code');
  });

  test('git that is part of a line may change the repository', async (context) => {
    const agent = await attackAgent(user, context);
    asUser(agent, repositories);
    const git = `git ${identity}`;
    const command = `export HOME='${agent.home}'; echo b > b.txt && ${git} add b.txt && ${git} commit -q -m second`;
    await agent.run('', { input: { command } });
    expect(asUser(agent, `${git} log --oneline`)).toContain('second');
  });

  test('a program that starts git gets advice', async (context) => {
    const agent = await attackAgent(user, context);
    asUser(agent, repositories);
    const text = await runPlain(agent, `sh -c 'git ${identity} commit --allow-empty -m x'`);
    expect(text).toContain('change_git: true permits it, if the user approves');
  });
});

test('18.1444: attack: a command creates a repository in a renamed one', async (context) => {
  const agent = await attackAgent('self', context);
  const text = await runPlain(
    agent,
    'git init -q new; mkdir new/.git/inner; cd new/.git/inner; git init -q; git init -q --bare ../more',
  );
  const find = ['.', '-name', '.git', '-o', '-name', 'HEAD'];
  const left = execFileSync('find', find, { cwd: agent.workspace, encoding: 'utf8' });
  expect(left, text).toBe('');
});

test('18.1445: attack: a command changes a repository in a folder of another user', async (context) => {
  if (process.getuid?.() !== 0) return context.skip('Only root can give a folder to another user.');
  const agent = await attackAgent('nobody', context);
  agent.write(agent.workspace, { 'srv/pub/a': '' });
  asUser(agent, 'git init -q srv/pub');
  chownSync(join(agent.workspace, 'srv'), 0, 0);
  chmodSync(join(agent.workspace, 'srv'), 0o711);
  await runPlain(
    agent,
    'cd srv/pub; git config core.fsmonitor evil; git init -q new; cp -r .git new',
  );
  expect(readFileSync(join(agent.workspace, 'srv/pub/.git/config'), 'utf8')).not.toContain('evil');
  expect(existsSync(join(agent.workspace, 'srv/pub/new'))).toBe(false);
});
