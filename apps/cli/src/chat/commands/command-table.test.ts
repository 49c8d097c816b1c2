import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../../packages/providers/src/testing/virtual-clock.ts';
import { finishedSession } from '../../testing/sessions.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { keys, TestChat, toolCalls } from '../../testing/test-chat.ts';
import { commandTable, isCommand } from './command-table.ts';

const folder = temporaryFolder('chat-commands');

test('a slash and a word is a command, and a path or a sentence is none', () => {
  expect(['/help', '/model demo', '/', '/HELP'].map(isCommand)).toEqual([true, true, true, true]);
  const texts = ['/usr/bin/env is a file', 'say /help', '//', '/3 of it', '/etc is what?'];
  expect(texts.map(isCommand)).toEqual([false, false, false, false, false]);
  expect(['/modle demo', '/qqqqqqqqqq'].map(isCommand)).toEqual([true, true]);
});

test('/help names every command and the keys', async () => {
  const stage = new TestChat({ rows: 60 });
  await stage.send('/help');
  await stage.waitForText('Ctrl-R');
  expect(stage.terminal.text).toContain('/exit');
  for (const { name, description } of commandTable) {
    expect(stage.terminal.text).toContain(name);
    expect(stage.terminal.text).toContain(description.slice(0, 30));
  }
});

test('an unknown command is answered with the nearest', async () => {
  const stage = new TestChat();
  await stage.send('/modle');
  await stage.waitForText('✗ There is no /modle: did you mean /model?');
  await stage.send('/qqqqqqqqqq');
  await stage.waitForText('✗ There is no /qqqqqqqqqq: /help lists them all');
});

test('commands are offered while they are typed', async () => {
  const stage = new TestChat();
  await stage.idle();
  stage.type('/sess');
  await stage.waitForText('The sessions of this folder');
});

test.each(['/quit', '/exit'])('%s leaves', async (name) => {
  const stage = new TestChat();
  await stage.send(name);
  await stage.until(() => stage.terminal.isCursorShown);
  expect(await stage.exitCode).toBe(0);
});

test('/cost says what the session has used', async () => {
  const usage = {
    input: 1200,
    output: 34,
    cacheRead: 1000,
    costs: [{ amount: '0.0123', currency: 'USD' }],
  };
  const stage = new TestChat({ script: [{ content: { parts: ['Yes.'] }, usage }] });
  await stage.send('Go');
  await stage.waitForText('Yes.');
  await stage.send('/cost');
  await stage.waitForText('1,200 tokens in, of which 1,000 tokens from a cache');
  await stage.waitForText('34 tokens out');
  await stage.waitForText('$0.012 in all');
});

test('/tools and /permissions say what can be done', async () => {
  const look = defineTool({
    ...{ name: 'look', description: 'Looks around.\nIn detail.', input: z.object({}) },
    execute: async () => 'seen',
  });
  const stage = new TestChat({ tools: [look] });
  await stage.send('/tools');
  await stage.waitForText('look  Looks around.');
  await stage.send('/permissions');
  await stage.waitForText('Reading in this folder is allowed');
});

