import { execFileSync } from 'node:child_process';
import { beforeEach, expect, test } from 'vitest';
import { commandRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';

// A hostile model hides an action in a line with a git command that only reads.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'a.txt': 'a', '.env': 'TOKEN=hush' });
  execFileSync('git', ['-C', root, 'init', '-q']);
});

test.for([
  'git log -L1,5:.env',
  'git log -L 1,5:.env',
  'git log -pL1,5:.env',
  'git log -L:TOKEN:.env',
  'git log -L1,5:./.env',
])('attack 26: `%s` does not print a secret unasked', async (command) => {
  expect(await commandRuling(root, command)).toBe('ask');
});

const rules = [{ tool: 'bash', command: 'npm test', decision: 'allow' }] as const;

test.for(['git diff && npm test', 'npm test; git status', 'npm test | cat && git log'])(
  'attack 26: `%s` does not run git without its safe environment',
  async (command) => {
    expect(await commandRuling(root, command, { rules })).toBe('ask');
  },
);

test.for(['git log -L1,5:a.txt', 'git diff && git status | head', 'npm test', 'npm test && ls'])(
  '`%s` runs unasked',
  async (command) => {
    expect(await commandRuling(root, command, { rules })).toBe('allow');
  },
);

test('a rule for exactly the line allows a mixed line', async () => {
  const command = 'git diff && npm test';
  const exact = [{ tool: 'bash', command, exact: true, decision: 'allow' }] as const;
  expect(await commandRuling(root, command, { rules: exact })).toBe('allow');
});
