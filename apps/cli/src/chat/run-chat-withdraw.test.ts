import { defineTool } from '@millrace/agent';
import { transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { failingLog } from '../testing/failing-log.ts';
import { keys, TestChat, toolCalls } from '../testing/test-chat.ts';

const gated = () => {
  const gate = Promise.withResolvers<void>();
  const tool = defineTool({
    ...{ name: 'wait', description: 'Waits', input: z.object({}) },
    execute: () => gate.promise.then(() => 'over'),
  });
  const script = [toolCalls(['c1', 'wait', {}]), 'One.', 'Two.'];
  return { gate, chat: new TestChat({ script, tools: [tool] }) };
};

const messagesIn = async ({ log, session }: TestChat) =>
  transcript(await snapshot(log, session)).flatMap(({ kind, parts }) =>
    kind === 'user' ? parts.map((part) => ('text' in part ? part.text : '')) : [],
  );

describe('a queued message', () => {
  test('returns to the prompt after a stop, in order, before the typed text', async () => {
    const { chat } = gated();
    await chat.send('Go');
    await chat.waitForText('running wait');
    chat.type(`hurry up${keys.enter}`);
    await chat.waitForText('↳ next step: hurry up');
    chat.type(`and then that${keys.altEnter}`);
    await chat.waitForText('↳ queued: and then that');
    chat.type('a draft');
    await chat.waitForText('> a draft');
    chat.type(keys.escape);
    await chat.waitForText('■ stopped');
    await chat.waitForText('> hurry up\n  and then that\n  a draft');
    await chat.idle();
    expect(chat.terminal.screen).not.toContain('↳');
    chat.type(`!${keys.enter}`);
    await chat.waitForText('One.');
    await chat.idle();
    expect(await messagesIn(chat)).toEqual(['Go', 'hurry up\nand then that\na draft!']);
  });

  test('is withdrawn with Up, edited and sent again', async () => {
    const { gate, chat } = gated();
    await chat.send('Go');
    await chat.waitForText('running wait');
    chat.type(`first${keys.enter}`);
    await chat.waitForText('↳ next step: first');
    chat.type(`second${keys.enter}`);
    await chat.waitForText('↳ next step: second');
    chat.type(keys.up);
    await chat.waitForText('> second');
    await chat.waitUntilGone('next step: second');
    chat.type(` thought${keys.enter}`);
    await chat.waitForText('↳ next step: second thought');
    gate.resolve();
    await chat.waitForText('One.');
    await chat.idle();
    expect(await messagesIn(chat)).toEqual(['Go', 'first', 'second thought']);
  });

  test('cannot be withdrawn after it was consumed: Up shows the history', async () => {
    const { gate, chat } = gated();
    await chat.send('Go');
    await chat.waitForText('running wait');
    chat.type(`first${keys.enter}`);
    await chat.waitForText('↳ next step: first');
    gate.resolve();
    await chat.waitForText('One.');
    await chat.idle();
    chat.type(keys.up);
    await chat.waitForText('> first');
    expect(await messagesIn(chat)).toEqual(['Go', 'first']);
  });
});

describe('a log that rejects writes', () => {
  const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ');
  const full = async () => {
    const clock = new VirtualClock();
    const failing = failingLog(memoryLog({ clock }));
    const script = [words, 'Went on.'];
    const chat = new TestChat({ script, pauseMs: 50, clock, log: failing.log });
    return { chat, failing };
  };

  test('ends the run with an error, and continues when there is space again', async () => {
    const { chat, failing } = await full();
    await chat.send('Go');
    await chat.waitForText('word5');
    failing.isFull = true;
    await chat.waitForText('make room');
    await chat.waitForText('Solve the problem, then send a message to continue.');
    await chat.idle();
    chat.type(keys.escape);
    for (let ms = 0; ms < 3000; ms += 100) await chat.advance(100);
    expect(chat.terminal.screen).not.toMatch(/answering|driven by/);
    failing.isFull = false;
    chat.type(`again${keys.enter}`);
    await chat.waitForText('Went on.');
    await chat.idle();
    expect(chat.terminal.screen).not.toContain('driven by');
    expect(await messagesIn(chat)).toEqual(['Go', 'again']);
  });

  test('returns unsent messages to the prompt', async () => {
    const { chat, failing } = await full();
    await chat.send('Go');
    await chat.waitForText('word5');
    failing.isFull = true;
    chat.type(`hurry${keys.enter}`);
    await chat.waitForText('make room');
    await chat.idle();
    expect(chat.terminal.screen).toContain('> hurry');
    const before = chat.terminal.text.split('make room').length;
    chat.type(` up${keys.enter}`);
    await chat.until(() => chat.terminal.text.split('make room').length > before);
    await chat.idle();
    expect(chat.terminal.screen).toContain('> hurry up');
  });
});
