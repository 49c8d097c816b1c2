import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../../packages/providers/src/testing/virtual-clock.ts';
import { spoken } from '../../testing/sessions.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { ChatStage, calls, keys } from '../../testing/test-chat.ts';
import { commandTable, isCommand } from './command-table.ts';

const folder = temporaryFolder('chat-commands');

test('a slash and a word is a command, and a path or a sentence is none', () => {
  expect(['/help', '/model demo', '/', '/HELP'].map(isCommand)).toEqual([true, true, true, true]);
  const texts = ['/usr/bin/env is a file', 'say /help', '//', '/3 of it', '/etc is what?'];
  expect(texts.map(isCommand)).toEqual([false, false, false, false, false]);
  expect(['/modle demo', '/qqqqqqqqqq'].map(isCommand)).toEqual([true, true]);
});

test('/help names every command and the keys', async () => {
  const stage = new ChatStage({ rows: 60 });
  await stage.say('/help');
  await stage.see('Ctrl-R');
  expect(stage.terminal.text).toContain('/exit');
  for (const { name, description } of commandTable) {
    expect(stage.terminal.text).toContain(name);
    expect(stage.terminal.text).toContain(description.slice(0, 30));
  }
});

test('an unknown command is answered with the nearest', async () => {
  const stage = new ChatStage();
  await stage.say('/modle');
  await stage.see('✗ There is no /modle: did you mean /model?');
  await stage.say('/qqqqqqqqqq');
  await stage.see('✗ There is no /qqqqqqqqqq: /help lists them all');
});

test('commands are offered while they are typed', async () => {
  const stage = new ChatStage();
  await stage.idle();
  stage.type('/sess');
  await stage.see('The sessions of this folder');
});

test.each(['/quit', '/exit'])('%s leaves', async (name) => {
  const stage = new ChatStage();
  await stage.say(name);
  await stage.until(() => stage.terminal.isCursorShown);
  expect(await stage.left).toBe(0);
});

test('/cost says what the session has used', async () => {
  const usage = {
    input: 1200,
    output: 34,
    cacheRead: 1000,
    costs: [{ amount: '0.0123', currency: 'USD' }],
  };
  const stage = new ChatStage({ script: [{ content: { parts: ['Yes.'] }, usage }] });
  await stage.say('Go');
  await stage.see('Yes.');
  await stage.say('/cost');
  await stage.see('1,200 tokens in, of which 1,000 tokens from a cache');
  await stage.see('34 tokens out');
  await stage.see('$0.012 in all');
});

test('/tools and /permissions say what can be done', async () => {
  const look = defineTool({
    ...{ name: 'look', description: 'Looks around.\nIn detail.', input: z.object({}) },
    execute: async () => 'seen',
  });
  const stage = new ChatStage({ tools: [look] });
  await stage.say('/tools');
  await stage.see('look  Looks around.');
  await stage.say('/permissions');
  await stage.see('Reading in this folder is allowed');
});

