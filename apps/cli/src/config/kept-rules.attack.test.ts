import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type PermissionRule, permissionPolicy } from '@millrace/tools';
import { expect, test } from 'vitest';
import { folderWith } from '../testing/test-agent.ts';
import { readRememberedRules, rememberRule } from './folders-file.ts';
import { isKeptByText, ruleFromText } from './rule-text.ts';

// A model chooses a path with spaces at its ends. The user allows the path, and the rule is saved as text.

const cases = [
  ' .npmrc',
  '.npmrc ',
  '\t.git/config',
  '\u00a0.vscode/tasks.json',
  ' /etc/x',
  ' ../up',
];

test.each(cases)('18.1652: attack: the saved rule for %j allows another file', async (path) => {
  const cwd = folderWith({});
  mkdirSync(join(cwd, 'c'));
  const config = { foldersFile: join(cwd, 'c/folders.json') };
  const rule = { tool: 'write', path, exact: true, decision: 'allow' } as const;
  await rememberRule(config, cwd, rule);
  const rules = await readRememberedRules(config, cwd);
  expect(rules).toEqual([rule]);
  const trimmed = { tool: 'write', input: { path: path.trim(), content: 'x' } };
  expect(permissionPolicy({ root: cwd, rules }).decide(trimmed).decision).toBe('ask');
});

const changed: readonly PermissionRule[] = [
  { tool: 'write', path: ' a', decision: 'allow' },
  { tool: 'write', path: ' a', exact: true, decision: 'deny' },
  { tool: 'bash', command: 'ls ', decision: 'allow' },
  { command: 'ls', decision: 'allow' },
  { tool: 'bash:x', path: 'a', decision: 'allow' },
];

test.each(changed)('18.1652: attack: the rule %j is not saved as another rule', async (rule) => {
  const cwd = folderWith({});
  const config = { foldersFile: join(cwd, 'folders.json') };
  await expect(rememberRule(config, cwd, rule)).rejects.toThrow('Cannot save the rule');
  expect(await readRememberedRules(config, cwd)).toEqual([]);
  expect(isKeptByText(rule)).toBe(false);
});

test('18.1652: a rule that denies does not lose its effect through a space', () => {
  for (const text of ['read= secret.txt', 'read = secret.txt ', 'read: secret.txt '])
    expect(ruleFromText(text, 'deny')).toMatchObject({ path: 'secret.txt' });
});
