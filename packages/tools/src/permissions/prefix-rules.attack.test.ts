import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { commandRuling, policyRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';

// A rule allows the start of a command. A hostile model or repository adds harmful arguments or settings.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'a.txt': 'a', 'package.json': '{}' });
  execFileSync('git', ['-C', root, 'init', '-q']);
});

/** Returns the decision with a configured rule, and the decision with a rule that was granted in the chat. */
async function rulings(command: string, line: string) {
  const rule = { tool: 'bash', command, decision: 'allow' } as const;
  return [
    await commandRuling(root, line, { rules: [rule] }),
    await commandRuling(root, line, { remembered: [{ ...rule, yields: true }] }),
  ];
}

describe('an option in the place of a value', () => {
  // These programs do not know that `-t` has a value, or they read a value with a dash as an option.
  test.for([
    ['npm test', 'npm test -t --script-shell=/outside/evil'],
    ['npm test', 'npm test --grep --prefix=/outside'],
    ['npm test', "npm test '-k' '--node-options=--require=/outside/evil.js'"],
    ['npm run lint', 'npm run lint -t --script-shell=/outside/evil'],
    ['npm test', 'npm test -- -t --config=/outside/evil.ts'],
    ['npx vitest', 'npx vitest -t --config=/outside/evil.ts'],
    ['npx jest', 'npx jest --testNamePattern --globalSetup=/outside/evil.js'],
    ['npx mocha', 'npx mocha -g --require=/outside/evil.js'],
    ['pytest', 'pytest -k --rootdir=/outside'],
    ['npx jest', `npx jest -tc '{"globalSetup":"/outside/evil.js"}'`],
    ['npx vitest', 'npx vitest -tc evil.ts'],
    ['npx mocha', 'npx mocha -gr evil.js'],
    ['npx mocha', 'npx mocha -bgr evil.js'],
  ] as const)('attack 31: the rule %s does not cover `%s`', async ([command, line]) => {
    expect(await rulings(command, line)).toEqual(['ask', 'ask']);
  });

  test.for([
    ['npm test', 'npm test -- -t "adds two numbers"'],
    ['npx vitest', 'npx vitest --testNamePattern=-x src/a.test.ts'],
    ['npx jest', 'npx jest -it adds'],
    ['cargo test', 'cargo test -j4 -p core'],
    ['git commit', 'git commit -am "Fix the sum"'],
  ] as const)('the rule %s covers `%s`', async ([command, line]) => {
    expect(await rulings(command, line)).toEqual(['allow', 'allow']);
  });
});

describe('a repository with hooks', () => {
  beforeEach(() => {
    writeTree(root, { '.git/hooks/pre-commit': '#!/bin/sh\ntouch evil\n' });
    chmodSync(join(root, '.git/hooks/pre-commit'), 0o755);
  });

  test.for([
    ['git commit', 'git commit -m x'],
    ['git add', 'git add a.txt'],
    ['git push', 'git push'],
  ] as const)('attack 32: the rule %s does not run hooks by `%s`', async ([command, line]) => {
    expect(await rulings(command, line)).toEqual(['ask', 'ask']);
  });

  test('a rule for exactly the line runs hooks, and a command that only reads runs none', async () => {
    const command = 'git commit -m x';
    const rules = [{ tool: 'bash', command, exact: true, decision: 'allow' }] as const;
    expect(await commandRuling(root, command, { rules })).toBe('allow');
    expect(await rulings('git status', 'git status')).toEqual(['allow', 'allow']);
  });
});

