import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorkspace, writeTool } from '@millrace/tools';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { keys, TestChat, toolCalls } from '../testing/test-chat.ts';

const folder = temporaryFolder('chat-rewind');

/** A chat whose agent has written a file in two versions, one per message. */
async function chatWithTwoMessages() {
  const cwd = mkdtempSync(join(folder(), 'files-'));
  const file = join(cwd, 'a.txt');
  const chat = new TestChat({
    cwd,
    tools: [writeTool(createWorkspace({ root: cwd }))],
    approve: () => 'allow',
    script: [
      toolCalls(['c1', 'write', { path: 'a.txt', content: 'one\n' }]),
      'Wrote one.',
      toolCalls(['c2', 'write', { path: 'a.txt', content: 'two\n' }]),
      'Wrote two.',
      'Something else.',
    ],
  });
  await chat.send('Write one');
  await chat.waitForText('Wrote one.');
  await chat.idle();
  await chat.send('Write two');
  await chat.waitForText('Wrote two.');
  await chat.idle();
  return { chat, file, text: () => (existsSync(file) ? readFileSync(file, 'utf8') : undefined) };
}

test('/undo takes the last message and its files back, and /redo returns', async () => {
  const { chat, text } = await chatWithTwoMessages();
  await chat.send('/undo');
  await chat.waitForText('You went back.');
  expect(text()).toBe('one\n');
  expect(chat.terminal.screen).toMatch(/❯ Write two|> Write two/);
  chat.type(keys.ctrlC);
  await chat.idle();
  await chat.send('/redo');
  await chat.until(() => text() === 'two\n');
  await chat.idle();
  await chat.send('Go on');
  await chat.waitForText('Something else.');
});

test('Esc twice goes back to a message with the files', async () => {
  const { chat, text } = await chatWithTwoMessages();
  chat.type(keys.escape);
  await chat.waitForText('Press Esc again');
  chat.type(keys.escape);
  await chat.waitForText('Go back to before which message?');
  expect(chat.terminal.screen).toContain('1 file changed since');
  await chat.quiet();
  await chat.press(`${keys.down}`);
  await chat.press(keys.enter);
  await chat.waitForText('What goes back?');
  await chat.quiet();
  await chat.press(keys.enter);
  await chat.waitForText('You went back.');
  expect(text()).toBeUndefined();
});

test('/undo refuses if somebody else changed a file, and says which', async () => {
  const { chat, file, text } = await chatWithTwoMessages();
  writeFileSync(file, 'mine\n');
  await chat.send('/undo');
  await chat.waitForText('Nothing was changed.');
  await chat.waitForText('Somebody else changed it since.');
  expect(text()).toBe('mine\n');
  expect(chat.terminal.text).not.toContain('You went back.');
});
