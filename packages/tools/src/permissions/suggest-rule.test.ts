import { describe, expect, test } from 'vitest';
import { permissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';
import { suggestRule } from './suggest-rule.ts';

const root = '/folder/project';
const policyOf = (rules: readonly PermissionRule[] = []) =>
  permissionPolicy({ root, rules, freeReading: true });
const commandFor = (command: string, rules: readonly PermissionRule[] = []) =>
  suggestRule(policyOf(rules), { tool: 'bash', input: { command } })?.command;

describe('an approval of a command', () => {
  test.each([
    ['npm test', 'npm test'],
    ['npm test -- -t "a b"', 'npm test'],
    ['make test -j8', 'make test'],
    ['go test -run=A ./...', 'go test'],
    ['npm run build:all -- x', 'npm run build:all'],
    ['git commit -m "a b"', 'git commit'],
    ['git add src/*.ts', 'git add'],
    ['cargo test --all', 'cargo test'],
    ['npx vitest run a', 'npx vitest'],
    ['pytest -k x', 'pytest'],
    ['ls && npm test', 'npm test'],
    ['npm test | head -5', 'npm test'],
  ])('covers for %s all commands that begin with %s', (command, prefix) => {
    expect(commandFor(command)).toBe(prefix);
  });

  test.each([
    'bash -c "npm test"',
    'sh x',
    'python3 -c 1',
    'node -e 1',
    'node x.js',
    'perl -e 1',
    'rm x',
    'rm -rf x',
    'sudo npm test',
    'env npm test',
    'xargs npm test',
    'nohup npm test',
    'timeout 5 npm test',
    'curl x',
    'curl x | sh',
    'wget x',
    'npx cowsay',
    'npx -y cowsay',
    'npm install x',
    'npm exec x',
    'npm run',
    'npm run --if-present x',
    'git push',
    'git push --force',
    'git -c a=b status',
    'git config a b',
    'git rebase --exec x',
    'git diff --output=x',
    'git log /etc/x',
    'npm test -- --watch',
    'make test deploy',
    'gradle test',
    'make',
    'make SHELL=x test',
    'docker run x',
    'ssh host',
    'mv a b',
    'cat /etc/passwd',
    'ls /',
    'npm test > x',
    'npm test; rm x',
    'npm test && npm run build',
    'npm test $(x)',
    'A=1 npm test',
    './npm test',
    '',
  ])('covers for %s exactly that line', (command) => {
    expect(commandFor(command)).toBeUndefined();
  });

  test('covers exactly that line if a rule asks about it or denies a part', () => {
    expect(commandFor('npm test', [{ command: 'npm test', decision: 'ask' }])).toBeUndefined();
    expect(commandFor('git add .env', [{ path: '.env', decision: 'deny' }])).toBeUndefined();
  });

  test('allows the command and others with its prefix', () => {
    const call = (command: string) => ({ tool: 'bash', input: { command } });
    const rule = suggestRule(policyOf(), call('npm test'));
    if (rule === undefined) throw new Error('there is none');
    const policy = policyOf().remember(rule);
    expect(policy.decide(call('npm test -- a')).decision).toBe('allow');
    expect(policy.decide(call('npm testing')).decision).toBe('ask');
    expect(policy.decide(call('npm test && rm x')).decision).toBe('ask');
  });
});

describe('an approval of a file change', () => {
  const change = (path: string, tool = 'write') => ({ tool, input: { path } });

  test('covers all file changes in the root, by any tool', () => {
    const rule = suggestRule(policyOf(), change('src/a.ts'));
    expect(rule).toEqual({
      ...{ tool: '{edit,write}', path: '**', decision: 'allow', yields: true },
    });
    if (rule === undefined) throw new Error('there is none');
    const policy = policyOf().remember(rule);
    for (const path of ['b.ts', '.hidden', 'src/deep/c', `${root}/d`])
      expect(policy.decide(change(path, 'edit')).decision, path).toBe('allow');
    for (const path of ['/etc/x', '../x', '.git/hooks/pre-commit', 'sub/.GIT/config'])
      expect(policy.decide(change(path)).decision, path).toBe('ask');
    expect(policy.decide({ tool: 'bash', input: { command: 'touch x' } }).decision).toBe('ask');
  });

  test('covers exactly that file if it is outside, inside .git, or if a rule asks about it', () => {
    expect(suggestRule(policyOf(), change('/etc/x'))).toBeUndefined();
    expect(suggestRule(policyOf(), change('.git/config'))).toBeUndefined();
    const rules = [{ path: 'secret/**', decision: 'ask' }] as const;
    expect(suggestRule(policyOf(rules), change('secret/x'))).toBeUndefined();
  });

  test('does not apply where a rule asks or denies', () => {
    const rules: readonly PermissionRule[] = [
      { path: 'secret/**', decision: 'ask' },
      { path: '.env', decision: 'deny' },
    ];
    const rule = suggestRule(policyOf(rules), change('src/a.ts'));
    if (rule === undefined) throw new Error('there is none');
    const policy = policyOf(rules).remember(rule);
    expect(policy.decide(change('secret/x')).decision).toBe('ask');
    expect(policy.decide(change('.env')).decision).toBe('deny');
    expect(policy.decide(change('src/b.ts')).decision).toBe('allow');
  });
});

test('other tools have no wider rule than the tool itself', () => {
  expect(suggestRule(policyOf(), { tool: 'issues_search', input: {} })).toBeUndefined();
  expect(suggestRule(policyOf(), { tool: 'read', input: { path: '/etc/x' } })).toBeUndefined();
});
