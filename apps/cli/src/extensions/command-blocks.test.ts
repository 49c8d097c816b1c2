import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readMentionedFiles } from '../input/attachments/mentioned-files.ts';
import { extendedAgent } from '../testing/test-agent.ts';
import { expandPrompt } from './slash-prompts.ts';

/** Expands a command of a project that the user trusts, with the rules of a session. */
async function expanded(
  text: string,
  typed = '/go',
  more: Parameters<typeof extendedAgent>[2] = {},
) {
  const files = {
    'project/.claude/commands/go.md': text,
    'project/notes.txt': 'Ship on Friday.\n',
    'project/docs/a.md': 'A',
    'project/.env': 'KEY=secret-value',
  };
  const extended = await extendedAgent(files, [], more);
  const { built, extensions, cwd } = extended;
  const parts = await expandPrompt(extensions, typed, [], built.runUnasked);
  return { ...extended, parts, text: parts[0] ?? '', cwd };
}

test('23: a shell block of a command that only reads is replaced by its output', async () => {
  const { text } = await expanded('- Notes: !`cat notes.txt`\n\n```!\nls docs\n```\nGo on.');
  expect(text).toContain('- Notes: Ship on Friday.\n\na.md\nGo on.');
  expect(text).not.toContain('were not run');
});

test('23: arguments are put into a block, and `!` in an argument creates no block', async () => {
  const { text } = await expanded('Read !`cat $1`. $ARGUMENTS', '/go notes.txt !`cat docs/a.md`');
  expect(text).toContain('Read Ship on Friday.. notes.txt !`cat docs/a.md`');
});

test.each([
  ['changes a file', 'touch made.txt'],
  ['is joined to one that changes a file', 'cat notes.txt; touch made.txt'],
  ['gets such an argument', 'cat $1'],
  ['reads a file that looks like a secret', 'cat .env'],
])('23: attack: a shell block that %s does not run', async (_, command) => {
  const { text, cwd } = await expanded(`A: !\`${command}\``, '/go "notes.txt; touch made.txt"');
  expect(existsSync(join(cwd, 'made.txt'))).toBe(false);
  expect(text).toContain('were not run');
  expect(text).not.toContain('secret-value');
});

test('23: a rule of the user allows and denies shell blocks', async () => {
  const rules = [
    { tool: 'bash', command: 'touch made.txt', exact: true, decision: 'allow' },
    { tool: 'bash', command: 'cat notes.txt', decision: 'deny' },
  ] as const;
  const { text, cwd } = await expanded('!`touch made.txt` and !`cat notes.txt`', '/go', {
    config: { permissions: { mode: 'ask', rules } },
  });
  expect(existsSync(join(cwd, 'made.txt'))).toBe(true);
  expect(text).toContain('!`cat notes.txt`');
});

test('23: the files and folders that a command mentions are attached, and no secrets', async () => {
  const { parts } = await expanded(
    'Compare @notes.txt, @docs, @.env and @missing with @$1.',
    '/go docs/a.md',
  );
  expect(parts.slice(1)).toEqual([
    expect.stringMatching(/^<attached_resource uri="notes\.txt">\n[\s\S]*Ship on Friday/),
    expect.stringMatching(/^<attached_resource uri="docs">\n[\s\S]*a\.md/),
    expect.stringMatching(/^<attached_resource uri="docs\/a\.md">/),
  ]);
  expect(parts.join()).not.toContain('secret-value');
});

test('23: a link of the project attaches no file outside of it', async () => {
  const extended = await expanded('Look.');
  writeFileSync(join(extended.home, 'private.txt'), 'private-text');
  symlinkSync(join(extended.home, 'private.txt'), join(extended.cwd, 'link.txt'));
  const { runUnasked } = extended.built;
  expect(runUnasked && (await readMentionedFiles('See @link.txt', runUnasked))).toEqual([]);
});
