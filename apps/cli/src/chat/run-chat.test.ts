import { defineTool } from '@millrace/agent';
import { transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { keys, TestChat, toolCalls } from '../testing/test-chat.ts';

const stalledAnswer = (text: string, after: number) =>
  ({ content: { parts: [text] }, fault: { type: 'stall', after } }) as const;

test('starts with the version, the folder, the model and a hint for help', async () => {
  const chat = new TestChat();
  await chat.idle();
  expect(chat.terminal.text.split('\n').slice(0, 3)).toEqual([
    '',
    expect.stringMatching(/^millrace \S+ in \/folder$/),
    'Using a script. /help lists commands and keys.',
  ]);
});

test('streams the answer to a message, and prints it once to the scrollback', async () => {
  const chat = new TestChat({ script: ['One two three.\n\nFour **five**.'], pauseMs: 40 });
  await chat.send('Count');
  await chat.waitForText('One two');
  expect(chat.terminal.text).not.toContain('Four');
  await chat.idle();
  await chat.quit();
  const { text } = chat.terminal;
  expect(text).toContain('› Count\n\nOne two three.\n\nFour five.\n\nTo continue:');
  expect(text.split('One two three.')).toHaveLength(2);
});

test('the first message records its folder', async () => {
  const chat = new TestChat({ script: ['Yes.'], cwd: '/some/where' });
  await chat.send('Here?');
  await chat.waitForText('Yes.');
  const [first] = transcript(await snapshot(chat.log, chat.session));
  expect(first?.metadata).toEqual({ cwd: '/some/where' });
});

test('Esc stops the run and keeps the text', async () => {
  const chat = new TestChat({ script: [stalledAnswer('Said so far.', 3), 'On.'] });
  await chat.send('Go');
  await chat.waitForText('Said so');
  chat.type(keys.escape);
  await chat.waitForText('■ stopped');
  await chat.send('And?');
  await chat.waitForText('On.');
  const items = transcript(await snapshot(chat.log, chat.session));
  expect(items.map(({ kind, stop }) => [kind, stop?.reason])).toEqual([
    ['user', undefined],
    ['assistant', 'aborted'],
    ['user', undefined],
    ['assistant', 'stop'],
  ]);
});

test('Ctrl-C stops the run, then clears the prompt, then asks for a second Ctrl-C to leave', async () => {
  const chat = new TestChat({ script: [stalledAnswer('Said', 1)] });
  await chat.send('Go');
  await chat.waitForText('Said');
  chat.type(keys.ctrlC);
  await chat.waitForText('■ stopped');
  await chat.idle();
  chat.type('a draft');
  await chat.waitForText('> a draft');
  chat.type(keys.ctrlC);
  await chat.waitUntilGone('a draft');
  chat.type(keys.up);
  await chat.waitForText('> a draft');
  chat.type(keys.ctrlC);
  await chat.waitUntilGone('a draft');
  chat.type(keys.ctrlC);
  await chat.waitForText('Press Ctrl-C again to leave');
  for (let ms = 0; ms < 2100; ms += 100) await chat.advance(100);
  expect(chat.terminal.screen).not.toContain('again to leave');
  chat.type(keys.ctrlC);
  await chat.waitForText('Press Ctrl-C again to leave');
  chat.type(keys.ctrlC);
  expect(await chat.exitCode).toBe(0);
});

test('Windows Terminal gets only sequences that it supports', async () => {
  const script = [
    'One **two**. [link](https://example.com)',
    toolCalls(['c1', 'none', {}]),
    'End.',
  ];
  const chat = new TestChat({ script, env: { WT_SESSION: 'id', SystemRoot: 'C:\\Windows' } });
  await chat.send('Go');
  await chat.idle();
  // An unmarked paste of a console arrives as one write.
  chat.type('C:\\Users\\me\\notes.txt');
  await chat.waitForText('> C:\\Users\\me\\notes.txt');
  chat.terminal.resize(60, 20);
  for (let ms = 0; ms < 600; ms += 100) await chat.advance(100);
  chat.type(keys.ctrlC);
  await chat.idle();
  await chat.quit();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: sequences start with one
  const sequence = /\u001b(?:\[[^A-Za-z]*[A-Za-z]|\]\d*|[^[\]])/g;
  const found = chat.terminal.written.match(sequence) ?? [];
  const kinds = new Set(found.map((one) => one.slice(1).replace(/^\[[\d;]*(?=[A-Za-z])/, '[')));
  // Colours, moves of the cursor, erasing, the cursor, pastes, whole frames, links and lines that are not wrapped. It requests no keyboard
  // protocol, no mouse, no reports and no second screen.
  const supported = [
    ...['[m', '[A', '[B', '[C', '[D', '[E', '[G', '[H', '[J', '[K', ']8'],
    ...['[?25h', '[?25l', '[?2004h', '[?2004l', '[?2026h', '[?2026l'],
    ...['[?7h', '[?7l'],
  ];
  expect([...kinds].filter((kind) => !supported.includes(kind))).toEqual([]);
  expect(kinds).toContain('[?2004h');
  expect(kinds).toContain(']8');
});

test('Ctrl-L redraws a garbled screen once', async () => {
  const chat = new TestChat({ script: ['One.\n\nTwo.'] });
  await chat.send('Go');
  await chat.waitForText('Two.');
  await chat.idle();
  const { screen } = chat.terminal;
  chat.terminal.write('\u001b[3Agarbled\r\n garbled');
  chat.type('\u000c');
  await chat.waitUntilGone('garbled');
  await chat.advance(100);
  expect(chat.terminal.screen.trim()).toBe(screen.trim());
});

test('restores the terminal: cursor, no raw mode, no paste mode, no prompt', async () => {
  const chat = new TestChat({ script: ['Yes.'] });
  await chat.send('Hi');
  await chat.waitForText('Yes.');
  await chat.idle();
  expect(chat.keyboard.isRaw).toBe(true);
  expect(await chat.quit()).toBe(0);
  expect(chat.keyboard.isRaw).toBe(false);
  const { written, isCursorShown, screen } = chat.terminal;
  expect(isCursorShown).toBe(true);
  expect(written.lastIndexOf('\u001b[?2004l')).toBeGreaterThan(
    written.lastIndexOf('\u001b[?2004h'),
  );
  expect(screen).not.toMatch(/Enter sends|Say what/);
  expect(screen).toContain(`millrace --resume ${chat.session.slice(0, 8)}`);
});

test('a rendering bug is reported and the terminal is restored', async () => {
  let isBroken = false;
  const label = () => {
    if (isBroken) throw new RangeError('cannot be drawn');
    return 'script';
  };
  const chat = new TestChat({ script: [stalledAnswer('Said', 1)], label });
  await chat.send('Go');
  await chat.waitForText('Said');
  isBroken = true;
  const left = expect(chat.exitCode).rejects.toThrow('cannot be drawn');
  await chat.until(() => !chat.keyboard.isRaw);
  await left;
  expect(chat.terminal.isCursorShown).toBe(true);
  const items = transcript(await snapshot(chat.log, chat.session));
  expect(items.at(-1)).toMatchObject({ stop: { reason: 'aborted' }, parts: [{ text: 'Said' }] });
});

test('a signal stops and stores the run, and ends the chat', async () => {
  const chat = new TestChat({ script: [stalledAnswer('Said', 1)] });
  await chat.send('Go');
  await chat.waitForText('Said');
  await chat.abort();
  expect(await chat.exitCode).toBe(3);
  const items = transcript(await snapshot(chat.log, chat.session));
  expect(items.at(-1)).toMatchObject({ stop: { reason: 'aborted' }, parts: [{ text: 'Said' }] });
});

describe('during a run', () => {
  const gated = () => {
    const gate = Promise.withResolvers<void>();
    const tool = defineTool({
      ...{ name: 'wait', description: 'Waits', input: z.object({}) },
      execute: () => gate.promise.then(() => 'over'),
    });
    const script = [toolCalls(['c1', 'wait', {}]), 'One.', 'Two.'];
    return { gate, chat: new TestChat({ script, tools: [tool] }) };
  };

  test('Enter steers the next step, and Alt-Enter queues a message', async () => {
    const { gate, chat } = gated();
    await chat.send('Go');
    await chat.waitForText('running wait');
    chat.type(`this way${keys.enter}`);
    await chat.waitForText('↳ next step: this way');
    chat.type(`and then that${keys.altEnter}`);
    await chat.waitForText('↳ queued: and then that');
    gate.resolve();
    await chat.waitForText('Two.');
    await chat.idle();
    expect(chat.terminal.text).toContain('› this way\n\nOne.\n\n› and then that\n\nTwo.');
    expect(chat.terminal.screen).not.toContain('↳');
  });

  test('Ctrl-D does not leave', async () => {
    const { gate, chat } = gated();
    await chat.send('Go');
    await chat.waitForText('running wait');
    chat.type(keys.ctrlD);
    await chat.advance(1000);
    gate.resolve();
    await chat.waitForText('One.');
  });

  test('messages that were queued before a stop are not sent', async () => {
    const { chat } = gated();
    await chat.send('Go');
    await chat.waitForText('running wait');
    chat.type(`and then that${keys.altEnter}`);
    await chat.waitForText('↳ queued: and then that');
    chat.type(keys.escape);
    await chat.waitForText('■ stopped');
    await chat.waitForText('> and then that');
    await chat.advance(5000);
    expect(chat.terminal.text).not.toContain('One.');
  });
});

test('parallel calls are shown live and printed in order', async () => {
  const gate = Promise.withResolvers<void>();
  const wait = defineTool({
    ...{ name: 'wait', description: 'Waits', input: z.object({ for: z.string() }) },
    summarize: (input) => `Wait for ${input.for}`,
    async *execute({ for: what }) {
      yield `${what} begins\n`;
      if (what === 'first') await gate.promise;
      return `${what} is over`;
    },
  });
  const both = toolCalls(['c1', 'wait', { for: 'first' }], ['c2', 'wait', { for: 'second' }]);
  const chat = new TestChat({ script: [both, 'Done.'], tools: [wait] });
  await chat.send('Go');
  await chat.waitForText('✓ Wait for second');
  expect(chat.terminal.screen).toMatch(/. Wait for first.*\n {2}│ first begins\n✓ Wait for second/);
  expect(chat.terminal.screen).toContain('running wait');
  gate.resolve();
  await chat.waitForText('Done.');
  await chat.idle();
  expect(chat.terminal.text).toContain(
    '✓ Wait for first\n  │ first is over\n✓ Wait for second\n  │ second is over',
  );
});

test('a failed attempt is visibly replaced', async () => {
  const cut = { content: { parts: ['Half of'] }, fault: { type: 'cut', after: 1 } } as const;
  const chat = new TestChat({ script: [cut, 'All of it.'] });
  await chat.send('Go');
  await chat.waitForText('All of it.');
  await chat.idle();
  expect(chat.terminal.text).toContain('↻ the answer was cut off\n\nAll of it.');
  expect(chat.terminal.text).not.toContain('Half');
});

test('a scheduled retry is shown with its reason, and Esc cancels it', async () => {
  const busy = {
    content: { parts: ['x'] },
    fault: { type: 'error', after: 0, error: 'overloaded' },
  } as const;
  const chat = new TestChat({ script: [busy, 'Fine.', busy], retryMs: 4000 });
  await chat.send('Go');
  await chat.waitForText('retrying in');
  await chat.waitForText('Fine.');
  await chat.send('Again');
  await chat.until(() =>
    /retrying in [\d.]+ s \(2 of 8\), Esc stops: \S/.test(chat.terminal.screen),
  );
  chat.type(keys.escape);
  await chat.waitForText('■ stopped');
});

describe('a failed run', () => {
  const fails = {
    content: { parts: ['x'] },
    fault: { type: 'error', after: 0, error: 'auth' },
  } as const;

  test.each([
    ['Enter alone', ''],
    ['/retry', '/retry'],
  ])('is retried by %s without a new message', async (_name, typed) => {
    const chat = new TestChat({ script: [fails, 'Fine.'] });
    await chat.send('Go');
    await chat.waitForText('in an empty prompt it retries');
    await chat.send(typed);
    await chat.waitForText('Fine.');
    await chat.idle();
    expect(chat.terminal.text.match(/› Go/g)).toHaveLength(1);
    expect(chat.terminal.screen).not.toContain('in an empty prompt it retries');
  });

  test('cannot be retried if nothing failed, and a new message comes first', async () => {
    const chat = new TestChat({ script: [fails, 'Second.', 'Third.'] });
    await chat.send('/retry');
    await chat.waitForText('✗ There is no failed request');
    await chat.send('');
    await chat.send('Go');
    await chat.waitForText('in an empty prompt it retries');
    await chat.send('Something else');
    await chat.waitForText('Second.');
    expect(chat.terminal.text).toContain('› Something else');
  });
});

test('reasoning is folded to its last lines, and Ctrl-T shows all of it', async () => {
  const text = Array.from({ length: 12 }, (_, line) => `thought ${line}`).join('\n');
  const thought = { kind: 'reasoning', text, form: 'full' } as const;
  const parts = { parts: [thought, 'Well.'] };
  const chat = new TestChat({ script: [{ content: parts }, { content: parts }], pauseMs: 20 });
  await chat.send('Think');
  await chat.waitForText('thought 11');
  expect(chat.terminal.screen).not.toContain('thought 1\n');
  await chat.waitForText('Well.');
  await chat.idle();
  expect(chat.terminal.text).toMatch(/∴ thought for [\d.]+ s\n\nWell\./);
  chat.type(keys.ctrlT);
  await chat.waitForText('thought 0\n  thought 1\n');
  await chat.send('Again');
  await chat.until(() => chat.terminal.text.split('thought 0\n').length === 3);
});
