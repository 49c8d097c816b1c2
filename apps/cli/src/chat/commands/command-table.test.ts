import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { importBlobs, importSession, type Log, memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../../packages/providers/src/testing/virtual-clock.ts';
import { finishedSession } from '../../testing/sessions.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { keys, TestChat, toolCalls } from '../../testing/test-chat.ts';
import { commandTable, isCommand, namesOfOtherAgents } from './command-table.ts';

const isKnown = (text: string) => isCommand(text, commandTable);

const folder = temporaryFolder('chat-commands');

test('a slash and a word is a command; a path or a sentence is not', () => {
  expect(['/help', '/model demo', '/', '/HELP'].map(isKnown)).toEqual([true, true, true, true]);
  const texts = ['/usr/bin/env is a file', 'say /help', '//', '/3 of it', '/etc is what?'];
  expect(texts.map(isKnown)).toEqual([false, false, false, false, false]);
  expect(['/modle demo', '/qqqqqqqqqq'].map(isKnown)).toEqual([true, true]);
  // A misspelled prompt of a server, and the name of a command in other agents.
  expect(['/weather:trp Oslo', '/plan a trip to Oslo'].map(isKnown)).toEqual([true, true]);
  expect(['/3:2 is the ratio', '/etc:/usr is what?'].map(isKnown)).toEqual([false, false]);
});

test('/help names every command and the keys', async () => {
  const chat = new TestChat({ rows: 60 });
  await chat.send('/help');
  await chat.waitForText('Ctrl-R');
  expect(chat.terminal.text).toContain('/exit');
  expect(chat.terminal.text).toMatch(/! +runs a command/);
  for (const { name, description } of commandTable) {
    expect(chat.terminal.text).toContain(name);
    expect(chat.terminal.text).toContain(description.slice(0, 30));
  }
});

test('an unknown command suggests the nearest one', async () => {
  const chat = new TestChat();
  await chat.send('/compct');
  await chat.waitForText('✗ Unknown command /compct: did you mean /compact?');
  await chat.send('/qqqqqqqqqq');
  await chat.waitForText('✗ Unknown command /qqqqqqqqqq: /help lists all commands');
  await chat.send('/weather:trip Oslo');
  await chat.waitForText('✗ Unknown command /weather:trip: /help lists all commands');
});

test('a name of another agent suggests the command of this chat', async () => {
  const chat = new TestChat();
  await chat.send('/clear');
  await chat.waitForText('✗ Unknown command /clear: did you mean /new?');
  await chat.send('/Status');
  await chat.waitForText('✗ Unknown command /Status: did you mean /cost?');
  const names = commandTable.map(({ name }) => name);
  for (const [name, own] of namesOfOtherAgents) {
    expect(names).not.toContain(name);
    expect(names).toContain(own.split(' ')[0]);
  }
});

test('commands are offered while they are typed', async () => {
  const chat = new TestChat();
  await chat.idle();
  chat.type('/sess');
  await chat.waitForText('List the sessions of this folder');
});

test.each(['/quit', '/exit'])('%s leaves', async (name) => {
  const chat = new TestChat();
  await chat.send(name);
  await chat.until(() => chat.terminal.isCursorShown);
  expect(await chat.exitCode).toBe(0);
});

test('/cost shows tokens and cost of the session', async () => {
  const usage = {
    input: 1200,
    output: 34,
    cacheRead: 1000,
    costs: [{ amount: '0.0123', currency: 'USD' }],
  };
  const chat = new TestChat({ script: [{ content: { parts: ['Yes.'] }, usage }] });
  await chat.send('Go');
  await chat.waitForText('Yes.');
  await chat.send('/cost');
  await chat.waitForText('1,200 tokens in, 1,000 tokens read from the cache (83 %)');
  await chat.waitForText('34 tokens out');
  await chat.waitForText('$0.012 in total');
});

test('/tools and /permissions list tools and rules', async () => {
  const look = defineTool({
    ...{ name: 'look', description: 'Looks around.\nIn detail.', input: z.object({}) },
    execute: async () => 'seen',
  });
  const chat = new TestChat({ tools: [look] });
  await chat.send('/tools');
  await chat.waitForText('look  Looks around.');
  await chat.send('/permissions');
  await chat.waitForText('Reading files in this folder');
});

describe('/permissions', () => {
  const note = defineTool({
    ...{ name: 'note', description: 'Notes', input: z.object({ text: z.string() }) },
    execute: async ({ text }) => `noted ${text}`,
  });
  const rule = '{"tool":"note","decision":"allow"}';
  const noteCall = (id: string) => toolCalls([id, 'note', { text: id }]);

  const allowed = async (key: 's' | 'a') => {
    const script = [noteCall('c1'), 'One.', noteCall('c2'), 'Two.', noteCall('c3'), 'Three.'];
    const approve = () => ({ decision: 'ask', rule }) as const;
    const chat = new TestChat({ script, tools: [note], approve });
    await chat.send('Go');
    await chat.waitForText('Allow note?');
    await chat.quiet();
    await chat.press(key);
    await chat.quiet();
    await chat.press('y');
    await chat.waitForText('One.');
    await chat.send('Again');
    await chat.waitForText('Two.');
    return chat;
  };

  test.each([
    ['s', 'Granted in this session'],
    ['a', 'Granted for this folder'],
  ] as const)('shows the rule that %s granted, and revokes it', async (key, title) => {
    const chat = await allowed(key);
    await chat.send('/permissions');
    await chat.waitForText(`${title}:\n   1  allow  note`);
    await chat.send('/permissions revoke 1');
    await chat.waitForText('Revoked: allow  note');
    expect(chat.remembered).toEqual([]);
    await chat.send('And again');
    await chat.waitForText('Allow note?');
  });

  test('shows rules that were granted earlier in the session', async () => {
    const before = await allowed('s');
    const { log, clock, session } = before;
    await before.quit();
    const chat = new TestChat({ log, clock, session });
    await chat.send('/permissions');
    await chat.waitForText('Granted in this session:\n   1  allow  note');
  });

  test('rejects an unknown argument', async () => {
    const chat = new TestChat();
    await chat.send('/permissions foo');
    await chat.waitForText('✗ Unknown argument "foo" for /permissions');
    await chat.send('/permissions revoke 3');
    await chat.waitForText('✗ There is no rule 3');
  });
});

test('/model switches to another model', async () => {
  const chat = new TestChat({ script: ['Script.'] });
  await chat.send('/model demo');
  await chat.waitForText('Using the demo model');
  await chat.until(() => /· demo · folder$/m.test(chat.terminal.screen));
  await chat.send('/model none-such/model');
  await chat.waitForText('✗ ');
});

describe('sessions', () => {
  const withOthers = async () => {
    const clock = new VirtualClock();
    const log = memoryLog();
    await finishedSession(log, 'first-session', 'About orders', {
      cwd: '/folder',
      answer: 'They ship today.',
    });
    await finishedSession(log, 'other-folder', 'About boats', { cwd: '/elsewhere' });
    const chat = new TestChat({
      log,
      clock,
      session: sessionId('here'),
      script: ['Here.', 'On.'],
    });
    return chat;
  };

  test('/sessions lists those of the folder', async () => {
    const chat = await withOthers();
    await chat.send('/sessions');
    await chat.waitForText('About orders');
    expect(chat.terminal.text).not.toContain('About boats');
  });

  test('/resume opens a session by its id or from a list', async () => {
    const byId = await withOthers();
    await byId.send('/resume first');
    await byId.waitForText('They ship today.');
    const byList = await withOthers();
    await byList.send('/resume');
    await byList.waitForText('Which session?');
    byList.type(keys.enter);
    await byList.waitForText('They ship today.');
    await byList.send('Go');
    await byList.waitForText('Here.');
    expect((await byList.log.info(sessionId('here')))?.through).toBeUndefined();
    const none = await withOthers();
    await none.send('/resume nothing');
    await none.waitForText('✗ Cannot find session nothing');
  });

  test('/new starts another session, and /fork continues in a copy', async () => {
    const chat = await withOthers();
    await chat.send('Go');
    await chat.waitForText('Here.');
    await chat.send('/fork');
    await chat.waitForText('This is a copy.');
    await chat.send('On');
    await chat.waitForText('On.');
    const before = await chat.log.info(sessionId('here'));
    await chat.send('/new');
    await chat.waitForText('A new session.');
    expect((await chat.log.list()).length).toBe(4);
    expect((await chat.log.info(sessionId('here')))?.through).toBe(before?.through);
  });

  test('commands that change the session are refused during a run', async () => {
    const stalls = { content: { parts: ['Said'] }, fault: { type: 'stall', after: 1 } } as const;
    const chat = new TestChat({ script: [stalls] });
    await chat.send('Go');
    await chat.waitForText('Said');
    chat.type(`/new${keys.enter}`);
    await chat.waitForText('✗ /new is not possible during a run');
  });
});

test('23.12: /fork says that this is a copy, and lists tell it from its parent', async () => {
  const chat = new TestChat({ script: ['Said.'], session: sessionId('parent'), columns: 120 });
  await chat.send('The question');
  await chat.waitForText('Said.');
  await chat.send('/fork');
  await chat.waitForText('This is a copy. /resume parent returns to the original.');
  await chat.send('/sessions');
  await chat.waitForText('fork of parent');
  expect(chat.terminal.text.split('fork of parent')).toHaveLength(2);
});

test('23.12: the colours of a program are not shown as text', async () => {
  const paint = defineTool({
    ...{ name: 'paint', description: 'Paints', input: z.object({}), effects: 'none' as const },
    execute: async () => '\u001b[31mred\u001b[0m words',
  });
  const chat = new TestChat({ script: [toolCalls(['c1', 'paint', {}]), 'Done.'], tools: [paint] });
  await chat.send('Go');
  await chat.waitForText('red words');
  expect(chat.terminal.text).not.toContain('␛');
});

describe('/export', () => {
  const chatWithMessage = async (name: string) => {
    const chat = new TestChat({
      script: ['The answer.'],
      cwd: folder(),
      session: sessionId(name),
      columns: 200,
    });
    await chat.send('The question');
    await chat.waitForText('The answer.');
    return chat;
  };

  test('writes Markdown or all records, readable by its owner only', async () => {
    const chat = await chatWithMessage('exported');
    await chat.send('/export');
    const path = join(folder(), 'millrace-exported.md');
    await chat.waitForText('Session written to');
    expect(readFileSync(path, 'utf8')).toMatch(/The question[\s\S]*The answer\./);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await chat.send('/export all.jsonl');
    await chat.waitForText('all.jsonl.');
    const lines = readFileSync(join(folder(), 'all.jsonl'), 'utf8').trim().split('\n');
    const { through } = (await chat.log.info(chat.session)) ?? {};
    expect(lines.length).toBe((through ?? 0) + 1);
  });

  test('23.4: writes blobs too, so that another store can import the file', async () => {
    const long = defineTool({
      ...{
        name: 'long',
        description: 'Writes much',
        input: z.object({}),
        effects: 'none' as const,
      },
      execute: async () => 'word '.repeat(100_000),
    });
    const chat = new TestChat({
      script: [toolCalls(['c1', 'long', {}]), 'The answer.'],
      ...{ cwd: folder(), session: sessionId('with-blobs'), tools: [long], columns: 200 },
    });
    await chat.send('Go');
    await chat.waitForText('The answer.');
    await chat.send('/export blobs.jsonl');
    await chat.waitForText('blobs.jsonl.');
    const other = memoryLog();
    const lines = readFileSync(join(folder(), 'blobs.jsonl'), 'utf8').trim().split('\n');
    const first = lines.findIndex((line) => line.startsWith('{"millrace"'));
    expect(first).toBeGreaterThan(0);
    await importBlobs(other, lines.slice(0, first));
    await importSession(other, lines.slice(first));
    const records = async ({ log }: { readonly log: Log }) =>
      (await log.read(chat.session)).records;
    expect(await records({ log: other })).toEqual(await records(chat));
  });

  test('overwrites no file', async () => {
    const path = join(folder(), 'mine.md');
    writeFileSync(path, 'mine');
    const chat = await chatWithMessage('again');
    await chat.send('/export mine.md');
    await chat.waitForText('already exists. Use another name.');
    expect(readFileSync(path, 'utf8')).toBe('mine');
    await chat.send('/export no/such/folder.md');
    await chat.waitForText('does not exist. Create it');
    await chat.send('/export');
    await chat.waitForText('millrace-again.md.');
    await chat.send('/export');
    await chat.waitForText('millrace-again-2.md.');
  });

  test('writes no control sequences', async () => {
    const session = sessionId('hostile');
    const script = ['\u001b]52;c;x\u0007 rings'];
    const chat = new TestChat({ script, cwd: folder(), session, columns: 200 });
    await chat.send('Go');
    await chat.waitForText('rings');
    await chat.send('/export hostile.md');
    await chat.waitForText('hostile.md.');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(readFileSync(join(folder(), 'hostile.md'), 'utf8')).not.toMatch(/[\u0007\u001b]/);
  });
});

test('/replay replays the session, and Esc stops it', async () => {
  const chat = new TestChat({ script: ['One two three four five six.'], pauseMs: 200 });
  await chat.send('Count');
  await chat.waitForText('six.');
  await chat.send('/replay 2');
  await chat.waitForText('▶ Replay at 2× speed');
  await chat.until(() => chat.terminal.text.split('› Count').length === 3);
  await chat.waitForText('■ replay finished');
  expect(chat.terminal.text.split('One two three four five six.')).toHaveLength(3);
  await chat.send('/replay 50');
  await chat.until(() => chat.terminal.text.split('■ replay finished').length === 3);
  await chat.send('/replay 0.1');
  await chat.until(() => chat.terminal.text.split('› Count').length === 5);
  chat.type(keys.escape);
  await chat.waitForText('■ stopped');
  await chat.send('/replay fast');
  await chat.waitForText('✗ /replay needs a number');
});

test('/compact summarises older messages', async () => {
  const answers = Array.from({ length: 6 }, (_, n) => `Answer ${n}.`);
  const chat = new TestChat({ script: [...answers, 'What was said: answers.', 'After.'] });
  for (const n of [0, 1, 2, 3, 4, 5]) {
    await chat.send(`Question ${n}`);
    await chat.waitForText(`Answer ${n}.`);
  }
  await chat.send('/compact');
  await chat.waitForText('are now sent as a summary');
  await chat.send('/compact');
  await chat.waitForText('The older messages are already a summary. Nothing was summarised.');
  await chat.send('Go on');
  await chat.waitForText('After.');
  expect(chat.terminal.text).not.toContain('What was said: answers.');
  await chat.send('/compact');
  await chat.waitForText('The context is short (');
});

test('/compact reports that there is nothing to summarise', async () => {
  const chat = new TestChat({ script: ['Hello.', 'Bye.'] });
  await chat.send('Hi');
  await chat.waitForText('Hello.');
  await chat.send('/compact');
  await chat.waitForText('The conversation is too short for a summary. Nothing was summarised.');
  await chat.send('Ciao');
  await chat.waitForText('Bye.');
  await chat.idle();
  expect(chat.terminal.text.split('too short for a summary')).toHaveLength(2);
});

test('/replay shows the original durations at any speed', async () => {
  const clock = new VirtualClock();
  const wait = defineTool({
    ...{ name: 'wait', description: 'Waits', input: z.object({}) },
    execute: () => new Promise<string>((resolve) => void clock.after(5000, () => resolve('over'))),
  });
  const script = [toolCalls(['c1', 'wait', {}]), 'Done.'];
  const chat = new TestChat({ script, tools: [wait], clock });
  await chat.send('Go');
  await chat.waitForText('Done.');
  await chat.send('/replay 50');
  await chat.waitForText('■ replay finished');
  const took = chat.terminal.text.match(/✓ wait .*[\d.]+ s/g) ?? [];
  expect(took).toHaveLength(2);
  expect(took[1]).toBe(took[0]);
});
