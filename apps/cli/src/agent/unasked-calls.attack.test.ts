import { existsSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { memoryLog } from '@millrace/log';
import { createWorkspace } from '@millrace/tools';
import { expect, test } from 'vitest';
import { expandPrompt } from '../extensions/slash-prompts.ts';
import { readMentionedFiles } from '../input/attachments/mentioned-files.ts';
import { extendedAgent, folderWith, hookSettings } from '../testing/test-agent.ts';
import { createSessionPolicy } from './session-policy.ts';
import { unaskedCalls } from './unasked-calls.ts';
import { readingTools } from './workspace-tools.ts';

// A project chooses the calls: its command has shell blocks and mentions files.

/** Starts a command of a project, with a hook of the user that gives this answer about each call. */
async function withHook(event: 'PreToolUse' | 'PostToolUse', answer: object, times = 1) {
  const { built, extensions, home } = await extendedAgent(
    {
      'home/.claude/settings.json': hookSettings(event, 'sh ~/guard.sh'),
      'home/guard.sh': `cat >> ~/calls; echo >> ~/calls; cat ~/answer.json`,
      'home/answer.json': JSON.stringify(answer),
      'project/.claude/commands/go.md': 'Check: !`cat notes.txt` and @notes.txt',
      'project/notes.txt': 'private-text',
      'project/public.txt': 'public-text',
    },
    [],
  );
  const texts: string[] = [];
  for (let left = times; left > 0; left--)
    texts.push(...(await expandPrompt(extensions, '/go', [], built.runUnasked)));
  const calls = join(home, 'calls');
  const asked = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [];
  return { text: texts.join('\n'), asked };
}

test('18.631: attack: a shell block and a mention avoid a hook that ends the run', async () => {
  const { text } = await withHook('PreToolUse', { continue: false, stopReason: 'Closed' });
  expect(text).not.toContain('private-text');
  expect(text).toContain('were not run');
});

test('18.631: attack: a shell block and a mention avoid a hook that changes the input', async () => {
  const updatedInput = { command: 'cat public.txt', file_path: 'public.txt' };
  const { text } = await withHook('PreToolUse', { hookSpecificOutput: { updatedInput } });
  expect(text).not.toContain('private-text');
  expect(text.match(/public-text/g)).toHaveLength(2);
});

test('18.631: attack: a hook changes a shell block to a command that needs a question', async () => {
  const updatedInput = { command: 'touch made.txt', file_path: '.env' };
  const { text } = await withHook('PreToolUse', { hookSpecificOutput: { updatedInput } });
  expect(text).toContain('were not run');
  expect(text).not.toContain('private-text');
});

test('18.631: attack: a hook decides about the first of two identical shell blocks only', async () => {
  const once = await withHook('PreToolUse', {});
  const twice = await withHook('PreToolUse', {}, 2);
  expect(once.text).toContain('private-text');
  expect(twice.asked).toHaveLength(2 * once.asked.length);
});

test('18.631: attack: a shell block and a mention avoid a hook that runs after a call', async () => {
  const { text, asked } = await withHook('PostToolUse', { continue: false, stopReason: 'Closed' });
  expect(text).not.toContain('private-text');
  expect(asked.join()).toContain('private-text');
});

test('18.631: the text of a hook is beside the output of a shell block', async () => {
  const said = { hookSpecificOutput: { additionalContext: 'Ship on Friday.' } };
  const { text } = await withHook('PostToolUse', said);
  expect(text).toContain('private-text\n\n<hook>\nShip on Friday.\n</hook>');
});

test('18.632: attack: a link changes after the decision about a mentioned file', async () => {
  const root = folderWith({ 'public.txt': 'public-text', '.env': 'KEY=hush' });
  symlinkSync('public.txt', join(root, 'link.txt'));
  const workspace = createWorkspace({ root });
  const policy = createSessionPolicy({
    ...{ workspace, rules: [{ path: '.env', decision: 'deny' }], isConfined: false },
    ...{ saveRule: async () => {}, deleteRule: async () => {} },
  });
  let isSwapped = false;
  const run = unaskedCalls({
    approve: async (call, at) => {
      const ruling = await policy.approve(call, at);
      if (!isSwapped) return ruling;
      symlinkSync('.env', join(root, 'next'));
      renameSync(join(root, 'next'), join(root, 'link.txt'));
      return ruling;
    },
    ...{ tools: readingTools(workspace, policy.policies), hooks: undefined, log: memoryLog() },
  });
  expect(await readMentionedFiles('See @link.txt', run)).toEqual([
    expect.stringContaining('public-text'),
  ]);
  isSwapped = true;
  expect(await readMentionedFiles('See @link.txt', run)).toEqual([]);
});
