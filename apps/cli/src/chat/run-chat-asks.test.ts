import { createAgent, defineTool, subAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { keys, TestChat, type TestChatOptions, toolCalls } from '../testing/test-chat.ts';

const note = defineTool({
  ...{ name: 'note', description: 'Notes', input: z.object({ text: z.string() }) },
  summarize: ({ text }) => `Note ${text}`,
  execute: async ({ text }) => `noted ${text}`,
});
const rule = '{"tool":"note","decision":"allow"}';
const approve = () => ({ decision: 'ask', reason: 'nobody said it may', rule }) as const;
const one = toolCalls(['c1', 'note', { text: 'a' }]);

async function asked(options: TestChatOptions): Promise<TestChat> {
  const stage = new TestChat({ tools: [note], approve, ...options });
  await stage.send('Go');
  await stage.waitForText('May note run?');
  await stage.advance(300);
  return stage;
}

describe('a call that has to be asked about', () => {
  test('is shown with its input, the reason and the choices, and runs when it is allowed', async () => {
    const stage = await asked({ script: [one, 'Done.'] });
    const { screen } = stage.terminal;
    expect(screen).toContain('"text": "a"');
    expect(screen).toContain('nobody said it may');
    expect(screen).toMatch(/waits for your answer · [\d.]+ s · Esc stops$/m);
    stage.type(keys.enter);
    await stage.waitForText('Done.');
    await stage.idle();
    expect(stage.terminal.text).toContain('✓ Note a\n  │ noted a');
    expect(stage.terminal.text).not.toContain('May note run?');
  });

  test('is asked about again the next time, unless it was allowed for the session', async () => {
    const again = toolCalls(['c2', 'note', { text: 'b' }]);
    const once = await asked({ script: [one, again, 'Done.'] });
    once.type('y');
    await once.waitForText('✓ Note a');
    await once.waitForText('May note run?');
    await once.advance(300);
    once.type('y');
    await once.waitForText('Done.');
    const session = await asked({ script: [one, again, 'Done.'] });
    session.type('s');
    await session.waitForText('Done.');
    expect(session.terminal.text).toContain('✓ Note b');
  });

  test('can be allowed always: the rule is kept', async () => {
    const stage = await asked({ script: [one, 'Done.'] });
    stage.type('a');
    await stage.waitForText('Done.');
    expect(stage.remembered).toEqual([{ tool: 'note', decision: 'allow' }]);
  });

  test('can be denied with a reason, which the model is told', async () => {
    const stage = await asked({
      script: [one, ({ items }) => JSON.stringify(items.at(-1)?.parts)],
    });
    stage.type('n');
    await stage.waitForText('Why may note not run?');
    stage.type(`not today${keys.enter}`);
    await stage.waitForText('✗ note a  not run');
    await stage.waitForText('It was not allowed: not today');
  });

  test('can be denied without one', async () => {
    const stage = await asked({ script: [one, 'Done.'] });
    stage.type('n');
    await stage.waitForText('Why may note not run?');
    stage.type(keys.enter);
    await stage.waitForText('It was not allowed.');
    await stage.waitForText('Done.');
  });

  test('can get another input, which has to be JSON', async () => {
    const stage = await asked({ script: [one, 'Done.'] });
    stage.type('c');
    await stage.waitForText('as JSON');
    // Moves back over the brace, the line end and the closing quote.
    stage.type(`x${keys.enter}`);
    await stage.waitForText('That is not JSON');
    stage.type('\u007f');
    await stage.advance(50);
    stage.type(`${keys.up}\u001b[F\u007f!"${keys.enter}`);
    await stage.waitForText('Done.');
    expect(stage.terminal.text).toContain('✓ Note a!');
  });

  test('is not answered by what somebody was typing when it came up', async () => {
    const stage = new TestChat({ tools: [note], approve, script: [one, 'Done.'] });
    await stage.send('Go');
    await stage.waitForText('May note run?');
    stage.type(`yes${keys.enter}`);
    await stage.advance(100);
    await stage.advance(1000);
    expect(stage.terminal.screen).toContain('May note run?');
  });

  test('leaves what was being typed as it was', async () => {
    const gate = Promise.withResolvers<'ask'>();
    const options = { script: [one, 'Done.'], tools: [note], approve: () => gate.promise };
    const stage = new TestChat(options);
    await stage.send('Go');
    await stage.waitForText('Esc stops');
    stage.type('half a sen');
    await stage.waitForText('> half a sen');
    gate.resolve('ask');
    await stage.waitForText('May note run?');
    await stage.advance(300);
    stage.type('n');
    await stage.waitForText('Why may note not run?');
    stage.type(`no${keys.enter}`);
    await stage.waitForText('Done.');
    expect(stage.terminal.screen).toContain('> half a sen');
  });

  test('goes with the run when that is stopped', async () => {
    const stage = await asked({ script: [one] });
    stage.type(keys.escape);
    await stage.waitForText('■ stopped');
    await stage.idle();
    expect(stage.terminal.screen).not.toContain('May note run?');
  });

  test('waits while another one is asked about', async () => {
    const two = toolCalls(['c1', 'note', { text: 'a' }], ['c2', 'note', { text: 'b' }]);
    const stage = await asked({ script: [two, 'Done.'], approve: () => 'ask' });
    await stage.waitForText('(1 more after this)');
    stage.type('y');
    await stage.waitUntilGone('more after this');
    await stage.advance(300);
    expect(stage.terminal.screen).toContain('"text": "b"');
    stage.type('y');
    await stage.waitForText('Done.');
  });
});

describe('several calls that wait', () => {
  const three = toolCalls(
    ['c1', 'note', { text: 'a' }],
    ['c2', 'note', { text: 'b' }],
    ['c3', 'note', { text: 'c' }],
  );

  test('are answered together where one of them is, for the session', async () => {
    const stage = await asked({ script: [three, 'Done.'] });
    await stage.waitForText('(2 more after this)');
    stage.type('s');
    await stage.waitForText('Done.');
    expect(stage.terminal.text.match(/✓ Note [abc]/g)).toHaveLength(3);
  });

  test('can all be allowed at once, and no later one with them', async () => {
    const later = toolCalls(['c4', 'note', { text: 'd' }]);
    const stage = await asked({ script: [three, later, 'Done.'], approve: () => 'ask' });
    await stage.waitForText('Yes to all 3 that wait now');
    stage.type('w');
    await stage.waitForText('✓ Note c');
    await stage.waitForText('"text": "d"');
    await stage.advance(300);
    expect(stage.terminal.screen).not.toContain('that wait now');
    stage.type('y');
    await stage.waitForText('Done.');
  });

  test('are answered as fast as somebody types', async () => {
    const stage = await asked({ script: [three, 'Done.'], approve: () => 'ask' });
    await stage.waitForText('(2 more after this)');
    for (const _ of [1, 2, 3]) {
      stage.type('y');
      await stage.advance(50);
    }
    await stage.waitForText('Done.');
    expect(stage.terminal.text.match(/✓ Note [abc]/g)).toHaveLength(3);
  });
});

describe('what is asked about', () => {
  const shell = defineTool({
    ...{ name: 'bash', description: 'Runs', input: z.object({ command: z.string() }) },
    execute: async ({ command }) => `ran ${command}`,
  });
  const lines = Array.from({ length: 60 }, (_, n) => `echo ${n}`);
  const command = [...lines, 'rm -rf important'].join('\n');
  const runs = toolCalls(['c1', 'bash', { command }]);

  const commanded = async (input: string) => {
    const script = [toolCalls(['c1', 'bash', { command: input }]), 'Done.'];
    const stage = new TestChat({ script, tools: [shell], approve });
    await stage.send('Go');
    await stage.waitForText('Run `');
    await stage.advance(300);
    return stage;
  };

  test('is shown from both ends, and all of it on demand, before it is answered', async () => {
    const stage = new TestChat({ script: [runs, 'Done.'], tools: [shell], approve });
    await stage.send('Go');
    await stage.waitForText('lines not shown: v shows all');
    expect(stage.terminal.screen).toContain('rm -rf important');
    await stage.advance(300);
    stage.type('v');
    await stage.waitForText('that is all of it');
    for (const line of lines) expect(stage.terminal.text).toContain(line);
    expect(stage.terminal.screen).toContain('Yes, this once');
    stage.type('y');
    await stage.waitForText('Done.');
  });

  test('can be changed as plain text, where it is a command', async () => {
    const stage = await commanded('make al');
    stage.type('c');
    await stage.waitForText('The command. Enter runs it so');
    expect(stage.terminal.screen).toContain('> make al');
    stage.type(`l${keys.enter}`);
    await stage.waitForText('ran make all');
  });

  test('can be changed as plain text, where it is a file, which keeps its last line end', async () => {
    const write = defineTool({
      ...{ name: 'write', description: 'Writes' },
      input: z.object({ path: z.string(), content: z.string() }),
      execute: async (input) => `wrote ${JSON.stringify(input)}`,
    });
    const told: string[] = [];
    const observed = {
      ...write,
      execute: async (input: unknown) => {
        told.push(JSON.stringify(input));
        return 'Made a.txt';
      },
    };
    const script = [toolCalls(['c1', 'write', { path: 'a.txt', content: 'one\n' }]), 'Done.'];
    const stage = new TestChat({ script, tools: [observed], approve });
    await stage.send('Go');
    await stage.waitForText('Write a.txt?');
    await stage.advance(300);
    stage.type('c');
    await stage.waitForText('What is written.');
    stage.type(`!${keys.enter}`);
    await stage.waitForText('Done.');
    expect(told).toEqual(['{"path":"a.txt","content":"one!\\n"}']);
  });

  test('is shown with what it would do to the file, as soon as that is known', async () => {
    const edit = defineTool({
      ...{ name: 'edit', description: 'Edits', input: z.object({ path: z.string() }) },
      execute: async () => 'Edited',
    });
    const gate = Promise.withResolvers<void>();
    const stage = new TestChat({
      ...{
        script: [toolCalls(['c1', 'edit', { path: 'a.txt' }]), 'Done.'],
        tools: [edit],
        approve,
      },
      preview: async () => {
        await gate.promise;
        return { diff: '@@ -7 +7 @@\n-old\n+new', added: 1, removed: 1, linesBefore: 9 };
      },
    });
    await stage.send('Go');
    await stage.waitForText('Edit a.txt?');
    gate.resolve();
    await stage.waitForText('Edit a.txt (+1 −1)?');
    expect(stage.terminal.screen).toContain('7 + new');
  });
});

test('what a sub-agent asks is asked here, and answered there', async () => {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  const provider = scriptedProvider([one, 'I noted it.'], { clock });
  const worker = createAgent({ provider, log, clock, tools: [note], approve, name: 'worker' });
  const task = subAgent({ name: 'worker', description: 'Works', agent: worker });
  const script = [toolCalls(['t1', 'worker', { task: 'Note it' }]), 'All done.'];
  const stage = new TestChat({ script, tools: [task], log, clock });
  await stage.send('Go');
  await stage.waitForText('A sub-agent asks: may note run?');
  await stage.advance(300);
  stage.type('y');
  await stage.waitForText('All done.');
  expect(stage.terminal.text).toContain('I noted it.');
});

describe('a question of the model', () => {
  const colors = {
    question: 'Which colour?',
    multiple: false,
    options: [{ label: 'Red' }, { label: 'Blue', description: 'as the sky' }],
  };

  const questioned = async (question: Parameters<TestChat['ask']>[0]) => {
    const stage = new TestChat();
    await stage.idle();
    const given = stage.ask(question, new AbortController().signal);
    await stage.waitForText(question.question);
    await stage.advance(300);
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
    await stage.waitForText('Your answer.');
    stage.type(`Green${keys.enter}`);
    expect(await given).toBe('Green');
  });

  test('may have several answers', async () => {
    const { stage, given } = await questioned({ ...colors, multiple: true });
    stage.type(' ');
    await stage.waitForText('[x] Red');
    stage.type(keys.down);
    await stage.advance(50);
    stage.type(' ');
    await stage.waitForText('[x] Blue');
    stage.type(keys.enter);
    expect(await given).toEqual(['Red', 'Blue']);
  });

  test('may be left without one', async () => {
    const { stage, given } = await questioned(colors);
    stage.type('x');
    expect(await given).toBeUndefined();
  });

  test('goes away when nobody needs to know any more', async () => {
    const stage = new TestChat();
    await stage.idle();
    const signal = new AbortController();
    const given = stage.ask(colors, signal.signal);
    await stage.waitForText('Which colour?');
    signal.abort();
    expect(await given).toBeUndefined();
    await stage.idle();
  });
});
