import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bashTool, commandFiles, createWorkspace, writeTool } from '@millrace/tools';
import { expect, test } from 'vitest';
import type { SessionMode } from '../contract/config.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { keys, TestChat, toolCalls } from '../testing/test-chat.ts';

const folder = temporaryFolder('chat-rewind');

/** A chat whose agent has written a file in two versions, one per message. */
async function chatWithTwoMessages(mode?: SessionMode, isExecuted = false) {
  const cwd = mkdtempSync(join(folder(), 'files-'));
  const file = join(cwd, 'a.txt');
  const chat = new TestChat({
    ...{ cwd, mode, executedFiles: isExecuted ? [file] : [] },
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
  await chat.waitForText('What changes?');
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

test('18.359: attack: /undo writes an earlier text of the model into the script of an MCP server', async () => {
  const { chat, text } = await chatWithTwoMessages(undefined, true);
  await chat.send('/undo');
  await chat.waitForText('Nothing was changed.');
  await chat.waitForText('Programs run it or use it as settings.');
  expect(text()).toBe('two\n');
});

/** A chat whose agent has changed a file with a command. */
async function chatWithCommand(maxFiles?: number) {
  const cwd = mkdtempSync(join(folder(), 'files-'));
  const copies = mkdtempSync(join(folder(), 'copies-'));
  const file = join(cwd, 'a.txt');
  writeFileSync(file, 'one\n');
  writeFileSync(join(cwd, 'b.txt'), '');
  const workspace = createWorkspace({ root: cwd });
  const files = commandFiles({ workspace, copies, maxFiles });
  const chat = new TestChat({
    cwd,
    tools: [bashTool({ workspace, files }), writeTool(workspace)],
    approve: () => 'allow',
    script: [
      toolCalls(['c1', 'bash', { command: 'echo two > a.txt' }]),
      toolCalls(['c2', 'write', { path: 'new.txt', content: 'new\n' }]),
      'Done it.',
    ],
  });
  await chat.send('Change it');
  await chat.waitForText('Done it.');
  await chat.idle();
  return { chat, cwd, text: () => readFileSync(file, 'utf8') };
}

test('/undo takes back what a command changed', async () => {
  const { chat, cwd, text } = await chatWithCommand();
  expect(text()).toBe('two\n');
  await chat.send('/undo');
  await chat.waitForText('You went back.');
  expect([text(), existsSync(join(cwd, 'new.txt'))]).toEqual(['one\n', false]);
});

test('/undo asks first if the log does not have the changes of a command', async () => {
  const { chat, cwd, text } = await chatWithCommand(1);
  await chat.send('/undo');
  await chat.waitForText('A command changed files in this folder');
  await chat.quiet();
  await chat.press(keys.enter);
  await chat.idle();
  expect([text(), existsSync(join(cwd, 'new.txt'))]).toEqual(['two\n', true]);
  await chat.send('/undo');
  await chat.waitForText('Take back only');
  await chat.quiet();
  await chat.press(keys.down);
  await chat.press(keys.enter);
  await chat.waitForText('You went back.');
  expect([text(), existsSync(join(cwd, 'new.txt'))]).toEqual(['two\n', false]);
});

test('/tree shows the copies of a session, and goes to one with its files', async () => {
  const { chat, text } = await chatWithTwoMessages();
  await chat.send('/tree');
  await chat.waitForText('This session has no copies.');
  await chat.send('/undo');
  await chat.waitForText('You went back.');
  chat.type(keys.ctrlC);
  await chat.idle();
  expect(text()).toBe('one\n');
  await chat.send('/tree');
  await chat.waitForText('Go to which copy?');
  expect(chat.terminal.screen).toMatch(/○ Write two[\s\S]*● Write one/);
  await chat.quiet();
  await chat.press('compare');
  await chat.press(keys.enter);
  await chat.waitForText('All differences: millrace diff');
  await chat.idle();
  await chat.send('/tree');
  await chat.waitForText('Go to which copy?');
  await chat.quiet();
  await chat.press(keys.enter);
  await chat.waitForText('What changes?');
  await chat.quiet();
  await chat.press(keys.enter);
  await chat.until(() => text() === 'two\n');
  await chat.idle();
});

test('attack: a read-only session changes no file and runs no command, also not for the user', async () => {
  const { chat, text } = await chatWithTwoMessages('read-only');
  await chat.send('/undo');
  await chat.waitForText('Nothing was changed, because this session is read-only');
  await chat.send('!touch x');
  await chat.waitForText('It did not run');
  expect(text()).toBe('two\n');
});
