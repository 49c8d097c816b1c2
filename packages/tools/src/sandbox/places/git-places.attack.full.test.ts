import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attackAgent, endAgents, sandboxUsers } from '../../testing/sandbox/use-sandbox.ts';

// Commands try to change a repository that is not the folder `.git` of the workspace, or paths in its
// settings.

endAgents();

const repository = (folder: string) => ({
  [`${folder}/HEAD`]: 'ref: refs/heads/main\n',
  [`${folder}/config`]: 'good',
  [`${folder}/hooks/pre-commit`]: 'good',
  [`${folder}/objects/x`]: '',
  [`${folder}/refs/x`]: '',
});

/** Returns a command that tries to overwrite files. */
const spoil = (...paths: readonly string[]) =>
  `${paths.map((path) => `echo evil > ${path}; rm -f ${path}; mkdir -p $(dirname ${path}); echo evil > ${path}`).join('; ')}; true`;

describe.for(sandboxUsers)('as %s', (user) => {
  test.for([
    ['the file .git names', { '.git': 'gitdir: ./.bare\n', ...repository('.bare') }, '.bare'],
    [
      'a commondir names',
      {
        '.git': 'gitdir: ./trees/one\n',
        'trees/one/HEAD': '',
        'trees/one/commondir': '../../shared\n',
        ...repository('shared'),
      },
      'shared',
    ],
    ['is in a folder below', repository('vendor/lib/.git'), 'vendor/lib/.git'],
    ['is bare and in a folder below', repository('vendor/lib.git'), 'vendor/lib.git'],
    [
      'the file .git of a folder below names',
      { 'sub/.git': 'gitdir: ../real\n', ...repository('real') },
      'real',
    ],
  ] as const)(
    'attack 2: a command changes a repository that $0',
    async ([, files, at], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, files);
      await agent.run(spoil(`${at}/config`, `${at}/hooks/pre-commit`, `${at}/hooks/new`));
      const read = (name: string) => readFileSync(join(agent.workspace, at, name), 'utf8');
      expect(read('config')).toBe('good');
      expect(read('hooks/pre-commit')).toBe('good');
      expect(readdirSync(join(agent.workspace, at, 'hooks'))).toEqual(['pre-commit']);
    },
  );

  test.for(['.husky/_', '.husky/_/', './tools/hooks/_'])(
    '18.77: attack: a command changes hooks that those in %s run',
    async (named, context) => {
      const agent = await attackAgent(user, context);
      const hooks = join(named, '..');
      agent.write(agent.workspace, {
        ...repository('.git'),
        '.git/config': `[core]\n\thooksPath = ${named}\n`,
        [join(hooks, '_/pre-commit')]: 'good',
        [join(hooks, 'pre-commit')]: 'good',
      });
      await agent.run(
        spoil(...['_/pre-commit', 'pre-commit', 'new'].map((one) => join(hooks, one))),
      );
      for (const name of ['_/pre-commit', 'pre-commit'])
        expect(readFileSync(join(agent.workspace, hooks, name), 'utf8')).toBe('good');
      expect(readdirSync(join(agent.workspace, hooks))).toEqual(['_', 'pre-commit']);
    },
  );

  test.for(['.sl/config', '.git/sl/config', '_darcs/prefs/defaults', '.pijul/config'])(
    '18.77: attack: a command creates or changes %s',
    async (path, context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, repository('.git'));
      await agent.run(spoil(path));
      expect(existsSync(join(agent.workspace, path))).toBe(false);
      agent.write(agent.workspace, { [path]: 'good' });
      await agent.run(spoil(path));
      expect(readFileSync(join(agent.workspace, path), 'utf8')).toBe('good');
    },
  );

  test.for(['remotes', 'branches'])(
    'attack 2: a command names a folder with hooks as a remote in .git/%s',
    async (name, context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { ...repository('.git'), '.git/config': '' });
      const attack = `mkdir -p .git/${name}; echo ./evil > .git/${name}/origin; true`;
      await agent.run(attack);
      expect(existsSync(join(agent.workspace, '.git', name))).toBe(false);
      agent.write(agent.workspace, { [`.git/${name}/other`]: 'good' });
      await agent.run(attack);
      expect(readdirSync(join(agent.workspace, '.git', name))).toEqual(['other']);
    },
  );

  test.for([
    ['in the workspace', '.git', 'exec touch evil'],
    ['with a short name and blanks', '.git', 'pick 0 a\\n \\t x touch evil'],
    ['in a folder below', 'vendor/lib/.git', 'exec touch evil'],
    ['in a bare repository', 'vendor/lib.git', 'exec touch evil'],
    ['in a new repository', 'new/.git', 'exec touch evil'],
  ] as const)('18.84: attack: a command prepares a rebase %s', async ([, git, list], context) => {
    const agent = await attackAgent(user, context);
    const known = ['.git', 'vendor/lib/.git', 'vendor/lib.git'].map(repository);
    agent.write(agent.workspace, Object.assign({}, ...known));
    const text = await agent.run(
      `[ -e ${git} ] || git init -q new; mkdir ${git}/rebase-merge; printf '${list}\n' > ${git}/rebase-merge/git-rebase-todo`,
    );
    expect(text).toContain('rebase-merge');
    const todo = join(agent.workspace, git, 'rebase-merge/git-rebase-todo');
    expect(existsSync(todo)).toBe(false);
  });

  test('18.84: attack: a link leads to the list of a rebase', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, repository('.git'));
    await agent.run(
      'mkdir r; echo "exec touch evil" > r/git-rebase-todo; ln -s ../r .git/rebase-merge',
    );
    expect(existsSync(join(agent.workspace, '.git/rebase-merge'))).toBe(false);
  });

  test('18.84: a rebase without commands stays', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, repository('.git'));
    await agent.run(
      'mkdir .git/rebase-merge; echo "pick 0123456 exec a" > .git/rebase-merge/git-rebase-todo',
    );
    expect(existsSync(join(agent.workspace, '.git/rebase-merge/git-rebase-todo'))).toBe(true);
  });

  test('attack 2: a command changes the list of a rebase that has begun', async (context) => {
    const agent = await attackAgent(user, context);
    const list = '.git/rebase-merge/git-rebase-todo';
    agent.write(agent.workspace, { ...repository('.git'), '.git/config': '', [list]: 'good' });
    await agent.run(spoil(list));
    expect(readFileSync(join(agent.workspace, list), 'utf8')).toBe('good');
  });

  test.for([
    '[core]\n\thooksPath = named # ours',
    '[core]\n\thooksPath = "named" ; ours',
    '[CORE] HooksPath = na\\\nmed',
    '[core]\n\thooksPath = "na"med\t\n',
    '[core]\n\thooksPath = ./named//',
    '[include]\n\tpath = ../more ; x\n',
    '[includeIf "gitdir:/**"] path = "../more" # x\n',
  ])('attack 3: a command changes hooks that %j names', async (config, context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, {
      ...repository('.git'),
      '.git/config': config,
      more: '[core] hooksPath = named # x\n',
      'named/pre-commit': 'good',
    });
    await agent.run(spoil('named/pre-commit', ...(config.includes('more') ? ['more'] : [])));
    expect(readFileSync(join(agent.workspace, 'named/pre-commit'), 'utf8')).toBe('good');
    expect(readFileSync(join(agent.workspace, 'more'), 'utf8')).not.toContain('evil');
  });

  test('attack 3: hooks below a read-only folder are named, and become writable', async (context) => {
    const agent = await attackAgent(user, context);
    const hook = '.git/modules/a/hooks/pre-commit';
    const config = '[core] hooksPath = .git/modules/a/hooks\n';
    agent.write(agent.workspace, {
      ...repository('.git'),
      ...{ '.git/config': config, [hook]: 'good', '.git/modules/a/config': 'good' },
    });
    await agent.run(spoil(hook, '.git/modules/a/config'));
    expect(readFileSync(join(agent.workspace, '.git/modules/a/config'), 'utf8')).toBe('good');
  });

  test.for([
    ['the file .git', { '.git': 'gitdir: link/outside\n' }],
    ['the file .git of a folder below', { 'sub/.git': 'gitdir: ../link/outside\n' }],
    ['a commondir', { '.git/HEAD': '', '.git/commondir': '../link/outside\n' }],
  ] as const)(
    'attack 5: folders are created outside, where $0 leads through a link',
    async ([, files], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, files);
      symlinkSync('..', join(agent.workspace, 'link'));
      await agent.run('true');
      expect(readdirSync(agent.outside)).toEqual([]);
    },
  );

  test.for(['the workspace', 'the folder above'])(
    'attack 6: a command changes settings of git while %s is hidden',
    async (what, context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, repository('.git'));
      const hide = [what === 'the workspace' ? agent.workspace : join(agent.workspace, '..')];
      await agent.run(
        spoil('.git/config', '.git/hooks/pre-commit', '.git/hooks/new', '.git/commondir'),
        { options: { hide } },
      );
      const read = (name: string) => readFileSync(join(agent.workspace, '.git', name), 'utf8');
      expect(read('config')).toBe('good');
      expect(read('hooks/pre-commit')).toBe('good');
      expect(readdirSync(join(agent.workspace, '.git/hooks'))).toEqual(['pre-commit']);
      expect(existsSync(join(agent.workspace, '.git/commondir'))).toBe(false);
    },
  );

  test.for(['.config/millrace', '.local/share/millrace'])(
    'attack 4: a command creates %s, which holds the rules of the agent',
    async (name, context) => {
      const agent = await attackAgent(user, context);
      const options = { hide: [join(agent.workspace, name)] };
      await agent.run(`mkdir -p ${name}; echo evil > ${name}/config.json; true`, { options });
      expect(existsSync(join(agent.workspace, name))).toBe(false);
    },
  );
});
