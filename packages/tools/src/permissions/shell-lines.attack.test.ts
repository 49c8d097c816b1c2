import { execFileSync } from 'node:child_process';
import { beforeEach, describe, expect, test } from 'vitest';
import { commandRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import type { PermissionRule } from './permission-rule.ts';

// Lines that look like harmless commands but do something else. None of them may run without an approval.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'a.txt': 'a', 'src/b.txt': 'b' });
});

describe('without a rule', () => {
  test.for([
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
    // Lines that contain a second command.
    'ls && rm -rf x',
    'ls; rm x',
    'ls\nrm x',
    'ls & rm x',
    'cat a.txt | sh',
    'cat a.txt | xargs rm',
    'cat a.txt | tee b.txt',
    'git log | less',
    // Programs in other places that have the name of a known program.
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
  ])('shell line: %j', async (command) => {
    expect(await commandRuling(root, command)).toBe('ask');
  });
});

describe('with a rule that allows `git status`', () => {
  const rules: readonly PermissionRule[] = [
    { tool: 'bash', command: 'git status', decision: 'allow' },
  ];

  test.for([
    'git status *',
    'git status && rm -rf /',
    'git status; x',
    'git status\nx',
    'git status & x',
    'git status | x',
    'git status || x',
    'git status $(x)',
    'git status "$(x)"',
    'git status `x`',
    'git status > x',
    'git status < x',
    'git status 2>&1x',
    'git status &> /dev/null',
    'git status >/dev/null2',
    'git status $HOME',
    'PATH=. git status',
    'time git status',
    '(git status)',
    'git() { x; }; git status',
    'git status # x',
    "git status 'x",
    'git \\\nstatus',
    'git status \r\n x',
    '',
    '   ',
  ])('shell line: %j', async (command) => {
    execFileSync('git', ['init', '-q', root]);
    expect(await commandRuling(root, 'git status', { rules })).toBe('allow');
    expect(await commandRuling(root, command, { rules })).toBe('ask');
  });
});

describe('with rules that allow everything except `rm` and `git push`', () => {
  const rules: readonly PermissionRule[] = [
    { tool: 'bash', decision: 'allow' },
    { tool: 'bash', command: 'rm', decision: 'deny' },
    { tool: 'bash', command: 'git push', decision: 'ask' },
  ];

  test.for([
    '$x',
    'sudo rm x',
    'sh -c "rm x"',
    'eval rm',
    'a "$(rm x)"',
    '/usr/bin/env rm',
    'r?m x',
    'git push',
    'ionice rm x',
    'flock lock rm x',
    'trap "rm x" EXIT',
    'watch rm x',
    'ssh localhost rm x',
    'find . -exec rm {} +',
  ])('shell line: %j', async (command) => {
    expect(await commandRuling(root, command, { rules })).toBe('ask');
  });
});
