import { transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { expect, test } from 'vitest';
import { planNote, planOverNote } from '../agent/session-mode.ts';
import { TestChat } from '../testing/test-chat.ts';

const shiftTab = '\u001b[Z';

async function messagesOf({ log, session }: TestChat): Promise<readonly (readonly string[])[]> {
  const items = transcript(await snapshot(log, session));
  return items
    .filter(({ kind }) => kind === 'user')
    .map(({ parts }) => parts.flatMap((part) => (part.kind === 'text' ? part.text : [])));
}

test('Shift-Tab changes the mode, and the status line always shows it', async () => {
  const chat = new TestChat();
  await chat.idle();
  expect(chat.terminal.screen).toContain('asks first · script');
  for (const label of ['accepts edits', 'auto in the sandbox', 'plan mode', 'asks first']) {
    chat.type(shiftTab);
    await chat.waitForText(`${label} · script`);
  }
});

test('a session with --yes can return to it, and a read-only session stays read-only', async () => {
  const chat = new TestChat({ mode: 'allow' });
  await chat.idle();
  expect(chat.terminal.screen).toContain('asks nothing (--yes) · script');
  chat.type(shiftTab);
  await chat.waitForText('plan mode · script');
  const strict = new TestChat({ mode: 'read-only' });
  await strict.idle();
  strict.type(shiftTab);
  await strict.waitForText('Nothing can be changed');
  expect(strict.terminal.screen).toContain('read-only · script');
});

test('/mode lists the modes and changes the mode', async () => {
  const chat = new TestChat({ columns: 120 });
  await chat.send('/mode');
  await chat.waitForText('› ask');
  await chat.send('/mode accept-edits');
  await chat.waitForText('accepts edits · script');
  await chat.send('/mode nothing');
  await chat.waitForText('✗ There is no mode nothing here. Use one of ask, accept-edits, auto');
});

test('a plan ends with a question, and Go starts the work in the chosen mode', async () => {
  const chat = new TestChat({ script: ['1. Change a.ts', 'Done.'], mode: 'plan' });
  await chat.send('Rename it');
  await chat.waitForText('Go ahead with this plan?');
  expect(chat.terminal.text).not.toContain('Plan mode: look');
  await chat.quiet();
  await chat.press('2');
  await chat.waitForText('Done.');
  await chat.idle();
  expect(chat.terminal.screen).toContain('accepts edits · script');
  expect(await messagesOf(chat)).toEqual([
    ['Rename it', planNote],
    ['Go: carry out the plan.', planOverNote],
  ]);
});

test('an answer to the plan in words continues the planning', async () => {
  const chat = new TestChat({ script: ['The plan.', 'A better plan.'], mode: 'plan' });
  await chat.send('Rename it');
  await chat.waitForText('Go ahead with this plan?');
  await chat.quiet();
  await chat.press('e');
  chat.type('Only in src\r');
  await chat.waitForText('A better plan.');
  await chat.quiet();
  await chat.press('x');
  await chat.idle();
  expect(chat.terminal.screen).toContain('plan mode · script');
  expect(await messagesOf(chat)).toEqual([
    ['Rename it', planNote],
    ['Only in src', planNote],
  ]);
});
