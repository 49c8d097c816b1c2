import { transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { expect, test } from 'vitest';
import { loadExtensions } from '../../extensions/load-extensions.ts';
import { homeAndProject, hookSettings } from '../../testing/test-agent.ts';
import { TestChat } from '../../testing/test-chat.ts';

async function extendedChat(script: readonly string[]) {
  const place = homeAndProject({
    'project/.claude/settings.json': hookSettings('PreToolUse', 'check.sh', { matcher: 'Bash' }),
    'project/.claude/commands/fix-2.md': '---\ndescription: Fixes an issue\n---\nFix issue $1 now.',
    'project/.claude/commands/help.md': 'Not the help.',
    'project/.claude/skills/pdf/SKILL.md': '---\nname: pdf\ndescription: Reads PDF\n---\nRead it.',
    'project/.claude/agents/scout.md': '---\ndescription: Finds things\n---\nFind it.',
  });
  const { extensions } = await loadExtensions({ ...place, trust: true });
  return new TestChat({ script, extensions, cwd: place.cwd, columns: 120 });
}

async function messagesOf({ log, session }: TestChat) {
  const items = transcript(await snapshot(log, session));
  return items.filter(({ kind }) => kind === 'user').map(({ parts }) => parts);
}

test('a command from a file sends its text with its arguments, and the screen shows its name', async () => {
  const chat = await extendedChat(['Fixed.', 'Read.']);
  await chat.send('/fix-2 17');
  await chat.waitForText('Fixed.');
  expect((await messagesOf(chat))[0]).toMatchObject([
    { kind: 'text', text: '/fix-2 17' },
    { kind: 'text', text: expect.stringContaining('Fix issue 17 now.') },
  ]);
  await chat.waitForText('[text of /fix-2]');
  await chat.send('/pdf');
  await chat.waitForText('Read.');
  expect((await messagesOf(chat))[1]?.[1]).toMatchObject({
    text: expect.stringContaining('Read it.'),
  });
});

test('a command from a file is completed and listed, and cannot replace a built-in command', async () => {
  const chat = await extendedChat([]);
  await chat.type('/fix');
  await chat.waitForText('Fixes an issue');
  await chat.type('\u0015');
  await chat.send('/help');
  await chat.waitForText('mentions a file');
  expect(await chat.log.list()).toEqual([]);
});

test('/hooks and /skills show what the session uses', async () => {
  const chat = await extendedChat([]);
  await chat.send('/hooks');
  await chat.waitForText('check.sh (project: .claude/settings.json)');
  await chat.send('/skills');
  await chat.waitForText('skill pdf');
  await chat.waitForText('command /fix-2');
  await chat.waitForText('sub-agent scout');
  const empty = new TestChat({ script: [], columns: 120 });
  await empty.send('/hooks');
  await empty.waitForText('There are no hooks.');
});
