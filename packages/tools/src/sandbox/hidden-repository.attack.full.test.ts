import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attackAgent, endAgents, sandboxUsers } from '../testing/sandbox/use-sandbox.ts';

// One command prepares the workspace, so that the next command can change settings of git or programs of the
// agent. Each command has its own sandbox, as in separate sessions.

endAgents();

const config = '[core]\n\tbare = false\n';
const repository = (folder: string) => ({
  [`${folder}/HEAD`]: 'ref: refs/heads/main\n',
  [`${folder}/config`]: config,
  [`${folder}/objects/x`]: '',
  [`${folder}/refs/x`]: '',
});
const spoil = (path: string) => `echo evil >> ${path}; rm -f ${path}; echo evil > ${path}; true`;

describe.for(sandboxUsers)('as %s', (user) => {
  test.for([
    ['three empty files', 'vendor/x/.git', 'touch vendor/HEAD vendor/objects vendor/refs'],
    ['a hundred folders', 'vendor/x/.git', 'for i in $(seq 100); do mkdir -p a$i/.git; done'],
    ['too many folders', 'vendor/x/.git', 'for i in $(seq 201); do mkdir -p a$i/.git; done'],
    ['a bare repository without HEAD', 'vendor/x.git', 'mv vendor/x.git/HEAD h'],
    ['a bare repository with an empty HEAD', 'vendor/x.git', ': > vendor/x.git/HEAD'],
    ['a bare repository without refs', 'vendor/x.git', 'mv vendor/x.git/refs r'],
    ['another folder above', 'vendor/x/.git', 'mv vendor v; mkdir vendor'],
  ] as const)('attack: %s hide a repository', async ([, at, prepare], context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, repository(at));
    await agent.run(`${prepare}; true`);
    await agent.run(spoil(`${at}/config`));
    expect(readFileSync(join(agent.workspace, at, 'config'), 'utf8')).toBe(config);
  });

  test('attack: a folder that cannot be listed hides a repository that the user adds', async (context) => {
    const agent = await attackAgent(user, context);
    await agent.run('mkdir vendor; chmod 300 vendor');
    agent.write(agent.workspace, repository('vendor/x/.git'));
    await agent.run(spoil('vendor/x/.git/config'));
    expect(readFileSync(join(agent.workspace, 'vendor/x/.git/config'), 'utf8')).toBe(config);
  });

  test.for([
    ['commondir', 'echo evil > commondir'],
    ['config.worktree', 'cp evil/config config.worktree'],
    ['modules', 'mkdir -p modules; git init -q --bare modules/x; cp evil/config modules/x/config'],
    ['worktrees', 'mkdir -p worktrees/x; cp evil/config worktrees/x/config.worktree'],
    ['remotes', 'mkdir remotes; echo URL: evil > remotes/origin'],
  ] as const)(
    '18.64: attack: a command creates %s in a workspace that is a bare repository',
    async ([name, attack], context) => {
      const agent = await attackAgent(user, context);
      const settings = '[core]\n\tbare = true\n[extensions]\n\tworktreeConfig = true\n';
      agent.write(agent.workspace, {
        ...{ HEAD: 'ref: refs/heads/main\n', config: settings, 'objects/x': '', 'refs/x': '' },
        'evil/config': '[core]\n\tfsmonitor = evil.sh\n',
      });
      await agent.run(attack);
      const left = readdirSync(agent.workspace, { recursive: true, encoding: 'utf8' });
      const found = left.filter((path) => path === name || path.startsWith(`${name}/`));
      expect(
        found.filter((path) => path.includes('/') || !['modules', 'worktrees'].includes(path)),
      ).toEqual([]);
    },
  );

  test('attack: hooks of a repository above the workspace are in it', async (context) => {
    const agent = await attackAgent(user, context);
    const hooks = '[core]\n\thooksPath = tools/hooks\n';
    agent.write(agent.workspace, {
      ...repository('.git'),
      ...{ '.git/config': hooks, 'tools/hooks/pre-commit': 'good' },
    });
    const root = join(agent.workspace, 'tools');
    await agent.run(`${spoil('hooks/pre-commit')}; ${spoil('hooks/new')}`, { root });
    expect(readFileSync(join(root, 'hooks/pre-commit'), 'utf8')).toBe('good');
    expect(existsSync(join(root, 'hooks/new'))).toBe(false);
  });

  test('attack: a command creates a protected file that does not exist', async (context) => {
    const agent = await attackAgent(user, context);
    const options = { protect: ['millrace.json'] };
    await agent.run('echo evil > millrace.json; sleep 1; true', { options });
    expect(existsSync(join(agent.workspace, 'millrace.json'))).toBe(false);
  });

  test.for(['workspace', 'outside'] as const)(
    'attack: a command changes programs of the agent in the folder %s, which is writable',
    async (where, context) => {
      const agent = await attackAgent(user, context);
      const folder = agent[where];
      agent.write(folder, { 'cache/compiled/v24/a': 'good', 'bundle/main.js': 'good' });
      const programs = ['cache/compiled', 'bundle', 'later'].map((name) => join(folder, name));
      const attack = ['cache/compiled/v24/a', 'cache/compiled/new', 'bundle/main.js', 'later'];
      await agent.run(
        [...attack.map((name) => spoil(join(folder, name))), `mv ${folder}/cache ${folder}/c`].join(
          ';',
        ),
        { options: { programs, writable: [agent.outside] } },
      );
      for (const name of ['cache/compiled/v24/a', 'bundle/main.js'])
        expect(readFileSync(join(folder, name), 'utf8')).toBe('good');
      expect(existsSync(join(folder, 'cache/compiled/new'))).toBe(false);
      expect(existsSync(join(folder, 'later'))).toBe(false);
    },
  );

  test('attack: hidden programs of the system do not switch the sandbox off', async (context) => {
    const agent = await attackAgent(user, context);
    mkdirSync(join(agent.workspace, 'a'));
    const attack = `touch ${agent.outside}/escaped`;
    const said = await agent.run(attack, { options: { hide: ['/bin/sh', '/usr/bin/true'] } });
    expect(said).toContain('bwrap');
    expect(existsSync(join(agent.outside, 'escaped'))).toBe(false);
  });
});