describe('/permissions', () => {
  const note = defineTool({
    ...{ name: 'note', description: 'Notes', input: z.object({ text: z.string() }) },
    execute: async ({ text }) => `noted ${text}`,
  });
  const rule = '{"tool":"note","decision":"allow"}';
  const wants = (id: string) => calls([id, 'note', { text: id }]);

  const allowed = async (key: 's' | 'a') => {
    const script = [wants('c1'), 'One.', wants('c2'), 'Two.', wants('c3'), 'Three.'];
    const approve = () => ({ decision: 'ask', rule }) as const;
    const stage = new ChatStage({ script, tools: [note], approve });
    await stage.say('Go');
    await stage.see('May note run?');
    await stage.pass(300);
    stage.type(key);
    await stage.see('One.');
    await stage.say('Again');
    await stage.see('Two.');
    return stage;
  };

  test.each([
    ['s', 'Decided in this session'],
    ['a', 'Remembered for this folder'],
  ] as const)('shows what %s allowed, and takes it back', async (key, title) => {
    const stage = await allowed(key);
    await stage.say('/permissions');
    await stage.see(`${title}:\n   1  allow  note`);
    await stage.say('/permissions revoke 1');
    await stage.see('Revoked: allow  note');
    expect(stage.remembered).toEqual([]);
    await stage.say('And again');
    await stage.see('May note run?');
  });

  test('shows what was allowed before, in the same session', async () => {
    const before = await allowed('s');
    const { log, clock, session } = before;
    await before.leave();
    const stage = new ChatStage({ log, clock, session });
    await stage.say('/permissions');
    await stage.see('Decided in this session:\n   1  allow  note');
  });

  test('says what it does not know', async () => {
    const stage = new ChatStage();
    await stage.say('/permissions foo');
    await stage.see('✗ /permissions does not know "foo"');
    await stage.say('/permissions revoke 3');
    await stage.see('✗ There is no 3 to revoke');
  });
});

test('/model answers with another model from now on', async () => {
  const stage = new ChatStage({ script: ['Script.'] });
  await stage.say('/model demo');
  await stage.see('Using the demo model');
  await stage.until(() => /^demo$/m.test(stage.terminal.screen));
  await stage.say('/model none-such/model');
  await stage.see('✗ ');
});

describe('sessions', () => {
  const withOthers = async () => {
    const clock = new VirtualClock();
    const log = memoryLog();
    await spoken(log, 'first-session', 'About wheels', { cwd: '/folder', answer: 'They turn.' });
    await spoken(log, 'other-folder', 'About boats', { cwd: '/elsewhere' });
    const stage = new ChatStage({
      log,
      clock,
      session: sessionId('here'),
      script: ['Here.', 'On.'],
    });
    return stage;
  };

  test('/sessions lists those of the folder', async () => {
    const stage = await withOthers();
    await stage.say('/sessions');
    await stage.see('About wheels');
    expect(stage.terminal.text).not.toContain('About boats');
  });

  test('/resume takes one by its id, or from a list', async () => {
    const byId = await withOthers();
    await byId.say('/resume first');
    await byId.see('They turn.');
    const byList = await withOthers();
    await byList.say('/resume');
    await byList.see('Which session?');
    byList.type(keys.enter);
    await byList.see('They turn.');
    await byList.say('Go');
    await byList.see('Here.');
    expect((await byList.log.info(sessionId('here')))?.through).toBeUndefined();
    const none = await withOthers();
    await none.say('/resume nothing');
    await none.see('✗ Cannot find session nothing');
  });

  test('/new begins another, and /fork goes on in a copy', async () => {
    const stage = await withOthers();
    await stage.say('Go');
    await stage.see('Here.');
    await stage.say('/fork');
    await stage.see('This is a copy.');
    await stage.say('On');
    await stage.see('On.');
    const before = await stage.log.info(sessionId('here'));
    await stage.say('/new');
    await stage.see('A new session.');
    expect((await stage.log.list()).length).toBe(4);
    expect((await stage.log.info(sessionId('here')))?.through).toBe(before?.through);
  });

  test('what changes the session has to wait while something goes on', async () => {
    const stalls = { content: { parts: ['Said'] }, fault: { type: 'stall', after: 1 } } as const;
    const stage = new ChatStage({ script: [stalls] });
    await stage.say('Go');
    await stage.see('Said');
    stage.type(`/new${keys.enter}`);
    await stage.see('✗ /new has to wait');
  });
});

