import { defineTool } from '@millrace/agent';
import { transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { keys, TestChat, toolCalls } from '../testing/test-chat.ts';

const stalls = (text: string, after: number) =>
  ({ content: { parts: [text] }, fault: { type: 'stall', after } }) as const;

test('begins with what it is, where, with which model and why, and how to get help', async () => {
  const stage = new TestChat();
  await stage.idle();
  expect(stage.terminal.text.split('\n').slice(0, 3)).toEqual([
    '',
    expect.stringMatching(/^millrace \S+ in \/folder$/),
    'Using a script. /help says what can be done here.',
  ]);
});

test('what is said is answered, word by word, and all of it stands in the scrollback once', async () => {
  const stage = new TestChat({ script: ['One two three.\n\nFour **five**.'], pauseMs: 40 });
  await stage.send('Count');
  await stage.waitForText('One two');
  expect(stage.terminal.text).not.toContain('Four');
  await stage.idle();
  await stage.quit();
  const { text } = stage.terminal;
  expect(text).toContain('› Count\n\nOne two three.\n\nFour five.\n\nTo go on:');
  expect(text.split('One two three.')).toHaveLength(2);
});

test('a first message says in which folder it was said', async () => {
  const stage = new TestChat({ script: ['Yes.'], cwd: '/some/where' });
  await stage.send('Here?');
  await stage.waitForText('Yes.');
  const [first] = transcript(await snapshot(stage.log, stage.session));
  expect(first?.metadata).toEqual({ cwd: '/some/where' });
});

test('Esc stops it, and what was said is kept', async () => {
  const stage = new TestChat({ script: [stalls('Said so far.', 3), 'On.'] });
  await stage.send('Go');
  await stage.waitForText('Said so');
  stage.type(keys.escape);
  await stage.waitForText('■ stopped');
  await stage.send('And?');
  await stage.waitForText('On.');
  const items = transcript(await snapshot(stage.log, stage.session));
  expect(items.map(({ kind, stop }) => [kind, stop?.reason])).toEqual([
    ['user', undefined],
    ['assistant', 'aborted'],
    ['user', undefined],
    ['assistant', 'stop'],
  ]);
});

test('Ctrl-C stops it too, then clears what is typed, then asks for a second one to leave', async () => {
  const stage = new TestChat({ script: [stalls('Said', 1)] });
  await stage.send('Go');
  await stage.waitForText('Said');
  stage.type(keys.ctrlC);
  await stage.waitForText('■ stopped');
  await stage.idle();
  stage.type('a draft');
  await stage.waitForText('> a draft');
  stage.type(keys.ctrlC);
  await stage.waitUntilGone('a draft');
  stage.type(keys.up);
  await stage.waitForText('> a draft');
  stage.type(keys.ctrlC);
  await stage.waitUntilGone('a draft');
  stage.type(keys.ctrlC);
  await stage.waitForText('Ctrl-C again leaves');
  for (let ms = 0; ms < 2100; ms += 100) await stage.advance(100);
  expect(stage.terminal.screen).not.toContain('again leaves');
  stage.type(keys.ctrlC);
  await stage.waitForText('Ctrl-C again leaves');
  stage.type(keys.ctrlC);
  expect(await stage.exitCode).toBe(0);
});

test('a terminal that cannot show it is told what to do instead', async () => {
  const stage = new TestChat({ env: { TERM: 'dumb' } });
  expect(await stage.exitCode).toBe(2);
  expect(stage.terminal.written).toMatch(/^This terminal \(TERM=dumb\) cannot show.* -p /);
});

test('Ctrl-L draws a garbled screen anew, once', async () => {
  const stage = new TestChat({ script: ['One.\n\nTwo.'] });
  await stage.send('Go');
  await stage.waitForText('Two.');
  await stage.idle();
  const { screen } = stage.terminal;
  stage.terminal.write('\u001b[3Agarbled\r\n garbled');
  stage.type('\u000c');
  await stage.waitUntilGone('garbled');
  await stage.advance(100);
  expect(stage.terminal.screen.trim()).toBe(screen.trim());
});

test('leaves the terminal as it was: a cursor, no raw mode, no paste mode, nothing of the prompt', async () => {
  const stage = new TestChat({ script: ['Yes.'] });
  await stage.send('Hi');
  await stage.waitForText('Yes.');
  await stage.idle();
  expect(stage.keyboard.isRaw).toBe(true);
  expect(await stage.quit()).toBe(0);
  expect(stage.keyboard.isRaw).toBe(false);
  const { written, isCursorShown, screen } = stage.terminal;
  expect(isCursorShown).toBe(true);
  expect(written.lastIndexOf('\u001b[?2004l')).toBeGreaterThan(
    written.lastIndexOf('\u001b[?2004h'),
  );
  expect(screen).not.toMatch(/Enter sends|Say what/);
  expect(screen).toContain(`millrace --resume ${stage.session.slice(0, 8)}`);
});

test('a mistake of ours in drawing is told, and leaves the terminal as it was', async () => {
  let isBroken = false;
  const label = () => {
    if (isBroken) throw new RangeError('cannot be drawn');
    return 'script';
  };
  const stage = new TestChat({ script: [stalls('Said', 1)], label });
  await stage.send('Go');
  await stage.waitForText('Said');
  isBroken = true;
  const left = expect(stage.exitCode).rejects.toThrow('cannot be drawn');
  await stage.until(() => !stage.keyboard.isRaw);
  await left;
  expect(stage.terminal.isCursorShown).toBe(true);
  const items = transcript(await snapshot(stage.log, stage.session));
  expect(items.at(-1)).toMatchObject({ stop: { reason: 'aborted' }, parts: [{ text: 'Said' }] });
});

test('a signal stops what goes on, keeps it, and leaves', async () => {
  const stage = new TestChat({ script: [stalls('Said', 1)] });
  await stage.send('Go');
  await stage.waitForText('Said');
  await stage.abort();
  expect(await stage.exitCode).toBe(3);
  const items = transcript(await snapshot(stage.log, stage.session));
  expect(items.at(-1)).toMatchObject({ stop: { reason: 'aborted' }, parts: [{ text: 'Said' }] });
});

describe('while it works', () => {
  const gated = () => {
    const gate = Promise.withResolvers<void>();
    const tool = defineTool({
      ...{ name: 'wait', description: 'Waits', input: z.object({}) },
      execute: () => gate.promise.then(() => 'over'),
    });
    const script = [toolCalls(['c1', 'wait', {}]), 'One.', 'Two.'];
    return { gate, stage: new TestChat({ script, tools: [tool] }) };
  };

  test('Enter joins the next step, and Alt-Enter is answered when it would end', async () => {
    const { gate, stage } = gated();
    await stage.send('Go');
    await stage.waitForText('running wait');
    stage.type(`this way${keys.enter}`);
    await stage.waitForText('↳ joins next: this way');
    stage.type(`and then that${keys.altEnter}`);
    await stage.waitForText('↳ then: and then that');
    gate.resolve();
    await stage.waitForText('Two.');
    await stage.idle();
    expect(stage.terminal.text).toContain('› this way\n\nOne.\n\n› and then that\n\nTwo.');
    expect(stage.terminal.screen).not.toContain('↳');
  });

  test('Ctrl-D does not leave', async () => {
    const { gate, stage } = gated();
    await stage.send('Go');
    await stage.waitForText('running wait');
    stage.type(keys.ctrlD);
    await stage.advance(1000);
    gate.resolve();
    await stage.waitForText('One.');
  });

  test('what was queued when it was stopped is not done behind one’s back', async () => {
    const { stage } = gated();
    await stage.send('Go');
    await stage.waitForText('running wait');
    stage.type(`and then that${keys.altEnter}`);
    await stage.waitForText('↳ then: and then that');
    stage.type(keys.escape);
    await stage.waitForText('■ stopped');
    await stage.waitForText('> and then that');
    await stage.advance(5000);
    expect(stage.terminal.text).not.toContain('One.');
  });
});

test('calls that run side by side are shown as they do, and printed in their order', async () => {
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
  const stage = new TestChat({ script: [both, 'Done.'], tools: [wait] });
  await stage.send('Go');
  await stage.waitForText('✓ Wait for second');
  expect(stage.terminal.screen).toMatch(
    /. Wait for first.*\n {2}│ first begins\n✓ Wait for second/,
  );
  expect(stage.terminal.screen).toContain('running wait');
  gate.resolve();
  await stage.waitForText('Done.');
  await stage.idle();
  expect(stage.terminal.text).toContain(
    '✓ Wait for first\n  │ first is over\n✓ Wait for second\n  │ second is over',
  );
});

test('a failed attempt is visibly replaced', async () => {
  const cut = { content: { parts: ['Half of'] }, fault: { type: 'cut', after: 1 } } as const;
  const stage = new TestChat({ script: [cut, 'All of it.'] });
  await stage.send('Go');
  await stage.waitForText('All of it.');
  await stage.idle();
  expect(stage.terminal.text).toContain('↻ the answer broke off\n\nAll of it.');
  expect(stage.terminal.text).not.toContain('Half');
});

test('while it waits to try again, it says so and why, and Esc ends the waiting', async () => {
  const busy = {
    content: { parts: ['x'] },
    fault: { type: 'error', after: 0, error: 'overloaded' },
  } as const;
  const stage = new TestChat({ script: [busy, 'Fine.', busy], retryMs: 4000 });
  await stage.send('Go');
  await stage.waitForText('tries again in');
  await stage.waitForText('Fine.');
  await stage.send('Again');
  await stage.until(() =>
    /tries again in [\d.]+ s \(2 of 8\), Esc stops: \S/.test(stage.terminal.screen),
  );
  stage.type(keys.escape);
  await stage.waitForText('■ stopped');
});

describe('what failed for good', () => {
  const fails = {
    content: { parts: ['x'] },
    fault: { type: 'error', after: 0, error: 'auth' },
  } as const;

  test.each([
    ['Enter alone', ''],
    ['/retry', '/retry'],
  ])('is tried again by %s, without being said again', async (_name, typed) => {
    const stage = new TestChat({ script: [fails, 'Fine.'] });
    await stage.send('Go');
    await stage.waitForText('alone, it tries again what failed');
    await stage.send(typed);
    await stage.waitForText('Fine.');
    await stage.idle();
    expect(stage.terminal.text.match(/› Go/g)).toHaveLength(1);
    expect(stage.terminal.screen).not.toContain('tries again what failed');
  });

  test('is nothing where nothing did, and what was said goes first', async () => {
    const stage = new TestChat({ script: [fails, 'Second.', 'Third.'] });
    await stage.send('/retry');
    await stage.waitForText('✗ There is nothing that failed');
    await stage.send('');
    await stage.send('Go');
    await stage.waitForText('tries again what failed');
    await stage.send('Something else');
    await stage.waitForText('Second.');
    expect(stage.terminal.text).toContain('› Something else');
  });
});

test('what the model thinks is folded to its last lines, and Ctrl-R shows all of it', async () => {
  const text = Array.from({ length: 12 }, (_, line) => `thought ${line}`).join('\n');
  const thought = { kind: 'reasoning', text, form: 'full' } as const;
  const parts = { parts: [thought, 'Well.'] };
  const stage = new TestChat({ script: [{ content: parts }, { content: parts }], pauseMs: 20 });
  await stage.send('Think');
  await stage.waitForText('thought 11');
  expect(stage.terminal.screen).not.toContain('thought 1\n');
  await stage.waitForText('Well.');
  await stage.idle();
  expect(stage.terminal.text).toMatch(/∴ thought for [\d.]+ s\n\nWell\./);
  stage.type(keys.ctrlR);
  await stage.waitForText('thought 0\n  thought 1\n');
  await stage.send('Again');
  await stage.until(() => stage.terminal.text.split('thought 0\n').length === 3);
});
