import { memoryLog } from '@millrace/log';
import { todoTool } from '@millrace/tools';
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { TestChat, toolCalls } from '../testing/test-chat.ts';

const task = (text: string, state: string) => ({ text, state });
const tools = [todoTool()];
const stalled = { content: { parts: ['Working'] }, fault: { type: 'stall', after: 1 } } as const;

test('the task list is shown above the prompt, and in the scrollback when it changes', async () => {
  const first = toolCalls([
    'a',
    'todo',
    { tasks: [task('Read the code', 'doing'), task('Fix it', 'open'), task('Test it', 'open')] },
  ]);
  const second = toolCalls([
    'b',
    'todo',
    { tasks: [task('Read the code', 'done'), task('Fix it', 'doing'), task('Test it', 'open')] },
  ]);
  const chat = new TestChat({ script: [first, second, stalled], tools });
  await chat.send('Go');
  await chat.waitForText('Tasks: 1 of 3 done');
  await chat.waitForText('Work');
  const { screen } = chat.terminal;
  const live = screen.slice(screen.lastIndexOf('Tasks: 1 of 3 done'));
  expect(live).toMatch(/ {2}▸ Fix it *\n {2}○ Test it/);
  expect(live).not.toContain('Read the code');
  expect(chat.terminal.text).toMatch(/│ ✓ Read the code/);
});

test('the task list is there after a resume, and goes away when all is done', async () => {
  const log = memoryLog({ clock: new VirtualClock() });
  const begun = toolCalls(['a', 'todo', { tasks: [task('Fix it', 'open')] }]);
  const chat = new TestChat({ script: [begun, 'Later.'], tools, log });
  await chat.send('Go');
  await chat.waitForText('Later.');
  await chat.idle();
  await chat.quit();
  const done = toolCalls(['b', 'todo', { tasks: [task('Fix it', 'done')] }]);
  const again = new TestChat({ script: [done, 'Ready.'], tools, log });
  await again.idle();
  expect(again.terminal.screen).toContain('Tasks: 0 of 1 done\n  ○ Fix it');
  await again.send('On');
  await again.waitForText('Ready.');
  await again.idle();
  expect(again.terminal.screen).not.toMatch(/\n {2}○ Fix it/);
});

test('a call with a wrong input changes nothing', async () => {
  const good = toolCalls(['a', 'todo', { tasks: [task('Fix it', 'open')] }]);
  const bad = toolCalls(['b', 'todo', { tasks: [task('Nothing', 'soon')] }]);
  const chat = new TestChat({ script: [good, bad, 'Hm.'], tools });
  await chat.send('Go');
  await chat.waitForText('Hm.');
  await chat.idle();
  expect(chat.terminal.screen).toContain('Tasks: 0 of 1 done\n  ○ Fix it');
});