describe('a repository whose remote is a folder of the archive', () => {
  const configure = (name: string, value: string) =>
    execFileSync('git', ['-C', root, 'config', name, value]);

  test.for([
    ['remote.origin.url', './evil.git'],
    ['remote.origin.url', 'evil.git'],
    ['remote.origin.url', 'file:///evil.git'],
    ['remote.origin.url', 'ext::sh -c evil'],
    ['remote.origin.pushurl', '../evil.git'],
    ['branch.main.remote', 'evil.git'],
    ['branch.main.pushRemote', './evil.git'],
    // Git treats these addresses as local folders, because they have no colon before the first slash.
    ['remote.origin.url', 'git@host'],
    ['remote.origin.url', 'git@host/evil.git'],
    ['remote.origin.url', 'git@host/../evil.git'],
    ['remote.origin.url', 'git@host/evil:evil.git'],
  ] as const)('attack 37: %s = %s does not run the hooks of the folder', async ([name, value]) => {
    configure(name, value);
    expect(await rulings('git push', 'git push')).toEqual(['ask', 'ask']);
  });

  test('attack 37: a remote without an address is the folder of that name', async () => {
    configure('remote.evil.fetch', '+refs/heads/*:refs/remotes/evil/*');
    configure('branch.main.remote', 'evil');
    expect(await rulings('git push', 'git push')).toEqual(['ask', 'ask']);
  });

  test.for([
    ['.git/remotes/origin', 'URL: ./evil.git\n'],
    ['.git/branches/origin', './evil.git\n'],
  ] as const)('attack 37: the old file %s names the folder', async ([path, content]) => {
    writeTree(root, { [path]: content });
    expect(await rulings('git push', 'git push')).toEqual(['ask', 'ask']);
    expect(await rulings('git commit', 'git commit -m x')).toEqual(['allow', 'allow']);
  });

  test.for([
    ...['https://example.com/a.git', 'git@example.com:a/b.git', 'ssh://git@example.com:22/a'],
    ...['git@[2001:db8::1]:a.git', 'org-123@github.com:a/b'],
  ])('a rule pushes to %s', async (url) => {
    configure('remote.origin.url', url);
    configure('branch.main.remote', 'origin');
    expect(await rulings('git push', 'git push')).toEqual(['allow', 'allow']);
  });

  test.for([
    ['git push', 'git push ./evil.git main'],
    ['git push', 'git push evil main'],
    ['git push', 'git push git@example.com:evil.git main'],
    ['git push', 'git push --receive-pack=./evil origin main'],
    ['git push', 'git push --rec=./evil origin main'],
    ['git push', 'git push --exec=./evil origin'],
    ['git push', 'git push --repo=./evil.git'],
    ['git fetch', 'git fetch --upload-pack=./evil origin'],
    ['git fetch', 'git fetch --upload-pack ./evil origin'],
    ['git fetch', 'git fetch --multiple ./evil.git'],
    ['git fetch', 'git fetch ext::./evil'],
    ['git pull', 'git pull ./evil.git'],
    ['git pull', 'git pull -s evil origin main'],
  ] as const)('attack 44: the rule %s does not run a program by `%s`', async ([command, line]) => {
    configure('remote.origin.url', 'https://example.com/a.git');
    writeTree(root, { 'evil/HEAD': 'ref: refs/heads/main\n' });
    expect(await rulings(command, line)).toEqual(['ask', 'ask']);
  });

  test.for([
    ['git push', 'git push -u origin main'],
    ['git push', 'git push --force-with-lease origin HEAD:refs/heads/main'],
    ['git fetch', 'git fetch --all --prune'],
    ['git pull', 'git pull --rebase origin main'],
    ['git push origin', 'git push origin main'],
  ] as const)('a rule of a file for %s covers `%s`', async ([command, line]) => {
    configure('remote.origin.url', 'https://example.com/a.git');
    expect(await rulings(command, line)).toEqual(['allow', 'ask']);
  });

  test('a rule commits, because that uses no remote', async () => {
    configure('remote.origin.url', '../other.git');
    expect(await rulings('git commit', 'git commit -m x')).toEqual(['allow', 'allow']);
  });
});

