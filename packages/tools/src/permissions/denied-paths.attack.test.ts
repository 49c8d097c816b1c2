import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { commandRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { permissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';

// A hostile model reads a denied file with a command. All commands are allowed, and there is no sandbox.

const denied: PermissionRule = { path: 'secret.txt', decision: 'deny' };
const allowing: Readonly<Record<'yes' | 'bash', PermissionRule>> = {
  yes: { decision: 'allow' },
  bash: { tool: 'bash', decision: 'allow' },
};

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'secret.txt': 'hush', 'a.txt': 'a', 'sub/b.txt': 'b', 'sub/secret.txt': 'x' });
  symlinkSync('../secret.txt', join(root, 'sub/l'));
  symlinkSync('.', join(root, 'here'));
});

const reaching = [
  'cat s*.txt',
  'cat [s]ecret.txt',
  'cat sub/l',
  'cat here/sub/l',
  'cd sub && cat l',
  'cd ./sub && cat l',
  'x=secret; cat $x.txt',
  "sh -c 'cat secret.tx?'",
  'grep -r hush .',
  'rg hush',
  'grep -r hush sub',
  'find . -type f | xargs cat',
  'tar c . | strings',
  'cp -r . /tmp/x && cat /tmp/x/a.txt',
  `python3 -c 'print(open("sec"+"ret.txt").read())'`,
  'git log -p',
  'git show HEAD',
  'git -C . log -p',
  'git diff --no-index /dev/null a.txt',
  '/usr/bin/git stash show -p',
  'base64 < secret.txt',
  'diff sub here',
  'npm test',
  './a.sh',
  'cat a.txt; cat `ls`',
  'cat SECRET.TXT',
  'echo a > b.txt',
];

test.for(reaching.flatMap((command) => [[command, 'yes'] as const, [command, 'bash'] as const]))(
  'attack 46: %s is asked about if a path is denied and all of %s is allowed',
  async ([command, by]) => {
    expect(await commandRuling(root, command, { rules: [allowing[by], denied] })).toBe('ask');
  },
);

test.for([
  'ls -la',
  'cat a.txt sub/b.txt',
  'head -n 5 a.txt | grep a',
  'wc -l a.txt && echo done',
  'pwd',
  'cat /etc/hostname',
  'cat missing.txt',
])('%s needs no question, because it uses no denied path', async (command) => {
  for (const rule of Object.values(allowing))
    expect(await commandRuling(root, command, { rules: [rule, denied] })).toBe('allow');
});

test('attack 46: a prefix rule does not cover a wildcard or a link to a denied path', async () => {
  const cat: PermissionRule = { tool: 'bash', command: 'cat', decision: 'allow' };
  const grep: PermissionRule = { tool: 'bash', command: 'grep', decision: 'allow' };
  const rules = [cat, grep, denied];
  for (const command of ['cat s*', 'cat sub/l', 'grep -r hush .', 'grep -r hush sub'])
    expect(await commandRuling(root, command, { rules }), command).toBe('ask');
  expect(await commandRuling(root, 'cat a.txt', { rules })).toBe('allow');
});

test('a rule for the exact line, or for a program with a name, covers what the program reads', async () => {
  const exact: PermissionRule = { command: 'cat s*', exact: true, decision: 'allow' };
  expect(await commandRuling(root, 'cat s*', { rules: [exact, denied] })).toBe('allow');
  const script: PermissionRule = { command: './build.sh', decision: 'allow' };
  expect(await commandRuling(root, './build.sh', { rules: [script, denied] })).toBe('allow');
});

test('without a denied path, a rule for all commands covers every command', async () => {
  for (const command of reaching)
    expect(await commandRuling(root, command, { rules: [allowing.bash] }), command).toBe('allow');
});

test('attack 46: an absolute path and a path in a folder are checked too', async () => {
  mkdirSync(join(root, 'keys'));
  writeTree(root, { 'keys/token': 'hush' });
  symlinkSync('keys', join(root, 'k'));
  for (const path of ['keys/token', join(root, 'keys/**'), 'keys/**']) {
    const rules: readonly PermissionRule[] = [allowing.yes, { path, decision: 'deny' }];
    for (const command of ['cat k/token', 'grep -r hush k', 'grep -r hush .', 'cat k/*'])
      expect(await commandRuling(root, command, { rules }), `${path} ${command}`).toBe('ask');
    expect(await commandRuling(root, 'grep -r b sub', { rules })).toBe('allow');
  }
});

// In the folder of a process, links lead elsewhere for the command than for the policy.
test
  .skipIf(process.platform !== 'linux')
  .each([
    'cat /proc/self/cwd/secret.txt',
    'cat /proc/thread-self/cwd/secret.txt',
    'cat /proc/self/task/../cwd/secret.txt',
    'head -5 /dev/fd/../cwd/secret.txt',
    'grep -r hush /proc/self/cwd/',
    'cat cwd/secret.txt',
  ])(
  '18.709: attack: `%s` reads a denied file through the folder of a process',
  async (command) => {
    symlinkSync('/proc/self/cwd', join(root, 'cwd'));
    const rules = [allowing.yes, denied];
    expect(await commandRuling(root, command, { rules })).toBe('ask');
  },
);

describe('18.775: attack: git prints an older version of a denied file', () => {
  const decide = (command: string) => {
    const rules = [allowing.yes, { path: 'secret.txt', decision: 'deny' }] as const;
    return permissionPolicy({ root, rules, hidesDenied: true }).decide({
      tool: 'bash',
      input: { command },
    }).decision;
  };

  test.each([
    ...['git config --blob HEAD:secret.txt --list', 'git status -v', 'git status -sv'],
    ...['git commit --dry-run -v', 'git commit -v', 'git add -p', 'git add -e', 'git add -i'],
    ...['git add *', 'git add {-p,.}', 'git commit -avm x', "git tag --format='%(raw)'"],
    ...[
      "git branch --format='%(contents)'",
      'git fetch --upload-pack=x',
      'git ls-files --format=x',
    ],
    ...['env git show HEAD:secret.txt', 'command git show HEAD:secret.txt', 'xargs git show x'],
    ...['sh -c "git show HEAD:secret.txt"', 'A=b git show HEAD:secret.txt', '(git show HEAD:x)'],
    ...['g=git; $g show HEAD:secret.txt', 'if git show HEAD:x; then :; fi', 'cat <(git show x)'],
    ...['git status $(git show HEAD:secret.txt)', '/usr/lib/git-core/git-show HEAD:x'],
    ...['sh -c "/usr/lib/git-core/git-show HEAD:x"', 'watch git diff', 'doas GIT show x'],
  ])('`%s` is asked about, also in the sandbox', (command) => {
    expect(decide(command)).toBe('ask');
  });

  test.each([
    ...[
      'git status -s',
      'git add -A && git commit -am "Fix it"',
      'git add src/*.ts',
      'git push -u',
    ],
    ...[
      'git config --get user.name',
      'git branch -D old',
      'git tag -a v1 -m x',
      'npm install git2',
    ],
    ...[
      'ls git',
      'cat github.txt',
      'sh -c "cat .github/a.yml"',
      'git init -q sub',
      'git remote -v',
    ],
  ])('`%s` needs no question', (command) => {
    expect(decide(command)).toBe('allow');
  });
});
