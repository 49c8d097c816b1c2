import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { commandRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { grepTool } from './grep-tool.ts';

// A hostile model searches for keys with the tool grep, which needs no approval to search a folder.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, {
    '.env': 'KEY=hush',
    'app/.ENV.local': 'KEY=hush',
    'app/.aws/credentials': 'KEY=hush',
    'tls/server.key': 'KEY=hush',
  });
});

test.for([
  { pattern: 'KEY' },
  { pattern: 'KEY', glob: '.env' },
  { pattern: '.', glob: '**/.aws/**' },
  { pattern: 'KEY', path: 'app' },
  { pattern: 'KEY', path: './tls/../.' },
  { pattern: 'hush', mode: 'count' },
  { pattern: 'h', mode: 'files', glob: '*.key' },
])('attack 13: grep with %j shows no secret', (input) => expectNothing(input));

test.for([
  ['.config/gh/hosts.yml', '.config'],
  ['.m2/settings.xml', '.m2'],
  ['.local/share/millrace/sessions.db', '.local'],
  ['.local/share/millrace/sessions.db', '.local/share'],
  ['work/.config/rclone/rclone.conf', 'work/.config'],
] as const)('attack 34: the secret %s is not shown by a search of %s', async ([file, path]) => {
  writeTree(root, { [file]: 'KEY=hush' });
  await expectNothing({ pattern: 'KEY', path });
  expect(await commandRuling(root, `grep -r KEY ${path}`)).toBe('ask');
});

describe('in a workspace that is the home folder', () => {
  beforeEach(() => void vi.stubEnv('HOME', root));
  afterEach(() => void vi.unstubAllEnvs());

  test.for([
    ['.config/stripe/config.toml', '.config'],
    ['.fly/config.yml', '.'],
    ['snap/firefox/cookies', 'snap'],
    ['.gradle/gradle.properties', '.gradle'],
  ] as const)('attack 34: the key %s is not shown by a search of %s', async ([file, path]) => {
    writeTree(root, { [file]: 'KEY=hush' });
    await expectNothing({ pattern: 'KEY', path });
    expect(await commandRuling(root, `grep -r KEY ${path}`)).toBe('ask');
  });
});

test('a file or folder that is searched on purpose is shown, because it was approved', async () => {
  writeTree(root, { '.config/gh/hosts.yml': 'KEY=hush', '.secrets/token': 'KEY=hush' });
  const tool = grepTool({ workspace: createWorkspace({ root }) });
  for (const path of ['.env', '.config/gh', '.config/gh/hosts.yml', '.secrets'])
    expect((await runTool(tool, { pattern: 'KEY', path })).text).toContain('hush');
});

async function expectNothing(input: Parameters<typeof runTool>[1]): Promise<void> {
  const tool = grepTool({ workspace: createWorkspace({ root }) });
  const { text } = await runTool(tool, input);
  expect(text).not.toContain('hush');
  expect(text).toMatch(/^Nothing matches\./);
  expect(text).toContain('look like secrets');
}
