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
  return { gate, stage: new TestChat({ script, tools: [tool] }) };
};

const saidIn = async ({ log, session }: TestChat) =>
  transcript(await snapshot(log, session)).flatMap(({ kind, parts }) =>
    kind === 'user' ? parts.map((part) => ('text' in part ? part.text : '')) : [],
  );

describe('what was said and not heard', () => {
  test('when it was stopped is in the prompt again, in its order, before what was being typed', async () => {
    const { stage } = gated();
    await stage.send('Go');
    await stage.waitForText('running wait');
    stage.type(`hurry up${keys.enter}`);
    await stage.waitForText('↳ joins next: hurry up');
    stage.type(`and then that${keys.altEnter}`);
    await stage.waitForText('↳ then: and then that');
    stage.type('a draft');
    await stage.waitForText('> a draft');
    stage.type(keys.escape);
    await stage.waitForText('■ stopped');
    await stage.waitForText('> hurry up\n  and then that\n  a draft');
    await stage.idle();
    expect(stage.terminal.screen).not.toContain('↳');
    stage.type(`!${keys.enter}`);
    await stage.waitForText('One.');
    await stage.idle();
    expect(await saidIn(stage)).toEqual(['Go', 'hurry up\nand then that\na draft!']);
  });

  test('is taken back by Up, changed and sent again', async () => {
    const { gate, stage } = gated();
    await stage.send('Go');
    await stage.waitForText('running wait');
    stage.type(`first${keys.enter}`);
    await stage.waitForText('↳ joins next: first');
    stage.type(`second${keys.enter}`);
    await stage.waitForText('↳ joins next: second');
    stage.type(keys.up);
    await stage.waitForText('> second');
    await stage.waitUntilGone('joins next: second');
    stage.type(` thought${keys.enter}`);
    await stage.waitForText('↳ joins next: second thought');
    gate.resolve();
    await stage.waitForText('One.');
    await stage.idle();
    expect(await saidIn(stage)).toEqual(['Go', 'first', 'second thought']);
  });

  test('after it was heard stays said: Up is the history again', async () => {
    const { gate, stage } = gated();
    await stage.send('Go');
    await stage.waitForText('running wait');
    stage.type(`first${keys.enter}`);
    await stage.waitForText('↳ joins next: first');
    gate.resolve();
    await stage.waitForText('One.');
    await stage.idle();
    stage.type(keys.up);
    await stage.waitForText('> first');
    expect(await saidIn(stage)).toEqual(['Go', 'first']);
  });
});

describe('a log that cannot be written to any more', () => {
  const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ');
  const full = async () => {
    const clock = new VirtualClock();
    const failing = failingLog(memoryLog({ clock }));
    const script = [words, 'Went on.'];
    const stage = new TestChat({ script, pauseMs: 50, clock, log: failing.log });
    return { stage, failing };
  };

  test('ends what goes on, says so, and goes on when there is room again', async () => {
    const { stage, failing } = await full();
    await stage.send('Go');
    await stage.waitForText('word5');
    failing.isFull = true;
    await stage.waitForText('make room');
    await stage.waitForText('Say more to go on, when that is mended.');
    await stage.idle();
    stage.type(keys.escape);
    for (let ms = 0; ms < 3000; ms += 100) await stage.advance(100);
    expect(stage.terminal.screen).not.toMatch(/answering|drives/);
    failing.isFull = false;
    stage.type(`again${keys.enter}`);
    await stage.waitForText('Went on.');
    await stage.idle();
    expect(stage.terminal.screen).not.toContain('drives');
    expect(await saidIn(stage)).toEqual(['Go', 'again']);
  });

  test('gives back what was typed meanwhile, and what could not be said at all', async () => {
    const { stage, failing } = await full();
    await stage.send('Go');
    await stage.waitForText('word5');
    failing.isFull = true;
    stage.type(`hurry${keys.enter}`);
    await stage.waitForText('make room');
    await stage.idle();
    expect(stage.terminal.screen).toContain('> hurry');
    const before = stage.terminal.text.split('make room').length;
    stage.type(` up${keys.enter}`);
    await stage.until(() => stage.terminal.text.split('make room').length > before);
    await stage.idle();
    expect(stage.terminal.screen).toContain('> hurry up');
  });
});