describe('/permissions', () => {
  const note = defineTool({
    ...{ name: 'note', description: 'Notes', input: z.object({ text: z.string() }) },
    execute: async ({ text }) => `noted ${text}`,
  });
  const rule = '{"tool":"note","decision":"allow"}';
  const wants = (id: string) => toolCalls([id, 'note', { text: id }]);

  const allowed = async (key: 's' | 'a') => {
    const script = [wants('c1'), 'One.', wants('c2'), 'Two.', wants('c3'), 'Three.'];
    const approve = () => ({ decision: 'ask', rule }) as const;
    const stage = new TestChat({ script, tools: [note], approve });
    await stage.send('Go');
    await stage.waitForText('May note run?');
    await stage.advance(300);
    stage.type(key);
    await stage.waitForText('One.');
    await stage.send('Again');
    await stage.waitForText('Two.');
    return stage;
  };

  test.each([
    ['s', 'Decided in this session'],
    ['a', 'Remembered for this folder'],
  ] as const)('shows what %s allowed, and takes it back', async (key, title) => {
    const stage = await allowed(key);
    await stage.send('/permissions');
    await stage.waitForText(`${title}:\n   1  allow  note`);
    await stage.send('/permissions revoke 1');
    await stage.waitForText('Revoked: allow  note');
    expect(stage.remembered).toEqual([]);
    await stage.send('And again');
    await stage.waitForText('May note run?');
  });

  test('shows what was allowed before, in the same session', async () => {
    const before = await allowed('s');
    const { log, clock, session } = before;
    await before.quit();
    const stage = new TestChat({ log, clock, session });
    await stage.send('/permissions');
    await stage.waitForText('Decided in this session:\n   1  allow  note');
  });

  test('says what it does not know', async () => {
    const stage = new TestChat();
    await stage.send('/permissions foo');
    await stage.waitForText('✗ /permissions does not know "foo"');
    await stage.send('/permissions revoke 3');
    await stage.waitForText('✗ There is no 3 to revoke');
  });
});

test('/model answers with another model from now on', async () => {
  const stage = new TestChat({ script: ['Script.'] });
  await stage.send('/model demo');
  await stage.waitForText('Using the demo model');
  await stage.until(() => /^demo$/m.test(stage.terminal.screen));
  await stage.send('/model none-such/model');
  await stage.waitForText('✗ ');
});

describe('sessions', () => {
  const withOthers = async () => {
    const clock = new VirtualClock();
    const log = memoryLog();
    await finishedSession(log, 'first-session', 'About wheels', {
      cwd: '/folder',
      answer: 'They turn.',
    });
    await finishedSession(log, 'other-folder', 'About boats', { cwd: '/elsewhere' });
    const stage = new TestChat({
      log,
      clock,
      session: sessionId('here'),
      script: ['Here.', 'On.'],
    });
    return stage;
  };

  test('/sessions lists those of the folder', async () => {
    const stage = await withOthers();
    await stage.send('/sessions');
    await stage.waitForText('About wheels');
    expect(stage.terminal.text).not.toContain('About boats');
  });

  test('/resume takes one by its id, or from a list', async () => {
    const byId = await withOthers();
    await byId.send('/resume first');
    await byId.waitForText('They turn.');
    const byList = await withOthers();
    await byList.send('/resume');
    await byList.waitForText('Which session?');
    byList.type(keys.enter);
    await byList.waitForText('They turn.');
    await byList.send('Go');
    await byList.waitForText('Here.');
    expect((await byList.log.info(sessionId('here')))?.through).toBeUndefined();
    const none = await withOthers();
    await none.send('/resume nothing');
    await none.waitForText('✗ Cannot find session nothing');
  });

  test('/new begins another, and /fork goes on in a copy', async () => {
    const stage = await withOthers();
    await stage.send('Go');
    await stage.waitForText('Here.');
    await stage.send('/fork');
    await stage.waitForText('This is a copy.');
    await stage.send('On');
    await stage.waitForText('On.');
    const before = await stage.log.info(sessionId('here'));
    await stage.send('/new');
    await stage.waitForText('A new session.');
    expect((await stage.log.list()).length).toBe(4);
    expect((await stage.log.info(sessionId('here')))?.through).toBe(before?.through);
  });

  test('what changes the session has to wait while something goes on', async () => {
    const stalls = { content: { parts: ['Said'] }, fault: { type: 'stall', after: 1 } } as const;
    const stage = new TestChat({ script: [stalls] });
    await stage.send('Go');
    await stage.waitForText('Said');
    stage.type(`/new${keys.enter}`);
    await stage.waitForText('✗ /new has to wait');
  });
});

