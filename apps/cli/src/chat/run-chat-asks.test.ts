import { createAgent, defineTool, subAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { ChatStage, type ChatStageOptions, calls, keys } from '../testing/test-chat.ts';

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
    expect(screen).toMatch(/waits for your answer · [\d.]+ s · Esc stops$/m);
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

describe('several calls that wait', () => {
  const three = calls(
    ['c1', 'note', { text: 'a' }],
    ['c2', 'note', { text: 'b' }],
    ['c3', 'note', { text: 'c' }],
  );

  test('are answered together where one of them is, for the session', async () => {
    const stage = await asked({ script: [three, 'Done.'] });
    await stage.see('(2 more after this)');
    stage.type('s');
    await stage.see('Done.');
    expect(stage.terminal.text.match(/✓ Note [abc]/g)).toHaveLength(3);
  });

  test('can all be allowed at once, and no later one with them', async () => {
    const later = calls(['c4', 'note', { text: 'd' }]);
    const stage = await asked({ script: [three, later, 'Done.'], approve: () => 'ask' });
    await stage.see('Yes to all 3 that wait now');
    stage.type('w');
    await stage.see('✓ Note c');
    await stage.see('"text": "d"');
    await stage.pass(300);
    expect(stage.terminal.screen).not.toContain('that wait now');
    stage.type('y');
    await stage.see('Done.');
  });

  test('are answered as fast as somebody types', async () => {
    const stage = await asked({ script: [three, 'Done.'], approve: () => 'ask' });
    await stage.see('(2 more after this)');
    for (const _ of [1, 2, 3]) {
      stage.type('y');
      await stage.pass(50);
    }
    await stage.see('Done.');
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
  const runs = calls(['c1', 'bash', { command }]);

  const commanded = async (input: string) => {
    const script = [calls(['c1', 'bash', { command: input }]), 'Done.'];
    const stage = new ChatStage({ script, tools: [shell], approve });
    await stage.say('Go');
    await stage.see('Run `');
    await stage.pass(300);
    return stage;
  };

  test('is shown from both ends, and all of it on demand, before it is answered', async () => {
    const stage = new ChatStage({ script: [runs, 'Done.'], tools: [shell], approve });
    await stage.say('Go');
    await stage.see('lines not shown: v shows all');
    expect(stage.terminal.screen).toContain('rm -rf important');
    await stage.pass(300);
    stage.type('v');
    await stage.see('that is all of it');
    for (const line of lines) expect(stage.terminal.text).toContain(line);
    expect(stage.terminal.screen).toContain('Yes, this once');
    stage.type('y');
    await stage.see('Done.');
  });

  test('can be changed as plain text, where it is a command', async () => {
    const stage = await commanded('make al');
    stage.type('c');
    await stage.see('The command. Enter runs it so');
    expect(stage.terminal.screen).toContain('> make al');
    stage.type(`l${keys.enter}`);
    await stage.see('ran make all');
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
    const script = [calls(['c1', 'write', { path: 'a.txt', content: 'one\n' }]), 'Done.'];
    const stage = new ChatStage({ script, tools: [observed], approve });
    await stage.say('Go');
    await stage.see('Write a.txt?');
    await stage.pass(300);
    stage.type('c');
    await stage.see('What is written.');
    stage.type(`!${keys.enter}`);
    await stage.see('Done.');
    expect(told).toEqual(['{"path":"a.txt","content":"one!\\n"}']);
  });

  test('is shown with what it would do to the file, as soon as that is known', async () => {
    const edit = defineTool({
      ...{ name: 'edit', description: 'Edits', input: z.object({ path: z.string() }) },
      execute: async () => 'Edited',
    });
    const gate = Promise.withResolvers<void>();
    const stage = new ChatStage({
      ...{ script: [calls(['c1', 'edit', { path: 'a.txt' }]), 'Done.'], tools: [edit], approve },
      preview: async () => {
        await gate.promise;
        return { diff: '@@ -7 +7 @@\n-old\n+new', added: 1, removed: 1, linesBefore: 9 };
      },
    });
    await stage.say('Go');
    await stage.see('Edit a.txt?');
    gate.resolve();
    await stage.see('Edit a.txt (+1 −1)?');
    expect(stage.terminal.screen).toContain('7 + new');
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
