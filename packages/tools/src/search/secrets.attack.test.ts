import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { grepTool } from './grep-tool.ts';

// A hostile model searches for keys with the tool grep, which needs no approval for a folder.

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
])('attack 13: grep with %j shows no secret', async (input) => {
  const tool = grepTool({ workspace: createWorkspace({ root }) });
  const { text } = await runTool(tool, input);
  expect(text).not.toContain('hush');
  expect(text).toMatch(/^Nothing matches\./);
  expect(text).toContain('look like secrets');
});