describe('/export', () => {
  const said = async (name: string) => {
    const stage = new TestChat({
      script: ['The answer.'],
      cwd: folder(),
      session: sessionId(name),
      columns: 200,
    });
    await stage.send('The question');
    await stage.waitForText('The answer.');
    return stage;
  };

  test('writes what can be read, or every record, for its owner alone', async () => {
    const stage = await said('exported');
    await stage.send('/export');
    const path = join(folder(), 'millrace-exported.md');
    await stage.waitForText('The session is in');
    expect(readFileSync(path, 'utf8')).toMatch(/The question[\s\S]*The answer\./);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await stage.send('/export all.jsonl');
    await stage.waitForText('all.jsonl.');
    const lines = readFileSync(join(folder(), 'all.jsonl'), 'utf8').trim().split('\n');
    const { through } = (await stage.log.info(stage.session)) ?? {};
    expect(lines.length).toBe((through ?? 0) + 1);
  });

  test('writes over nothing', async () => {
    const path = join(folder(), 'mine.md');
    writeFileSync(path, 'mine');
    const stage = await said('again');
    await stage.send('/export mine.md');
    await stage.waitForText('is there already. Give another name.');
    expect(readFileSync(path, 'utf8')).toBe('mine');
    await stage.send('/export no/such/folder.md');
    await stage.waitForText('There is no folder');
    await stage.send('/export');
    await stage.waitForText('millrace-again.md.');
    await stage.send('/export');
    await stage.waitForText('millrace-again-2.md.');
  });

  test('has nothing in it that a terminal would obey', async () => {
    const session = sessionId('hostile');
    const script = ['\u001b]52;c;x\u0007 rings'];
    const stage = new TestChat({ script, cwd: folder(), session, columns: 200 });
    await stage.send('Go');
    await stage.waitForText('rings');
    await stage.send('/export hostile.md');
    await stage.waitForText('hostile.md.');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(readFileSync(join(folder(), 'hostile.md'), 'utf8')).not.toMatch(/[\u0007\u001b]/);
  });
});

test('/replay streams the session once more, and Esc stops it', async () => {
  const stage = new TestChat({ script: ['One two three four five six.'], pauseMs: 200 });
  await stage.send('Count');
  await stage.waitForText('six.');
  await stage.send('/replay 2');
  await stage.waitForText('▶ once more, 2 times as fast');
  await stage.until(() => stage.terminal.text.split('› Count').length === 3);
  await stage.waitForText('■ that was all');
  expect(stage.terminal.text.split('One two three four five six.')).toHaveLength(3);
  await stage.send('/replay 50');
  await stage.until(() => stage.terminal.text.split('■ that was all').length === 3);
  await stage.send('/replay 0.1');
  await stage.until(() => stage.terminal.text.split('› Count').length === 5);
  stage.type(keys.escape);
  await stage.waitForText('■ stopped');
  await stage.send('/replay fast');
  await stage.waitForText('✗ /replay takes a number');
});

test('/compact has what was said long ago summarised', async () => {
  const answers = Array.from({ length: 6 }, (_, n) => `Answer ${n}.`);
  const stage = new TestChat({ script: [...answers, 'What was said: answers.', 'After.'] });
  for (const n of [0, 1, 2, 3, 4, 5]) {
    await stage.send(`Question ${n}`);
    await stage.waitForText(`Answer ${n}.`);
  }
  await stage.send('/compact');
  await stage.waitForText('are now sent as a summary');
  await stage.send('Go on');
  await stage.waitForText('After.');
  expect(stage.terminal.text).not.toContain('What was said: answers.');
});

test('/replay tells how long something took then, however fast it is shown', async () => {
  const clock = new VirtualClock();
  const wait = defineTool({
    ...{ name: 'wait', description: 'Waits', input: z.object({}) },
    execute: () => new Promise<string>((resolve) => void clock.after(5000, () => resolve('over'))),
  });
  const script = [toolCalls(['c1', 'wait', {}]), 'Done.'];
  const stage = new TestChat({ script, tools: [wait], clock });
  await stage.send('Go');
  await stage.waitForText('Done.');
  await stage.send('/replay 50');
  await stage.waitForText('■ that was all');
  const took = stage.terminal.text.match(/✓ wait .*[\d.]+ s/g) ?? [];
  expect(took).toHaveLength(2);
  expect(took[1]).toBe(took[0]);
});
