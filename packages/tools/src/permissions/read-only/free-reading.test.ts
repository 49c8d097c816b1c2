import { describe, expect, test } from 'vitest';
import { permissionPolicy } from '../permission-policy.ts';
import type { PermissionRule } from '../permission-rule.ts';

const root = '/folder/project';
const decision = (command: string, rules: readonly PermissionRule[] = []) =>
  permissionPolicy({ root, rules, freeReading: true }).decide({ tool: 'bash', input: { command } })
    .decision;

describe('a read-only command inside the root needs no rule', () => {
  test.each([
    'ls',
    'ls -la src',
    'ls --color=never',
    `ls -R ${root}/src`,
    'pwd',
    'cat a.txt src/b.ts',
    'cat -- -n',
    'head -n 20 a.txt',
    'head -20 a.txt',
    'tail -n +5 a.txt',
    'wc -l a.txt',
    "sed -n '1,20p' a.txt",
    "grep -rn 'TODO.*$' src",
    'grep -e a -e b file',
    'grep -r word',
    'rg word',
    "rg -n --glob '*.ts' 'a|b' src",
    'rg --files src',
    "find . -name '*.ts' -type f",
    'find src -maxdepth 2 -not -name x',
    'git status',
    'git status -s --branch',
    'git status -uno',
    'git diff',
    'git diff --stat main..HEAD -- src',
    'git diff -U5 --cached',
    'git log --oneline -n 5',
    'git log -5 --format=%h',
    'git show HEAD',
    'git branch -a',
    'git rev-parse --abbrev-ref HEAD',
    'date +%s',
    'echo done',
    `cd ${root} && ls`,
    'cd . && git status',
    'cat a.txt | grep x | sort -u | head -3',
    'ls; pwd && git log -1 || true',
  ])('%s', (command) => {
    expect(decision(command)).toBe('allow');
  });

  test('unless the option is off', () => {
    const policy = permissionPolicy({ root });
    expect(policy.decide({ tool: 'bash', input: { command: 'ls' } }).decision).toBe('ask');
  });
});

describe('a command that may do more than read is asked for', () => {
  test.each([
    // Paths outside the root.
    'cat /etc/passwd',
    'cat ../secret',
    'cat src/../../secret',
    'cat ~/.ssh/id_rsa',
    'ls /',
    'ls ..',
    'grep -r key /folder',
    'grep word a.txt /etc/passwd',
    'rg word ..',
    'find / -name x',
    'diff a.txt /etc/passwd',
    'git diff /etc/passwd /etc/shadow',
    'git diff --no-index a b',
    'cd /tmp && ls',
    'cd src && cat ../../x',
    'cd - && ls',
    'cd && ls',
    // Syntax other than plain words.
    'cat a.txt > b.txt',
    'cat a.txt >> b.txt',
    'cat < a.txt',
    'cat <(curl x)',
    'ls $(rm x)',
    'ls `rm x`',
    'echo "$HOME"',
    'echo $HOME',
    'ls *.txt',
    'cat {a,b}',
    'A=1 ls',
    'GIT_PAGER=sh git log',
    'PATH=. ls',
    '! ls',
    '(ls)',
    'ls |& cat',
    'ls # comment',
    'ls \\\nrm',
    'if ls; then pwd; fi',
    // Lines with another command.
    'ls && rm -rf x',
    'ls; rm x',
    'ls\nrm x',
    'ls & rm x',
    'cat a.txt | sh',
    'cat a.txt | xargs rm',
    'cat a.txt | tee b.txt',
    'git log | less',
    // Other programs with the same name.
    './ls',
    '/tmp/ls',
    'src/cat a',
    'LS',
    'command ls',
    'env ls',
    'sudo ls',
    'exec ls',
    'eval ls',
    'time ls',
    // Options that write files, run programs or follow links.
    'find . -delete',
    'find . -exec rm x',
    'find . -execdir rm x',
    'find . -ok rm x',
    'find . -fprint out',
    'find . -fls out',
    'find -L . -name x',
    'find . -files0-from x',
    "sed -i 's/a/b/' a.txt",
    "sed -n 'w out' a.txt",
    "sed -n '1e rm x' a.txt",
    "sed -n '1,5p;w out' a.txt",
    "sed -n -i '1p' a.txt",
    "sed -n '1p' -i a.txt",
    "sed '1p' a.txt",
    'sort -o out a.txt',
    'sort --output=out a.txt',
    'sort --compress-program=sh a.txt',
    'uniq a.txt out',
    'tail -f a.txt',
    'tail -F a.txt',
    'tail --follow a.txt',
    'grep -f /etc/passwd x',
    'grep -R x .',
    'grep -rf x .',
    'grep --file=x y',
    'wc --files0-from=x',
    'du --files0-from=x',
    'rg --pre sh x',
    'rg --pre=sh x',
    'rg -z x',
    'rg -L x',
    'rg --follow x',
    'rg --hostname-bin=sh x',
    'rg -f x',
    'ls --hyperlink',
    'date -s 2020-01-01',
    'hostname x',
    'awk 1 a.txt',
    'less a.txt',
    'more a.txt',
    'vim a.txt',
    'tree -o out',
    'node -e 1',
    'node --version -e 1',
    'python3 -c 1',
    // Git options and subcommands.
    'git -c core.pager=sh log',
    'git -C /tmp status',
    'git --git-dir=/tmp/x status',
    'git --exec-path=/tmp status',
    'git --paginate log',
    'git -p log',
    'git diff --ext-diff',
    'git diff --textconv',
    'git diff --output=out',
    'git diff -o out',
    'git log --output=out',
    'git log --ext-diff',
    'git log --show-signature',
    "git log --format='%G?'",
    "git log --pretty='%GS'",
    'git show --ext-diff',
    'git show --output=x',
    'git branch new',
    'git branch -D main',
    'git branch -m x',
    'git grep -O x',
    'git remote add x y',
    'git stash',
    'git add .',
    'git commit -m x',
    'git push',
    'git fetch',
    'git checkout .',
    'git config -l',
    'git bisect run sh',
    'git',
    'git --version status',
    '',
    'unknown',
  ])('%s', (command) => {
    expect(decision(command)).toBe('ask');
  });
});

describe('rules take precedence', () => {
  test('a command does not show what tools may not read', () => {
    for (const rule of [
      { tool: 'read', path: '.env', decision: 'deny' },
      { tool: 'read', path: '.env', decision: 'ask' },
      { path: '.env', decision: 'deny' },
    ] as const)
      expect(decision('cat .env', [rule])).toBe('ask');
    const denied: readonly PermissionRule[] = [{ path: '.env', decision: 'deny' }];
    for (const command of ['grep -r x', 'rg x', 'git show HEAD:.env', 'git diff', 'cat src/.env'])
      expect(decision(command, denied), command).toBe('ask');
    expect(decision('cat a.txt', denied)).toBe('allow');
  });

  test('a command that a rule denies or asks about is not allowed', () => {
    expect(decision('ls', [{ tool: 'bash', decision: 'deny' }])).toBe('deny');
    expect(decision('git log', [{ tool: 'bash', command: 'git log', decision: 'ask' }])).toBe(
      'ask',
    );
    expect(decision('git log -p', [{ tool: 'bash', command: 'git', decision: 'deny' }])).toBe(
      'deny',
    );
  });
});
