import { join } from 'node:path';
import { defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { startProcess } from '../../../../packages/log/src/testing/start-process.ts';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { userItem } from '../store/session-summaries.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { ChatStage, type ChatStageOptions, calls, keys } from '../testing/test-chat.ts';
import { messageCommand } from './session/session-commands.ts';

const folder = temporaryFolder('chat-sessions');
const stalls = { content: { parts: ['Said so far'] }, fault: { type: 'stall', after: 3 } } as const;
const note = defineTool({
  ...{ name: 'note', description: 'Notes', input: z.object({ text: z.string() }) },
  summarize: ({ text }) => `Note ${text}`,
  execute: async ({ text }) => `noted ${text}`,
});

/** Chats on one log. */
function together() {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  return (options: ChatStageOptions) => new ChatStage({ log, clock, ...options });
}

describe('a session that is there already', () => {
  test('is shown by its last screenful, with a word on where the rest is', async () => {
    const open = together();
    const text = (n: number) =>
      Array.from({ length: 10 }, (_, line) => `Answer ${n}, ${line}.`).join('\n\n');
    const first = open({ script: [1, 2, 3, 4].map(text) });
    for (const n of [1, 2, 3, 4]) {
      await first.say(`Question ${n}`);
      await first.see(`Answer ${n}, 9.`);
    }
    await first.idle();
    await first.leave();
    const second = open({ script: ['On.'] });
    await second.idle();
    const shown = second.terminal.text;
    expect(shown).toMatch(/… \d+ earlier pieces of this session: millrace sessions show chat/);
    expect(shown).toContain('Answer 4, 9.');
    expect(shown).not.toContain('Question 1');
    await second.say('And?');
    await second.see('On.');
    await second.idle();
    await second.leave();
    const third = open({});
    await third.see('On.');
  });

  test('counts as it did when it was live', async () => {
    const open = together();
    const statusOf = ({ terminal: { screen } }: ChatStage) => /^script · .*$/m.exec(screen)?.[0];
    const first = open({ script: ['One two three four five six.'], pauseMs: 300 });
    await first.say('Go');
    await first.see('six.');
    await first.idle();
    const live = statusOf(first);
    expect(live).toContain('tokens/s');
    await first.leave();
    const second = open({});
    await second.idle();
    expect(statusOf(second)).toBe(live);
  });

  test('is shown whole where it is short, as it was', async () => {
    const open = together();
    const first = open({ script: [calls(['c1', 'note', { text: 'a' }]), stalls], tools: [note] });
    await first.say('Go');
    await first.see('Said so');
    first.type(keys.escape);
    await first.see('■ stopped');
    await first.idle();
    await first.leave();
    const second = open({});
    await second.idle();
    const after = (text: string) => text.slice(text.indexOf('› Go'), text.indexOf('■ stopped'));
    expect(after(second.terminal.text)).toBe(after(first.terminal.text));
    expect(second.terminal.text).not.toContain('earlier');
  });
});

describe('a session that another chat drives', () => {
  test('is followed, says who drives, and can be steered and stopped', async () => {
    const open = together();
    const driving = open({ script: [stalls, 'Never.'], name: 'the first terminal' });
    await driving.say('Go');
    await driving.see('Said so');
    const following = open({ script: ['Mine.'] });
    await following.see('the first terminal works on this session');
    await following.see('Said so');
    expect(following.terminal.screen).toContain('the first terminal drives');
    following.type(`this way${keys.enter}`);
    await driving.see('↳ joins next: this way');
    await following.see('↳ joins next: this way');
    following.type(keys.escape);
    await driving.see('■ stopped');
    await following.see('■ stopped');
    await following.idle();
    expect(following.terminal.screen).not.toContain('drives');
    await following.pass(3000);
    expect(driving.terminal.text).not.toContain('Never.');
    await following.missOnScreen('drives');
  });

  test('can be answered', async () => {
    const open = together();
    const script = [calls(['c1', 'note', { text: 'a' }]), 'Done.'];
    const driving = open({ script, tools: [note], approve: () => 'ask' });
    await driving.say('Go');
    await driving.see('May note run?');
    const following = open({});
    await following.see('May note run?');
    await following.pass(300);
    following.type('y');
    await driving.see('Done.');
    await following.see('Done.');
    await driving.idle();
    expect(driving.terminal.screen).not.toContain('May note run?');
  });

  test('is driven here when it is done there', async () => {
    const open = together();
    const first = open({ script: ['One.'] });
    await first.say('Go');
    await first.see('One.');
    await first.idle();
    const second = open({ script: ['Two.'], name: 'the second terminal' });
    await second.say('On');
    await second.see('Two.');
    await first.see('› On\n\nTwo.');
  });
});

describe('a process that is gone', () => {
  const cutShort = async (session: string, say = 'Half of an answer') => {
    const path = join(folder(), `${session}.db`);
    const said = Promise.withResolvers<unknown>();
    const program = new URL('../testing/stalled-driver-process.ts', import.meta.url);
    const driver = startProcess(program, { args: [path, session, say], onTold: said.resolve });
    onTestFinished(() => driver.kill('SIGKILL'));
    await said.promise;
    const log = sqliteLog({ path });
    onTestFinished(() => log.close());
    return { driver, log, session: sessionId(session) };
  };

  test('leaves what was on its screen, which is shown as cut short, and gone on from', async () => {
    const { driver, log, session } = await cutShort('killed');
    driver.kill('SIGKILL');
    await driver.exit;
    const stage = new ChatStage({ log, session, script: ['The rest.'] });
    await stage.see('■ cut short');
    await stage.idle();
    expect(stage.terminal.text).toContain('› Go\n\nHalf of an answer\n\n■ cut short');
    await stage.say('On');
    await stage.see('The rest.');
  });

  test('is followed while it lives, and its session taken over when it does not', async () => {
    const { driver, log, session } = await cutShort('followed');
    const stage = new ChatStage({ log, session, script: ['The rest.'] });
    await stage.see('another terminal works on this session');
    await stage.see('Half of an answer');
    driver.kill('SIGKILL');
    await driver.exit;
    await stage.see('↻ whoever worked on this session is gone');
    await stage.see('■ cut short');
    await stage.idle();
    expect(stage.terminal.text.split('Half of an answer')).toHaveLength(2);
  });

  test('has left messages that are not answered behind one’s back', async () => {
    const open = together();
    const first = open({ script: [stalls, 'Never.'] });
    await first.say('Go');
    await first.see('Said so');
    first.type(keys.escape);
    await first.see('■ stopped');
    await first.idle();
    await first.leave();
    const later = messageCommand(userItem(['later'], { cwd: '/folder' }), 'follow_up');
    await first.log.submit(first.session, later, 'later');
    const second = open({ script: ['Now.', 'And that.'] });
    await second.see('↳ goes with what you say next: later');
    await second.pass(3000);
    expect(second.terminal.text).not.toContain('Now.');
    await second.say('Hello');
    await second.see('Now.');
    await second.see('And that.');
  });
});
