import { createAgent, defineTool, subAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { ChatStage, type ChatStageOptions, calls, keys } from '../testing/chat-stage.ts';

const note = defineTool({
  ...{ name: 'note', description: 'Notes', input: z.object({ text: z.string() }) },
  summarize: ({ text }) => `Note ${text}`,
  execute: async ({ text }) => `noted ${text}`,
});
const rule = '{"tool":"note","decision":"allow"}';
const approve = () => ({ decision: 'ask', reason: 'nobody said it may', rule }) as const;
const one = calls(['c1', 'note', { text: 'a' }]);

async function asked(options: ChatStageOptions): Promise<ChatStage> {
  const stage = new ChatStage({ tools: [note], approve, ...options });
  await stage.say('Go');
  await stage.see('May note run?');
  await stage.pass(300);
  return stage;
}

describe('a call that has to be asked about', () => {
  test('is shown with its input, the reason and the choices, and runs when it is allowed', async () => {
    const stage = await asked({ script: [one, 'Done.'] });
    const { screen } = stage.terminal;
    expect(screen).toContain('"text": "a"');
    expect(screen).toContain('nobody said it may');
    expect(screen).toContain('waits for your answer');
    stage.type(keys.enter);
    await stage.see('Done.');
    await stage.idle();
    expect(stage.terminal.text).toContain('✓ Note a\n  │ noted a');
    expect(stage.terminal.text).not.toContain('May note run?');
  });

  test('is asked about again the next time, unless it was allowed for the session', async () => {
    const again = calls(['c2', 'note', { text: 'b' }]);
    const once = await asked({ script: [one, again, 'Done.'] });
    once.type('y');
    await once.see('✓ Note a');
    await once.see('May note run?');
    await once.pass(300);
    once.type('y');
    await once.see('Done.');
    const session = await asked({ script: [one, again, 'Done.'] });
    session.type('s');
    await session.see('Done.');
    expect(session.terminal.text).toContain('✓ Note b');
  });

  test('can be allowed always: the rule is kept', async () => {
    const stage = await asked({ script: [one, 'Done.'] });
    stage.type('a');
    await stage.see('Done.');
    expect(stage.remembered).toEqual([{ tool: 'note', decision: 'allow' }]);
  });

  test('can be denied with a reason, which the model is told', async () => {
    const stage = await asked({
      script: [one, ({ items }) => JSON.stringify(items.at(-1)?.parts)],
    });
    stage.type('n');
    await stage.see('Why may note not run?');
    stage.type(`not today${keys.enter}`);
    await stage.see('✗ note a  not run');
    await stage.see('It was not allowed: not today');
  });

  test('can be denied without one', async () => {
    const stage = await asked({ script: [one, 'Done.'] });
    stage.type('n');
    await stage.see('Why may note not run?');
    stage.type(keys.enter);
    await stage.see('It was not allowed.');
    await stage.see('Done.');
  });

  test('can get another input, which has to be JSON', async () => {
    const stage = await asked({ script: [one, 'Done.'] });
    stage.type('c');
    await stage.see('as JSON');
    // Back over the brace, the line end and the closing quote.
    stage.type(`x${keys.enter}`);
    await stage.see('That is not JSON');
    stage.type('\u007f');
    await stage.pass(50);
    stage.type(`${keys.up}\u001b[F\u007f!"${keys.enter}`);
    await stage.see('Done.');
    expect(stage.terminal.text).toContain('✓ Note a!');
  });

  test('is not answered by what somebody was typing when it came up', async () => {
    const stage = new ChatStage({ tools: [note], approve, script: [one, 'Done.'] });
    await stage.say('Go');
    await stage.see('May note run?');
    stage.type(`yes${keys.enter}`);
    await stage.pass(100);
    await stage.pass(1000);
    expect(stage.terminal.screen).toContain('May note run?');
  });

  test('leaves what was being typed as it was', async () => {
    const gate = Promise.withResolvers<'ask'>();
    const options = { script: [one, 'Done.'], tools: [note], approve: () => gate.promise };
    const stage = new ChatStage(options);
    await stage.say('Go');
    await stage.see('Esc stops');
    stage.type('half a sen');
    await stage.see('> half a sen');
    gate.resolve('ask');
    await stage.see('May note run?');
    await stage.pass(300);
    stage.type('n');
    await stage.see('Why may note not run?');
    stage.type(`no${keys.enter}`);
    await stage.see('Done.');
    expect(stage.terminal.screen).toContain('> half a sen');
  });

  test('goes with the run when that is stopped', async () => {
    const stage = await asked({ script: [one] });
    stage.type(keys.escape);
    await stage.see('■ stopped');
    await stage.idle();
    expect(stage.terminal.screen).not.toContain('May note run?');
  });

  test('waits while another one is asked about', async () => {
    const two = calls(['c1', 'note', { text: 'a' }], ['c2', 'note', { text: 'b' }]);
    const stage = await asked({ script: [two, 'Done.'], approve: () => 'ask' });
    await stage.see('(1 more after this)');
    stage.type('y');
    await stage.missOnScreen('more after this');
    await stage.pass(300);
    expect(stage.terminal.screen).toContain('"text": "b"');
    stage.type('y');
    await stage.see('Done.');
  });
});

test('what a sub-agent asks is asked here, and answered there', async () => {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  const provider = scriptedProvider([one, 'I noted it.'], { clock });
  const worker = createAgent({ provider, log, clock, tools: [note], approve, name: 'worker' });
  const task = subAgent({ name: 'worker', description: 'Works', agent: worker });
  const script = [calls(['t1', 'worker', { task: 'Note it' }]), 'All done.'];
  const stage = new ChatStage({ script, tools: [task], log, clock });
  await stage.say('Go');
  await stage.see('A sub-agent asks: may note run?');
  await stage.pass(300);
  stage.type('y');
  await stage.see('All done.');
  expect(stage.terminal.text).toContain('I noted it.');
});

describe('a question of the model', () => {
  const colors = {
    question: 'Which colour?',
    multiple: false,
    options: [{ label: 'Red' }, { label: 'Blue', description: 'as the sky' }],
  };

  const questioned = async (question: Parameters<ChatStage['ask']>[0]) => {
    const stage = new ChatStage();
    await stage.idle();
    const given = stage.ask(question, new AbortController().signal);
    await stage.see(question.question);
    await stage.pass(300);
    return { stage, given };
  };

  test('is answered by choosing', async () => {
    const { stage, given } = await questioned(colors);
    stage.type(`${keys.down}${keys.enter}`);
    expect(await given).toBe('Blue');
  });

  test('is answered in other words', async () => {
    const { stage, given } = await questioned({ ...colors, options: [] });
    stage.type('e');
    await stage.see('Your answer.');
    stage.type(`Green${keys.enter}`);
    expect(await given).toBe('Green');
  });

  test('may have several answers', async () => {
    const { stage, given } = await questioned({ ...colors, multiple: true });
    stage.type(' ');
    await stage.see('[x] Red');
    stage.type(keys.down);
    await stage.pass(50);
    stage.type(' ');
    await stage.see('[x] Blue');
    stage.type(keys.enter);
    expect(await given).toEqual(['Red', 'Blue']);
  });

  test('may be left without one', async () => {
    const { stage, given } = await questioned(colors);
    stage.type('x');
    expect(await given).toBeUndefined();
  });

  test('goes away when nobody needs to know any more', async () => {
    const stage = new ChatStage();
    await stage.idle();
    const signal = new AbortController();
    const given = stage.ask(colors, signal.signal);
    await stage.see('Which colour?');
    signal.abort();
    expect(await given).toBeUndefined();
    await stage.idle();
  });
});
