import { expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { globTool } from './glob-tool.ts';

// A hostile repository has an ignore file whose lines take hours to read or to compare.

const longName = `${'a'.repeat(250)}.txt`;

const lines = {
  'many blanks': `a${' '.repeat(300_000)}x`,
  'many escaped blanks': `a${'\\ '.repeat(2000)}x`,
  'many tabs': `a${'\t'.repeat(4000)}x`,
  'many wildcards': `${'*a'.repeat(20)}b`,
  'many wildcards in a folder': `src/${'*a'.repeat(20)}b/x`,
  'many levels': `${'**/a*/'.repeat(30)}b`,
  'many question marks': `${'*?'.repeat(20)}b`,
};

test('18.163: attack: costly lines of .gitignore do not block a search', async () => {
  const root = temporaryFolder();
  const deep = `${'a/'.repeat(60)}a.txt`;
  writeTree(root, {
    '.git/HEAD': '',
    '.gitignore': `${Object.values(lines).join('\n')}\n*.log\n`,
    'b.log': '',
    [longName]: '',
    [deep]: '',
  });
  const tool = globTool({ workspace: createWorkspace({ root }) });
  const { text } = await runTool(tool, { pattern: '**/*' });
  expect(text).toContain(longName);
  expect(text).toContain(deep);
  expect(text).not.toContain('b.log');
});
