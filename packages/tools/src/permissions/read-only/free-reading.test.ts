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
