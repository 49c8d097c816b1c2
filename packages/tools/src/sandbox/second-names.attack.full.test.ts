import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type AttackedAgent,
  attackAgent,
  endAgents,
  sandboxUsers,
} from '../testing/sandbox/use-sandbox.ts';

// A guarded file has a second name in the workspace, or git finds it in an unusual place. A command changes the file
// there.

endAgents();

const repository = (config = '') => ({
  ...{ '.git/HEAD': 'ref: refs/heads/main\n', '.git/config': config },
  ...{ '.git/refs/x': '', '.git/objects/x': '' },
});

/** Runs a command that may not change git. */
function runPlain(agent: AttackedAgent, command: string, guarded?: readonly string[]) {
  return agent.run('', { input: { command }, guarded });
}

describe.for(sandboxUsers)('as %s', (user) => {
  const read = (agent: AttackedAgent, name: string) =>
    readFileSync(join(agent.workspace, name), 'utf8');

  test('18.1566: attack: a file deep in a folder with hooks has a second name', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, repository('[core]\n\thooksPath = .hooks\n'));
    agent.write(agent.workspace, { '.hooks/pre-commit': '. lib/run', '.hooks/lib/sh/run': 'good' });
    linkSync(join(agent.workspace, '.hooks/lib/sh/run'), join(agent.workspace, 'x'));
    expect(await runPlain(agent, 'echo evil > x')).toContain('several hard links');
    expect(read(agent, '.hooks/lib/sh/run')).toBe('good');
  });

  test('18.1567: attack: a link in a protected folder leads to another folder', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, { '.vscode/inner/a': '', 'shared/tasks.json': 'good' });
    for (const [link, target] of [
      ['tasks.json', '../shared/tasks.json'],
      ['inner/tasks.json', '../../shared/tasks.json'],
    ] as const)
      symlinkSync(target, join(agent.workspace, '.vscode', link));
    await runPlain(agent, 'echo evil > shared/tasks.json; mv shared x; true', ['.vscode']);
    expect(read(agent, '.vscode/tasks.json')).toBe('good');
  });

  test.for([
    ['refs/heads/team/main', 'branch'],
    ['objects/pack/pack-1.pack', 'pack'],
    ['logs/refs/heads/main', 'log'],
    ['info/inner/attributes', 'attributes'],
  ] as const)(
    '18.1568: attack: a link at .git/%s leads to the workspace',
    async ([path, name], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, {
        ...repository(),
        [name]: 'good',
        [join('.git', path, '../x')]: '',
      });
      symlinkSync(join(agent.workspace, name), join(agent.workspace, '.git', path));
      await runPlain(agent, `echo evil > ${name}; mv ${name} x; echo evil > ${name}`);
      expect(read(agent, `.git/${path}`)).toBe('good');
    },
  );

  test('18.1568: attack: a file in .git/refs has a second name', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, { ...repository(), '.git/refs/heads/a/b': 'good' });
    linkSync(join(agent.workspace, '.git/refs/heads/a/b'), join(agent.workspace, 'x'));
    expect(await runPlain(agent, 'echo evil > x')).toContain('several hard links');
  });

  test.for(['hooks', 'hooks/inner'])(
    '18.1569: attack: the workspace is %s, and git uses hooks as a folder with hooks',
    async (name, context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, repository('[core]\n\thooksPath = hooks\n'));
      agent.write(agent.workspace, { [`${name}/pre-commit`]: 'good' });
      const root = join(agent.workspace, name);
      const text = await agent.run('', { root, input: { command: 'echo evil > pre-commit' } });
      expect(text).toContain('hooks of git');
      expect(readFileSync(join(root, 'pre-commit'), 'utf8')).toBe('good');
    },
  );

  /** Runs a script of the user, who then owns all files. */
  const asUser = (agent: AttackedAgent, script: string) => {
    const { workspace: cwd, home } = agent;
    const safe = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory' };
    const env = { ...process.env, HOME: home, ...safe, GIT_CONFIG_VALUE_0: '*' };
    execFileSync('sh', ['-ec', `${script}; chown -R --reference=. .`], { cwd, env });
  };
  const git = 'git -c user.name=a -c user.email=a@b';

  test('18.1570: attack: a submodule is in a worktree that the settings name', async (context) => {
    const agent = await attackAgent(user, context);
    asUser(
      agent,
      `git init -q; ${git} commit -q --allow-empty -m x; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),mod; git config core.worktree ../tree; mkdir -p tree/mod`,
    );
    const text = await runPlain(agent, 'mkdir tree/mod/.git && echo $((6 * 7))');
    expect(text).not.toContain('42');
    expect(existsSync(join(agent.workspace, 'tree/mod/.git'))).toBe(false);
  });

  const start = `git init -q; mkdir hooks; touch hooks/pre-commit; git add .; ${git} commit -q -m x`;
  test.for([
    ['a linked worktree', `${start}; git config core.hooksPath hooks; git worktree add -q tree`],
    [
      'a linked worktree of a bare repository',
      `git init -q s; cd s; ${start}; cd ..; git clone -q --bare s .bare; rm -rf s; git --git-dir=.bare config core.hooksPath hooks; git --git-dir=.bare worktree add -q -b first first; git --git-dir=.bare worktree add -q -b tree tree`,
    ],
    [
      'a worktree with a separate git folder',
      `git init -q --separate-git-dir=data tree; cd tree; ${start}; git config core.hooksPath hooks; cd ..`,
    ],
  ])('18.1571: attack: a command changes the hooks of %s', async ([, script = ''], context) => {
    const agent = await attackAgent(user, context);
    asUser(agent, script);
    await runPlain(
      agent,
      'cd tree; echo evil > hooks/post-index-change; echo evil > hooks/pre-commit',
    );
    expect(existsSync(join(agent.workspace, 'tree/hooks/post-index-change'))).toBe(false);
    expect(read(agent, 'tree/hooks/pre-commit')).toBe('');
  });

  test('18.1572: attack: a command removes objects in a further folder', async (context) => {
    const agent = await attackAgent(user, context);
    asUser(
      agent,
      `git init -q; ${git} commit -q --allow-empty -m x; mkdir -p more/info; mv .git/objects/* more; mkdir -p store .git/objects/info; mv more/?? store; echo ../../more > .git/objects/info/alternates; mkdir -p more/info; echo ../store > more/info/alternates; git log -1 --oneline`,
    );
    await runPlain(agent, 'rm -rf store/* more/info/alternates');
    asUser(agent, 'git log -1 --oneline');
  });
});

test('a folder with hooks can contain links to files of the system', async (context) => {
  const agent = await attackAgent('self', context);
  agent.write(agent.workspace, repository());
  mkdirSync(join(agent.workspace, '.git/hooks'));
  symlinkSync('/bin/true', join(agent.workspace, '.git/hooks/pre-commit'));
  expect(await runPlain(agent, 'echo $((6 * 7))')).toContain('42');
});
