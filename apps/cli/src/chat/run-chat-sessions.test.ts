import { join } from 'node:path';
import { defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { startProcess } from '../../../../packages/log/src/testing/start-process.ts';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { exitCodes } from '../exit-code.ts';
import { userItem } from '../store/session-summaries.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { keys, TestChat, type TestChatOptions, toolCalls } from '../testing/test-chat.ts';
import { messageCommand } from './session/session-commands.ts';

const folder = temporaryFolder('chat-sessions');
const stalledAnswer = {
  content: { parts: ['Said so far'] },
  fault: { type: 'stall', after: 3 },
} as const;
const note = defineTool({
  ...{ name: 'note', description: 'Notes', input: z.object({ text: z.string() }) },
  summarize: ({ text }) => `Note ${text}`,
  execute: async ({ text }) => `noted ${text}`,
});

/** Several chats that share one log. */
function chatsOnOneLog() {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  return (options: TestChatOptions) => new TestChat({ log, clock, ...options });
}

describe('an existing session', () => {
  test('shows its last screenful and how to see the rest', async () => {
    const open = chatsOnOneLog();
    const text = (n: number) =>
      Array.from({ length: 10 }, (_, line) => `Answer ${n}, ${line}.`).join('\n\n');
    const first = open({ script: [1, 2, 3, 4].map(text) });
    for (const n of [1, 2, 3, 4]) {
      await first.send(`Question ${n}`);
      await first.waitForText(`Answer ${n}, 9.`);
    }
    await first.idle();
    await first.quit();
    const second = open({ script: ['On.'] });
    await second.idle();
    const shown = second.terminal.text;
    expect(shown).toMatch(/… \d+ earlier blocks\. Show all: millrace sessions show chat/);
    expect(shown).toContain('Answer 4, 9.');
    expect(shown).not.toContain('Question 1');
    await second.send('And?');
    await second.waitForText('On.');
    await second.idle();
    await second.quit();
    const third = open({});
    await third.waitForText('On.');
  });

  test('23.8: PageUp shows its earlier messages up to the first one, and Esc the chat as it was', async () => {
    const open = chatsOnOneLog();
    const lines = Array.from({ length: 30 }, (_, line) => `Line ${line}.`).join('\n\n');
    const first = open({ script: [lines, lines] });
    for (const n of [1, 2]) {
      await first.send(`Question ${n}`);
      await first.idle();
    }
    await first.quit();
    const second = open({});
    await second.idle();
    const before = second.terminal.screen;
    expect(second.terminal.text).not.toContain('Question 1');
    second.type('\x1b[5~');
    await second.waitForText('Esc closes');
    second.type('\x1b[H');
    await second.waitForText('Question 1');
    expect(second.terminal.screen).not.toContain('Say what to do');
    second.type('\x1b[F');
    await expect.poll(() => second.terminal.screen).toContain('Line 29.');
    second.type(keys.escape);
    await second.waitForText('Say what to do');
    await second.idle();
    expect(second.terminal.screen.trimEnd()).toBe(before.trimEnd());
  });

  test('has the same status values as when it was live', async () => {
    const open = chatsOnOneLog();
    const statusOf = ({ terminal: { screen } }: TestChat) =>
      /^asks first · script · .*$/m.exec(screen)?.[0];
    const first = open({ script: ['One two three four five six.'], pauseMs: 300 });
    await first.send('Go');
    await first.waitForText('six.');
    await first.idle();
    const live = statusOf(first);
    expect(live).toContain('first token');
    await first.quit();
    const second = open({});
    await second.idle();
    expect(statusOf(second)).toBe(live);
  });

  test('is shown in full if it is short', async () => {
    const open = chatsOnOneLog();
    const first = open({
      script: [toolCalls(['c1', 'note', { text: 'a' }]), stalledAnswer],
      tools: [note],
    });
    await first.send('Go');
    await first.waitForText('Said so');
    first.type(keys.escape);
    await first.waitForText('■ stopped');
    await first.idle();
    await first.quit();
    const second = open({});
    await second.idle();
    const after = (text: string) => text.slice(text.indexOf('› Go'), text.indexOf('■ stopped'));
    expect(after(second.terminal.text)).toBe(after(first.terminal.text));
    expect(second.terminal.text).not.toContain('earlier');
  });
});

describe('a session that another chat drives', () => {
  test('is followed, shows its driver, and can be steered and stopped', async () => {
    const open = chatsOnOneLog();
    const driving = open({ script: [stalledAnswer, 'Never.'], name: 'the first terminal' });
    await driving.send('Go');
    await driving.waitForText('Said so');
    const following = open({ script: ['Mine.'] });
    await following.waitForText('the first terminal drives this session');
    await following.waitForText('Said so');
    expect(following.terminal.screen).toContain('driven by the first terminal');
    following.type(`this way${keys.enter}`);
    await driving.waitForText('↳ next step: this way');
    await following.waitForText('↳ next step: this way');
    following.type(keys.escape);
    await driving.waitForText('■ stopped');
    await following.waitForText('■ stopped');
    await following.idle();
    expect(following.terminal.screen).not.toContain('driven by');
    await following.advance(3000);
    expect(driving.terminal.text).not.toContain('Never.');
    await following.waitUntilGone('driven by');
  });

  test('accepts answers to approvals', async () => {
    const open = chatsOnOneLog();
    const script = [toolCalls(['c1', 'note', { text: 'a' }]), 'Done.'];
    const driving = open({ script, tools: [note], approve: () => 'ask' });
    await driving.send('Go');
    await driving.waitForText('Allow note?');
    const following = open({});
    await following.waitForText('Allow note?');
    await following.quiet();
    following.type('y');
    await driving.waitForText('Done.');
    await following.waitForText('Done.');
    await driving.idle();
    expect(driving.terminal.screen).not.toContain('Allow note?');
  });

  test('is driven here after the other chat is idle', async () => {
    const open = chatsOnOneLog();
    const first = open({ script: ['One.'] });
    await first.send('Go');
    await first.waitForText('One.');
    await first.idle();
    const second = open({ script: ['Two.'], name: 'the second terminal' });
    await second.send('On');
    await second.waitForText('Two.');
    await first.waitForText('› On\n\nTwo.');
  });
});

describe('a driver process that was killed', () => {
  const interruptedSession = async (session: string, text = 'Half of an answer') => {
    const path = join(folder(), `${session}.db`);
    const recorded = Promise.withResolvers<unknown>();
    const program = new URL('../testing/stalled-driver-process.ts', import.meta.url);
    const driver = startProcess(program, {
      args: [path, session, text],
      onMessage: recorded.resolve,
    });
    onTestFinished(() => driver.kill('SIGKILL'));
    await recorded.promise;
    const log = sqliteLog({ path });
    onTestFinished(() => log.close());
    return { driver, log, session: sessionId(session) };
  };

  test('leaves its output, which is shown as interrupted, and the session continues', async () => {
    const { driver, log, session } = await interruptedSession('killed');
    driver.kill('SIGKILL');
    await driver.exit;
    const chat = new TestChat({ log, session, script: ['The rest.'] });
    await chat.waitForText('■ interrupted');
    await chat.idle();
    expect(chat.terminal.text).toContain('› Go\n\nHalf of an answer\n\n■ interrupted');
    await chat.send('On');
    await chat.waitForText('The rest.');
  });

  test('is followed while it runs, and its session is taken over afterwards', async () => {
    const { driver, log, session } = await interruptedSession('followed');
    const chat = new TestChat({ log, session, script: ['The rest.'] });
    await chat.waitForText('another terminal drives this session');
    await chat.waitForText('Half of an answer');
    driver.kill('SIGKILL');
    await driver.exit;
    await chat.waitForText('↻ the process that drove this session has ended');
    await chat.waitForText('■ interrupted');
    await chat.idle();
    expect(chat.terminal.text.split('Half of an answer')).toHaveLength(2);
  });

  test('leaves queued messages that are not answered without the user', async () => {
    const open = chatsOnOneLog();
    const first = open({ script: [stalledAnswer, 'Never.'] });
    await first.send('Go');
    await first.waitForText('Said so');
    first.type(keys.escape);
    await first.waitForText('■ stopped');
    await first.idle();
    await first.quit();
    const later = messageCommand(userItem(['later'], { cwd: '/folder' }), 'follow_up');
    await first.log.submit(first.session, later, 'later');
    const second = open({ script: ['Now.', 'And that.'] });
    await second.waitForText('↳ sent with your next message: later');
    await second.advance(3000);
    expect(second.terminal.text).not.toContain('Now.');
    await second.send('Hello');
    await second.waitForText('Now.');
    await second.waitForText('And that.');
  });
});

describe('23.12: the list of sessions', () => {
  const say = async (chat: TestChat, text: string, answer: string) => {
    await chat.send(text);
    await chat.waitForText(answer);
    await chat.idle();
  };
  const env = () => ({ NO_COLOR: '1', XDG_DATA_HOME: folder() });

  /** A log with a session, a fork of it with a message, a fork without one, and another session. */
  async function forkedLog() {
    const open = chatsOnOneLog();
    const first = open({ script: ['One.', 'Two.'], session: sessionId('parent'), env: env() });
    await say(first, 'Count the birds', 'One.');
    await first.send('/fork');
    await first.waitForText('This is a copy.');
    await say(first, 'Now the fish', 'Two.');
    await first.send('/fork');
    await first.waitForText('parent');
    await first.quit();
    const other = open({ script: ['Three.'], session: sessionId('other'), env: env() });
    await say(other, 'Water the plants', 'Three.');
    await other.send('/name The  garden');
    await other.waitForText('This session is now “The garden”.');
    await other.quit();
    return open;
  }

  test('shows forks below their original with other labels, and names', async () => {
    const open = await forkedLog();
    const chat = open({ picks: true, session: sessionId('new'), env: env() });
    await chat.waitForText('Which session?');
    const labels = [
      'The garden',
      'Count the birds',
      '└ Now the fish',
      '  └ (a copy without new messages)',
    ];
    const places = () => labels.map((label) => chat.terminal.screen.indexOf(label));
    await expect.poll(() => places().includes(-1)).toBe(false);
    expect(places()).toEqual(places().toSorted((one, other) => one - other));
    await chat.press('fish');
    await chat.waitUntilGone('garden');
    await chat.press(keys.enter);
    await chat.waitForText('Two.');
    await chat.idle();
    await chat.send('/tree');
    await chat.waitForText('Each line shows its name and its last message.');
    await chat.press(keys.escape);
    await chat.quit();
  });

  test('sends the prompt to the chosen session, and leaves if the user chooses none', async () => {
    const open = await forkedLog();
    const [picks, session] = [true, sessionId('new')];
    const chat = open({ picks, session, prompt: 'And?', script: ['More.'], env: env() });
    await chat.waitForText('Which session?');
    await chat.press(keys.down);
    await chat.press(keys.enter);
    await chat.waitForText('More.');
    await chat.idle();
    expect(chat.terminal.text).toMatch(/› Count the birds[\s\S]*› And\?/);
    await chat.quit();
    expect(await chat.log.info(session)).toBeUndefined();
    const cancelled = open({ picks, session, prompt: 'And?', env: env() });
    await cancelled.waitForText('Which session?');
    await cancelled.press(keys.escape);
    expect(await cancelled.exitCode).toBe(exitCodes.aborted);
  });
});
