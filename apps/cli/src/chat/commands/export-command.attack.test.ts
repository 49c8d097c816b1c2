import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { TestChat } from '../../testing/test-chat.ts';

// The user types a file name that somebody else proposed. The content of the session comes from a model.

const outer = temporaryFolder('export');
let count = 0;

/** Returns a chat with one answer, in a folder that has links. */
async function chatWithLinks() {
  const home = join(outer(), `home-${count++}`);
  const cwd = join(home, 'work');
  for (const path of ['.git/hooks', '.vscode', 'docs', '../.config/fish', '../other/.git/hooks'])
    mkdirSync(join(cwd, path), { recursive: true });
  symlinkSync('.git/hooks', join(cwd, 'hooks'));
  symlinkSync('../other/.git', join(cwd, 'notes'));
  const chat = new TestChat({ script: ['touch PWNED'], cwd, columns: 220 });
  await chat.send('Go');
  await chat.waitForText('touch PWNED');
  return { chat, cwd };
}

test.for([
  ...[
    '.git/hooks/pre-commit',
    'hooks/pre-commit',
    '.git/hooks/a.md',
    '.vscode/tasks.json',
    '.envrc',
  ],
  ...[
    'AGENTS.md',
    'claude.md',
    '.mcp.json',
    '.millrace.jsonl/../.bashrc',
    '../.profile',
    '../.zshenv',
  ],
  ...[
    '../.config/fish/a.md',
    '../tool',
    '../other/CLAUDE.md',
    'notes/hooks/pre-commit',
    'notes/hooks/a.md',
  ],
])('18.1236: attack: /export writes the session to %s', async (path) => {
  const { chat, cwd } = await chatWithLinks();
  await chat.send(`/export ${path}`);
  await chat.waitForText('Use another name.');
  expect(existsSync(join(cwd, path))).toBe(false);
});

test.for(['a.md', 'docs/a.txt', '../a.jsonl', '../other/a.md'])(
  '/export writes %s, and never replaces it',
  async (path) => {
    const { chat, cwd } = await chatWithLinks();
    await chat.send(`/export ${path}`);
    await chat.waitForText('Session written to');
    expect(readFileSync(join(cwd, path), 'utf8')).not.toBe('');
    writeFileSync(join(cwd, path), 'mine');
    await chat.idle();
    await chat.send(`/export ${path}`);
    await chat.waitForText('already exists');
    expect(readFileSync(join(cwd, path), 'utf8')).toBe('mine');
  },
);
