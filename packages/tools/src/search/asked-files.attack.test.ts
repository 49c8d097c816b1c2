import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { commandRuling, policyRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { globTool } from './glob-tool.ts';
import { grepTool } from './grep-tool.ts';

// A hostile model searches a folder above a file for which a rule asks, or above the workspace.

let base: string;
let root: string;
beforeEach(() => {
  base = temporaryFolder();
  root = join(base, 'project');
  writeTree(root, { 'private/plan.txt': 'KEY hush', 'a.txt': 'KEY', 'conf/prod.txt': 'KEY deny' });
});

const ask = (path: string, more: Partial<PermissionRule> = {}): PermissionRule => ({
  ...{ path, decision: 'ask' },
  ...more,
});
const allow = (more: Partial<PermissionRule>): PermissionRule => ({ decision: 'allow', ...more });

const grep = async (
  rules: readonly PermissionRule[],
  path = '.',
  remembered: readonly PermissionRule[] = [],
) => {
  const policies = [permissionPolicy({ root, rules, remembered })];
  const workspace = createWorkspace({ root });
  return (await runTool(grepTool({ workspace, policies }), { pattern: 'KEY', path })).text;
};

describe('18.605: attack: a rule asks about a file', () => {
  test.for(['private/**', 'plan.txt', '**/plan.txt', 'pri*/p*', 'PRIVATE/plan.txt'])(
    'grep from above leaves out %s and reports the number',
    async (path) => {
      const text = await grep([ask(path)]);
      expect(text).toContain('a.txt');
      expect(text).not.toContain('hush');
      expect(text).toContain('need an approval by a rule are left out: 1');
    },
  );

  test('grep of the path itself asks, and then shows it', async () => {
    const rules = [ask('private/**')];
    for (const path of ['private', 'private/plan.txt']) {
      expect((await policyRuling(root, ['grep', { path }], { rules })).decision).toBe('ask');
      expect(await grep(rules, path)).toContain('hush');
    }
    expect((await policyRuling(root, ['grep', {}], { rules })).decision).toBe('allow');
    // A different rule still applies below the approved folder.
    expect(await grep([...rules, ask('plan.txt')], 'private')).not.toContain('hush');
  });

  test.for<readonly [readonly PermissionRule[], boolean]>([
    [[ask('private/**'), allow({})], true],
    [[ask('private/**'), allow({ yields: true })], false],
    [[ask('private/**'), allow({ path: 'private/plan.txt' })], true],
    [[ask('private/**'), allow({ path: 'private/plan.txt', yields: true })], false],
    [[allow({ path: 'private/plan.txt' }), ask('private/**')], false],
    [[ask('private/**', { tool: 'write' })], true],
    [[ask('private/**', { tool: 'gr*' })], false],
  ])('the last rule decides: %j', async ([rules, isShown]) => {
    const text = await grep(rules);
    expect(text.includes('hush')).toBe(isShown);
    const ruling = await policyRuling(root, ['grep', { path: 'private/plan.txt' }], { rules });
    expect(ruling.decision).toBe(isShown ? 'allow' : 'ask');
  });

  test('an approval for the session is about its own path', async () => {
    const remembered = [allow({ tool: 'grep', path: 'private/plan.txt', exact: true })];
    expect(await grep([ask('private/**')], '.', remembered)).toContain('hush');
  });

  test.for([
    'grep -rn KEY .',
    'rg KEY',
    'git log -p',
    'git show HEAD:private/plan.txt',
    'git diff',
    'git show',
    'cat private/plan.txt',
  ])('%s asks without a sandbox', async (command) => {
    expect(await commandRuling(root, command, { rules: [ask('private/**')] })).toBe('ask');
  });

  test.for(['ls -la', 'find . -name "*.txt"', 'cat a.txt', 'grep -rn KEY conf', 'git status'])(
    '%s needs no question',
    async (command) => {
      const rules = [ask('private/**')];
      // The folder is no repository.
      if (!command.startsWith('git'))
        expect(await commandRuling(root, command, { rules })).toBe('allow');
      const { decide } = permissionPolicy({ root, rules, freeReading: true });
      expect(decide({ tool: 'bash', input: { command } }).decision).toBe('allow');
    },
  );

  test('a rule for all commands does not cover a line that names the path', async () => {
    const rules = [allow({ tool: 'bash' }), ask('private/**')];
    expect(await commandRuling(root, 'cat private/plan.txt > x', { rules })).toBe('ask');
    expect(await commandRuling(root, 'npm test', { rules })).toBe('allow');
    const all = [...rules, allow({})];
    expect(await commandRuling(root, 'cat private/plan.txt', { rules: all })).toBe('allow');
  });

  test('a library without the option `policies` asks about a search from above', () => {
    const { decide } = permissionPolicy({ root, rules: [ask('private/**')] });
    expect(decide({ tool: 'grep', input: {} }).decision).toBe('ask');
    expect(decide({ tool: 'grep', input: { path: 'conf' } }).decision).toBe('allow');
    expect(decide({ tool: 'glob', input: {} }).decision).toBe('allow');
  });
});

test.for(['conf/**', 'conf/prod.txt', 'prod.txt', '**/conf/prod.txt'])(
  '18.606: attack: a search above the workspace shows nothing that %s denies or asks about',
  async (path) => {
    for (const decision of ['deny', 'ask'] as const) {
      const policies = [permissionPolicy({ root, rules: [{ path, decision }] })];
      const above = { workspace: createWorkspace({ root: base }), policies };
      const found = await runTool(grepTool(above), { pattern: 'KEY' });
      expect(found.text).toContain('project/a.txt');
      expect(found.text).not.toContain('deny');
      const listed = await runTool(globTool(above), { pattern: '**/*.txt' });
      expect(listed.text.includes('prod.txt')).toBe(decision === 'ask');
    }
  },
);