describe('a folder of the archive that is a repository', () => {
  const git = (folder: string, ...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-C', folder, ...words]);

  beforeEach(() => {
    git(root, 'commit', '-q', '--allow-empty', '-m', 'x');
    writeTree(root, { 'sub/b.txt': 'b', '.gitignore': 'ignored\n' });
    git(root, 'init', '-q', 'sub');
    git(join(root, 'sub'), 'add', 'b.txt');
    git(join(root, 'sub'), 'commit', '-q', '-m', 'y');
  });

  // Git turns the folder into a submodule, and runs its monitor when it looks for changes in it.
  test.for([
    ['git add', 'git add -A'],
    ['git add', 'git add sub && git add -u'],
    ['git checkout', 'git checkout other'],
    ['git stash', 'git stash pop'],
  ] as const)(
    'attack 40: the rule %s does not run its programs by `%s`',
    async ([command, line]) => {
      git(join(root, 'sub'), 'config', 'core.fsmonitor', 'evil');
      expect(await rulings(command, line)).toContain('ask');
      expect(await rulings(command, line)).not.toContain('allow');
    },
  );

  test('attack 40: `git checkout` makes a submodule of an ignored folder', async () => {
    git(root, 'init', '-q', 'ignored');
    git(join(root, 'ignored'), 'commit', '-q', '--allow-empty', '-m', 'y');
    git(join(root, 'ignored'), 'config', 'core.fsmonitor', 'evil');
    const rules = [{ tool: 'bash', command: 'git checkout', decision: 'allow' }] as const;
    expect(await commandRuling(root, 'git checkout other', { rules })).toBe('ask');
    // `git add` skips the ignored folder.
    expect(await rulings('git add', 'git add -A')).toEqual(['allow', 'allow']);
  });

  test('a repository without programs and a linked worktree are no reason to ask', async () => {
    git(root, 'worktree', 'add', '-q', 'tree');
    expect(await rulings('git add', 'git add -A')).toEqual(['allow', 'allow']);
    expect(await rulings('git commit', 'git commit -am x')).toEqual(['allow', 'allow']);
    git(root, 'init', '-q', 'evil');
    writeTree(root, { '.git/worktrees/tree/commondir': '../../../evil/.git' });
    expect(await rulings('git add', 'git add -A')).toEqual(['ask', 'ask']);
  });
});

describe('a rule for cd', () => {
  const rulingOf = (line: string) => {
    const commands = ['cd', 'pushd', 'popd', 'git commit', 'npm test'];
    const rules = commands.map(
      (command) => ({ tool: 'bash', command, decision: 'allow' }) as const,
    );
    return commandRuling(root, line, { rules });
  };

  test.for([
    ...['cd /etc && cat passwd', 'cd .. && ls', 'pushd /etc && cat passwd', 'cd / && grep -r x'],
    ...['cd sub && cat a.txt', 'cd sub\ncat a.txt', 'cd .. && git status', 'cd ./sub && git log'],
    ...['cd ./sub && git commit -m x', 'cd . && popd && cat a.txt'],
  ])('attack 41: `%s` reads or commits elsewhere without a question', async (line) => {
    writeTree(root, { 'sub/a.txt': '' });
    expect(await rulingOf(line)).toBe('ask');
  });

  test.for(['cd sub && npm test', 'cd .. && cd sub', 'cd . && cat a.txt && git status'])(
    'it allows `%s`',
    async (line) => {
      expect(await rulingOf(line)).toBe('allow');
    },
  );
});

test.for(['bun run sh a.sh', 'yarn run node a.js', 'yarn run python3 a.py', 'bun run env a'])(
  'attack 42: a rule for `%s` in the chat covers only this line',
  async (command) => {
    const { rule } = await policyRuling(root, ['bash', { command }], { lasting: 'wide' });
    expect(rule).toEqual({ tool: 'bash', command, exact: true, decision: 'allow' });
  },
);

describe('a standing approval, which covers later calls with the same suggested rule', () => {
  const suggested = (command: string) =>
    policyRuling(root, ['bash', { command }], { lasting: 'wide' });
  const exact = (command: string) => ({ tool: 'bash', command, exact: true, decision: 'allow' });

  test('attack 43: it does not cover paths that lead outside', async () => {
    symlinkSync('/etc', join(root, 'link'));
    const inside = await suggested('prettier --write a.txt');
    expect(inside.rule).toMatchObject({ command: 'prettier' });
    const outside = await suggested('prettier --write link/hosts');
    expect(outside.rule).toEqual(exact('prettier --write link/hosts'));
    expect(outside.reason).toContain('leads outside the workspace');
  });

  test('attack 43: it does not cover git in a repository that runs programs', async () => {
    expect((await suggested('git commit -m x')).rule).toMatchObject({ command: 'git commit' });
    execFileSync('git', ['-C', root, 'config', 'core.fsmonitor', 'evil']);
    const { rule, reason } = await suggested('git commit -m y');
    expect(rule).toEqual(exact('git commit -m y'));
    expect(reason).toContain('may make git run other programs');
  });

  test.for(['read', 'write', 'apply_patch'])(
    'attack 43: for %s, it does not cover a path that leads to another file now',
    async (tool) => {
      writeTree(root, { '.env': 'KEY=1', '.env.ci': 'KEY=0' });
      const call = [tool, { path: '.env.ci' }] as const;
      const first = await policyRuling(root, call, { lasting: 'wide' });
      expect(first.rule).toEqual({ tool, path: '.env.ci', exact: true, decision: 'allow' });
      rmSync(join(root, '.env.ci'));
      symlinkSync('.env', join(root, '.env.ci'));
      const second = await policyRuling(root, call, { lasting: 'wide' });
      expect(second.decision).toBe('ask');
      expect(second.rule).not.toEqual(first.rule);
    },
  );

  test('it can cover the file behind a link', async () => {
    writeTree(root, { '.env': 'KEY=1' });
    symlinkSync('.env', join(root, 'settings'));
    const { rule } = await policyRuling(root, ['read', { path: 'settings' }], { lasting: 'wide' });
    expect(rule).toEqual({ tool: 'read', path: '.env', exact: true, decision: 'allow' });
  });
});

describe('18.773: attack: the shell expands a word to a restricted command', () => {
  const lines = [
    'git {push,origin} main',
    'git pus? origin main:two',
    'git p*',
    'git [p]ush',
    'git -C . {push,x}',
    'git --no-pager p*',
    'cd . && git {push,}',
    './git push',
  ];
  for (const decision of ['deny', 'ask'] as const)
    test.each(lines)(`a rule with ${decision} for \`git push\` counts for \`%s\``, async (line) => {
      const rules = [
        { decision: 'allow' },
        { tool: 'bash', command: '/usr/bin/git push', decision },
      ] as const;
      expect(await commandRuling(root, line, { rules })).not.toBe('allow');
      const named = [rules[0], { ...rules[1], command: 'git push' }];
      expect(await commandRuling(root, line, { rules: named })).not.toBe('allow');
    });

  test.each(['git add *', 'git log -- *', 'npm {push,x}', 'git commit -m "push it"'])(
    'the rule does not count for `%s`',
    async (line) => {
      const rules = [
        { decision: 'allow' },
        { tool: 'bash', command: 'git push', decision: 'deny' },
      ] as const;
      expect(await commandRuling(root, line, { rules })).toBe('allow');
    },
  );

  test.each(['./deploy.sh', '././deploy.sh', './/deploy.sh', 'sub/../deploy.sh'])(
    'a rule that denies `./deploy.sh` denies `%s`',
    async (program) => {
      const rules = [
        { decision: 'allow' },
        { tool: 'bash', command: './deploy.sh', decision: 'deny' },
      ] as const;
      const decide = (line: string) => commandRuling(root, line, { rules });
      expect(await decide(`${program} now`)).toBe('deny');
      expect(await decide(`${join(root, 'deploy.sh')} now`)).toBe('deny');
      expect(await decide('other/deploy.sh')).toBe('ask');
    },
  );
});

describe('18.774: attack: a wildcard leads to a path that a granted rule does not cover', () => {
  beforeEach(() => {
    const outside = temporaryFolder();
    writeTree(outside, { 'x.js': 'var a' });
    writeTree(root, {
      'src/a.js': '',
      'src/.hidden': '',
      'conf/secrets.json': '{}',
      '.env': 'KEY=1',
    });
    symlinkSync(outside, join(root, 'o'));
    symlinkSync(join(outside, 'x.js'), join(root, 'src/l.js'));
    symlinkSync('.env', join(root, 'envl'));
  });

  test.each([
    ['tsc', 'tsc -p o*'],
    ['eslint', 'eslint --fix src/*.js'],
    ['eslint', 'eslint --fix src/?.js'],
    ['prettier', 'prettier --write src/*'],
    ['prettier', 'prettier conf/*'],
    ['pytest', 'pytest o*'],
    ['npm test', 'npm test -- e*'],
    ['git add', 'git add conf/*'],
    ['prettier', 'prettier --write s*c/a.js'],
  ])('the rule %s does not cover `%s`', async (command, line) => {
    expect((await rulings(command, line))[1]).toBe('ask');
  });

  test.each([
    ['eslint', 'eslint --fix src/a*.js'],
    ['git add', 'git add src/a*'],
    ['prettier', 'prettier --check no*'],
  ])('the rule %s covers `%s`', async (command, line) => {
    expect((await rulings(command, line))[1]).toBe('allow');
  });

  test('a wildcard that matches too many names', async () => {
    const names = Array.from({ length: 1001 }, (_, at) => [`many/a${at}`, ''] as const);
    writeTree(root, Object.fromEntries(names));
    expect(await rulings('prettier', 'prettier many/*')).toEqual(['allow', 'ask']);
  });
});