describe('/export', () => {
  const said = async (name: string) => {
    const stage = new ChatStage({
      script: ['The answer.'],
      cwd: folder(),
      session: sessionId(name),
      columns: 200,
    });
    await stage.say('The question');
    await stage.see('The answer.');
    return stage;
  };

  test('writes what can be read, or every record, for its owner alone', async () => {
    const stage = await said('exported');
    await stage.say('/export');
    const path = join(folder(), 'millrace-exported.md');
    await stage.see('The session is in');
    expect(readFileSync(path, 'utf8')).toMatch(/The question[\s\S]*The answer\./);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await stage.say('/export all.jsonl');
    await stage.see('all.jsonl.');
    const lines = readFileSync(join(folder(), 'all.jsonl'), 'utf8').trim().split('\n');
    const { through } = (await stage.log.info(stage.session)) ?? {};
    expect(lines.length).toBe((through ?? 0) + 1);
  });

  test('writes over nothing', async () => {
    const path = join(folder(), 'mine.md');
    writeFileSync(path, 'mine');
    const stage = await said('again');
    await stage.say('/export mine.md');
    await stage.see('is there already. Give another name.');
    expect(readFileSync(path, 'utf8')).toBe('mine');
    await stage.say('/export no/such/folder.md');
    await stage.see('There is no folder');
    await stage.say('/export');
    await stage.see('millrace-again.md.');
    await stage.say('/export');
    await stage.see('millrace-again-2.md.');
  });

  test('has nothing in it that a terminal would obey', async () => {
    const session = sessionId('hostile');
    const script = ['\u001b]52;c;x\u0007 rings'];
    const stage = new ChatStage({ script, cwd: folder(), session, columns: 200 });
    await stage.say('Go');
    await stage.see('rings');
    await stage.say('/export hostile.md');
    await stage.see('hostile.md.');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(readFileSync(join(folder(), 'hostile.md'), 'utf8')).not.toMatch(/[\u0007\u001b]/);
  });
});

test('/replay streams the session once more, and Esc stops it', async () => {
  const stage = new ChatStage({ script: ['One two three four five six.'], pauseMs: 200 });
  await stage.say('Count');
  await stage.see('six.');
  await stage.say('/replay 2');
  await stage.see('▶ once more, 2 times as fast');
  await stage.until(() => stage.terminal.text.split('› Count').length === 3);
  await stage.see('■ that was all');
  expect(stage.terminal.text.split('One two three four five six.')).toHaveLength(3);
  await stage.say('/replay 50');
  await stage.until(() => stage.terminal.text.split('■ that was all').length === 3);
  await stage.say('/replay 0.1');
  await stage.until(() => stage.terminal.text.split('› Count').length === 5);
  stage.type(keys.escape);
  await stage.see('■ stopped');
  await stage.say('/replay fast');
  await stage.see('✗ /replay takes a number');
});

test('/compact has what was said long ago summarised', async () => {
  const answers = Array.from({ length: 6 }, (_, n) => `Answer ${n}.`);
  const stage = new ChatStage({ script: [...answers, 'What was said: answers.', 'After.'] });
  for (const n of [0, 1, 2, 3, 4, 5]) {
    await stage.say(`Question ${n}`);
    await stage.see(`Answer ${n}.`);
  }
  await stage.say('/compact');
  await stage.see('are now sent as a summary');
  await stage.say('Go on');
  await stage.see('After.');
  expect(stage.terminal.text).not.toContain('What was said: answers.');
});

test('/replay tells how long something took then, however fast it is shown', async () => {
  const clock = new VirtualClock();
  const wait = defineTool({
    ...{ name: 'wait', description: 'Waits', input: z.object({}) },
    execute: () => new Promise<string>((resolve) => void clock.after(5000, () => resolve('over'))),
  });
  const script = [calls(['c1', 'wait', {}]), 'Done.'];
  const stage = new ChatStage({ script, tools: [wait], clock });
  await stage.say('Go');
  await stage.see('Done.');
  await stage.say('/replay 50');
  await stage.see('■ that was all');
  const took = stage.terminal.text.match(/✓ wait .*[\d.]+ s/g) ?? [];
  expect(took).toHaveLength(2);
  expect(took[1]).toBe(took[0]);
});
