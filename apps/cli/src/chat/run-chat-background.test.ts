import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOutputTool } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import type { ScriptEntry } from '@millrace/providers/scripted';
import { backgroundCommands, bashTool, createWorkspace } from '@millrace/tools';
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { folderWith } from '../testing/test-agent.ts';
import { keys, TestChat, type TestChatOptions, toolCalls } from '../testing/test-chat.ts';

const untilGo = 'while [ ! -e go ]; do sleep 0.01; done';

/** A chat with background commands in a folder. */
function chatWith(script: readonly ScriptEntry[], more: Partial<TestChatOptions> = {}) {
  const root = folderWith();
  const background = backgroundCommands();
  const workspace = createWorkspace({ root });
  const tools = [bashTool({ workspace, background }), readOutputTool({ running: background })];
  const chat = new TestChat({ script, tools, background, ...more });
  return { chat, background, go: () => writeFileSync(join(root, 'go'), '') };
}

const begin = (command: string) => toolCalls(['a', 'bash', { command, background: true }]);

test('the end of a background command wakes the model while the chat is idle', async () => {
  const { chat, go } = chatWith([begin(`${untilGo}; exit 4`), 'It runs.', 'It has ended.']);
  await chat.send('Go');
  await chat.waitForText('It runs.');
  await chat.idle();
  go();
  await chat.waitForText('It has ended.');
  expect(chat.terminal.text).toContain('■ background command c1 ended with exit code 4: while');
  await chat.idle();
});

test('/tasks lists commands with their last line, and stops one without waking the model', async () => {
  const red = 'printf "\\033[31mready\\033]0;title\\007\\n"';
  const { chat, background } = chatWith([begin(`${red}; sleep 1000`), 'It runs.', 'I know.']);
  await chat.send('Go');
  await chat.waitForText('It runs.');
  await chat.until(() => background.list(chat.session)[0]?.lastLine.includes('ready') === true);
  expect(chat.terminal.screen).toContain('1 in the background (/tasks)');
  await chat.send('/tasks');
  await chat.waitForText('(runs for');
  expect(chat.terminal.text).toContain('│ ready');
  expect(chat.terminal.text).toContain('To stop one: /tasks stop <id>');
  await chat.send('/tasks stop c2');
  await chat.waitForText('No command c2 runs');
  await chat.send('/tasks stop c1');
  await chat.waitForText('■ c1 was stopped');
  expect(background.running).toBe(0);
  await chat.idle();
  expect(chat.terminal.screen).not.toContain('in the background (/tasks)');
  expect(chat.terminal.text).not.toContain('I know.');
  await chat.send('What happened?');
  await chat.waitForText('I know.');
  expect(chat.terminal.text).toContain('■ background command c1 was stopped by the user');
});

test('the end of a command does not start a run that the user stopped', async () => {
  const stalled = { content: { parts: ['Hm'] }, fault: { type: 'stall', after: 1 } } as const;
  const { chat, background, go } = chatWith([begin(untilGo), stalled, 'Later.']);
  await chat.send('Go');
  await chat.waitForText('Hm');
  chat.type(keys.escape);
  await chat.waitForText('stopped');
  go();
  await chat.until(() => background.running === 0);
  await chat.waitForText('sent with your next message: Background command c1 ended');
  expect(chat.terminal.text).not.toContain('Later.');
  await chat.send('On');
  await chat.waitForText('Later.');
});

test('commands end with the session, and the next process reports them as lost', async () => {
  const log = memoryLog({ clock: new VirtualClock() });
  const first = chatWith([begin('sleep 1000'), 'It runs.'], { log });
  await first.chat.send('Go');
  await first.chat.waitForText('It runs.');
  await first.chat.idle();
  await first.chat.quit();
  expect(first.background.running).toBe(0);
  expect(first.chat.terminal.text).toContain('■ ended with the session: c1 (sleep 1000)');
  const second = chatWith(['I see.'], { log });
  await second.chat.waitForText('It runs.');
  await second.chat.idle();
  await second.chat.send('/tasks');
  await second.chat.waitForText('sleep 1000  (was lost when the program ended)');
  await second.chat.send('And now?');
  await second.chat.waitForText('I see.');
  expect(second.chat.terminal.text).toContain('■ background command c1 was lost when the program');
});
