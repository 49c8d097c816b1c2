import {
  createAgent,
  defineTool,
  type Guardrail,
  inputGuardrail,
  outputGuardrail,
  subAgent,
  toolGuardrail,
} from '@millrace/agent';
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
const approve = () => ({ decision: 'ask', reason: 'no rule allows it', rule }) as const;
const noteCall = toolCalls(['c1', 'note', { text: 'a' }]);

async function chatWithDialog(options: TestChatOptions): Promise<TestChat> {
  const chat = new TestChat({ tools: [note], approve, ...options });
  await chat.send('Go');
  await chat.waitForText('Allow note?');
  await chat.quiet();
  return chat;
}

describe('a call that needs approval', () => {
  test('shows input, reason and choices, and runs when it is approved', async () => {
    const chat = await chatWithDialog({ script: [noteCall, 'Done.'] });
    const { screen } = chat.terminal;
    expect(screen).toContain('"text": "a"');
    expect(screen).toContain('no rule allows it');
    expect(screen).toMatch(/waiting for your answer · [\d.]+ s · Esc stops$/m);
    chat.type('y');
    await chat.waitForText('Done.');
    await chat.idle();
    expect(chat.terminal.text).toContain('✓ Note a\n  │ noted a');
    expect(chat.terminal.text).not.toContain('Allow note?');
  });

  test('needs approval again, unless it was approved for the session', async () => {
    const again = toolCalls(['c2', 'note', { text: 'b' }]);
    const once = await chatWithDialog({ script: [noteCall, again, 'Done.'] });
    once.type('y');
    await once.waitForText('✓ Note a');
    await once.waitForText('Allow note?');
    await once.quiet();
    once.type('y');
    await once.waitForText('Done.');
    const session = await chatWithDialog({ script: [noteCall, again, 'Done.'] });
    session.type('s');
    await session.waitForText('allow this rule until the session ends?');
    expect(session.terminal.screen).toContain('  │ note\n');
    await session.quiet();
    session.type('y');
    await session.waitForText('Done.');
    expect(session.terminal.text).toContain('✓ Note b');
  });

  test('can be approved permanently: the rule is stored', async () => {
    const chat = await chatWithDialog({ script: [noteCall, 'Done.'] });
    chat.type('a');
    await chat.waitForText('save this rule for this folder?');
    expect(chat.terminal.screen).toContain('  │ note\n');
    await chat.quiet();
    expect(chat.remembered).toEqual([]);
    chat.type('y');
    await chat.waitForText('Done.');
    expect(chat.remembered).toEqual([{ tool: 'note', decision: 'allow' }]);
  });

  test('can be denied with a reason that is sent to the model', async () => {
    const chat = await chatWithDialog({
      script: [noteCall, ({ items }) => JSON.stringify(items.at(-1)?.parts)],
    });
    chat.type('n');
    await chat.waitForText('Reason for denying note');
    chat.type(`not today${keys.enter}`);
    await chat.waitForText('✗ note a  not run');
    await chat.waitForText('It was not allowed: not today');
  });

  test('can be denied without a reason', async () => {
    const chat = await chatWithDialog({ script: [noteCall, 'Done.'] });
    chat.type('n');
    await chat.waitForText('Reason for denying note');
    chat.type(keys.enter);
    await chat.waitForText('It was not allowed.');
    await chat.waitForText('Done.');
  });

  test('can get a changed input, which must be JSON', async () => {
    const chat = await chatWithDialog({ script: [noteCall, 'Done.'] });
    chat.type('c');
    await chat.waitForText('as JSON');
    // The cursor is at the end of the JSON, so this text makes the JSON invalid.
    chat.type(`x${keys.enter}`);
    await chat.waitForText('Not valid JSON');
    chat.type('\u007f');
    await chat.advance(50);
    chat.type(`${keys.up}\u001b[F\u007f!"${keys.enter}`);
    await chat.waitForText('Run it with this input?');
    expect(chat.terminal.screen).toContain('"text": "a!"');
    await chat.quiet();
    chat.type('y');
    await chat.waitForText('Done.');
    expect(chat.terminal.text).toContain('✓ Note a!');
  });

  test('ignores keys that were typed while the dialog opened', async () => {
    const chat = new TestChat({ tools: [note], approve, script: [noteCall, 'Done.'] });
    await chat.send('Go');
    await chat.waitForText('Allow note?');
    chat.type(`yes${keys.enter}`);
    await chat.advance(100);
    await chat.advance(1000);
    expect(chat.terminal.screen).toContain('Allow note?');
    expect(chat.terminal.screen).toContain('In the prompt: yes');
  });

  test.for([[`y${keys.enter}`], ['y', keys.enter], [`yes${keys.enter}`]])(
    'says why %j does not approve',
    async (reads) => {
      const chat = await chatWithDialog({ script: [noteCall, 'Done.'] });
      await chat.waitForText('y approves, n denies');
      for (const read of reads) chat.type(read);
      await chat.waitForText('Press y alone: without Enter');
      await chat.quiet();
      await chat.waitForText('y approves, n denies');
    },
  );

  test('says that n goes back at the second question', async () => {
    const chat = await chatWithDialog({ script: [noteCall, 'Done.'] });
    chat.type('a');
    await chat.waitForText('save this rule for this folder?');
    await chat.quiet();
    await chat.waitForText('y approves, n goes back');
    chat.type('n');
    await chat.waitForText('Allow note?');
  });

  test('is denied at once by Enter, because the selection is on No', async () => {
    const chat = await chatWithDialog({ script: [noteCall, 'Done.'] });
    chat.type(keys.enter);
    await chat.waitForText('It was not allowed.');
    await chat.waitForText('Done.');
    expect(chat.terminal.text).not.toContain('✓ Note a');
  });

  test('is approved by Enter only after a move and a pause', async () => {
    const chat = await chatWithDialog({ script: [noteCall, 'Done.'] });
    chat.type(keys.down);
    await chat.advance(10);
    await chat.press(keys.enter);
    expect(chat.terminal.screen).toContain('Allow note?');
    await chat.quiet();
    chat.type(keys.enter);
    await chat.waitForText('✓ Note a');
  });

  test('is not approved by a word that starts with y', async () => {
    const chat = await chatWithDialog({ script: [noteCall, 'Done.'] });
    for (const letter of 'you must not') {
      chat.type(letter);
      await chat.advance(100);
    }
    await chat.quiet();
    expect(chat.terminal.screen).toContain('In the prompt: you must not');
    chat.type(keys.escape);
    await chat.waitForText('■ stopped');
    await chat.idle();
    expect(chat.terminal.text).not.toContain('✓ Note a');
    expect(chat.terminal.screen).toContain('> you must not');
  });

  test('keeps the typed message in the prompt', async () => {
    const gate = Promise.withResolvers<'ask'>();
    const options = { script: [noteCall, 'Done.'], tools: [note], approve: () => gate.promise };
    const chat = new TestChat(options);
    await chat.send('Go');
    await chat.waitForText('Esc stops');
    chat.type('half a sen');
    await chat.waitForText('> half a sen');
    gate.resolve('ask');
    await chat.waitForText('Allow note?');
    await chat.quiet();
    chat.type('n');
    await chat.waitForText('Reason for denying note');
    chat.type(`no${keys.enter}`);
    await chat.waitForText('Done.');
    expect(chat.terminal.screen).toContain('> half a sen');
  });

  test('stays open for a slash command, which Enter sends', async () => {
    const chat = await chatWithDialog({ script: [noteCall, 'Done.'] });
    chat.type('/name Notes');
    await chat.quiet();
    chat.type(keys.enter);
    await chat.waitForText('› /name Notes');
    await chat.waitForText('Allow note?');
    await chat.quiet();
    chat.type('y');
    await chat.waitForText('✓ Note a');
  });

  test('is closed when the run is stopped', async () => {
    const chat = await chatWithDialog({ script: [noteCall] });
    chat.type(keys.escape);
    await chat.waitForText('■ stopped');
    await chat.idle();
    expect(chat.terminal.screen).not.toContain('Allow note?');
  });

  test('waits while another dialog is open', async () => {
    const two = toolCalls(['c1', 'note', { text: 'a' }], ['c2', 'note', { text: 'b' }]);
    const chat = await chatWithDialog({ script: [two, 'Done.'], approve: () => 'ask' });
    await chat.waitForText('(1 more after this)');
    chat.type('y');
    await chat.waitUntilGone('more after this');
    await chat.quiet();
    expect(chat.terminal.screen).toContain('"text": "b"');
    chat.type('y');
    await chat.waitForText('Done.');
  });
});

describe('several calls that wait', () => {
  const three = toolCalls(
    ['c1', 'note', { text: 'a' }],
    ['c2', 'note', { text: 'b' }],
    ['c3', 'note', { text: 'c' }],
  );

  test('are approved together if one is approved for the session', async () => {
    const chat = await chatWithDialog({ script: [three, 'Done.'] });
    await chat.waitForText('(2 more after this)');
    chat.type('s');
    await chat.waitForText('allow this rule until the session ends?');
    await chat.quiet();
    chat.type('y');
    await chat.waitForText('Done.');
    expect(chat.terminal.text.match(/✓ Note [abc]/g)).toHaveLength(3);
  });

  test('can be approved at once, without later ones', async () => {
    const later = toolCalls(['c4', 'note', { text: 'd' }]);
    const chat = await chatWithDialog({ script: [three, later, 'Done.'], approve: () => 'ask' });
    await chat.waitForText('Yes to all 3 waiting now');
    chat.type('w');
    await chat.waitForText('Allow all 3?');
    for (const text of ['a', 'b', 'c']) expect(chat.terminal.screen).toContain(`"text": "${text}"`);
    await chat.quiet();
    chat.type('y');
    await chat.waitForText('✓ Note c');
    await chat.waitForText('"text": "d"');
    await chat.quiet();
    expect(chat.terminal.screen).not.toContain('waiting now');
    chat.type('y');
    await chat.waitForText('Done.');
  });

  test('need a pause before each answer', async () => {
    const chat = await chatWithDialog({ script: [three, 'Done.'], approve: () => 'ask' });
    await chat.waitForText('(2 more after this)');
    chat.type('y');
    await chat.waitForText('(1 more after this)');
    await chat.press('y');
    expect(chat.terminal.screen).toContain('(1 more after this)');
    for (const left of ['(1 more after this)', 'Allow note?']) {
      await chat.waitForText(left);
      await chat.quiet();
      await chat.press('y');
    }
    await chat.waitForText('Done.');
    expect(chat.terminal.text.match(/✓ Note [abc]/g)).toHaveLength(3);
  });
});

describe('the content of an approval', () => {
  const shell = defineTool({
    ...{ name: 'bash', description: 'Runs', input: z.object({ command: z.string() }) },
    execute: async ({ command }) => `ran ${command}`,
  });
  const lines = Array.from({ length: 60 }, (_, n) => `echo ${n}`);
  const command = [...lines, 'rm -rf important'].join('\n');
  const runs = toolCalls(['c1', 'bash', { command }]);

  const commanded = async (input: string) => {
    const script = [toolCalls(['c1', 'bash', { command: input }]), 'Done.'];
    const chat = new TestChat({ script, tools: [shell], approve });
    await chat.send('Go');
    await chat.waitForText('Run `');
    await chat.quiet();
    return chat;
  };

  test('must be scrolled through before it can be approved', async () => {
    const chat = new TestChat({ script: [runs, 'Done.'], tools: [shell], approve });
    await chat.send('Go');
    await chat.waitForText('lines below: Space shows more');
    const seen = [chat.terminal.screen];
    for (let left = 20; left > 0 && !chat.terminal.screen.includes('the end'); left--) {
      await chat.quiet();
      await chat.press('y');
      expect(chat.terminal.screen).toContain('Read all of it first');
      await chat.quiet();
      chat.type(' ');
      await chat.advance(50);
      seen.push(chat.terminal.screen);
    }
    for (const line of [...lines, 'rm -rf important']) expect(seen.join('\n')).toContain(line);
    expect(chat.terminal.text).not.toContain('ran echo');
    await chat.quiet();
    chat.type('y');
    await chat.waitForText('Done.');
  });

  test('is printed on demand, and can then be approved', async () => {
    const chat = new TestChat({ script: [runs, 'Done.'], tools: [shell], approve });
    await chat.send('Go');
    await chat.waitForText('lines below: Space shows more');
    await chat.quiet();
    chat.type('v');
    await chat.waitForText('(end)');
    for (const line of lines) expect(chat.terminal.text).toContain(line);
    expect(chat.terminal.screen).toContain('Yes, once');
    await chat.quiet();
    chat.type('y');
    await chat.waitForText('Done.');
  });

  test('can be edited as plain text if it is a command', async () => {
    const chat = await commanded('make al');
    chat.type('c');
    await chat.waitForText('Command. Enter shows the changed call');
    expect(chat.terminal.screen).toContain('> make al');
    chat.type(`l${keys.enter}`);
    await chat.waitForText('Run `make all`?');
    await chat.quiet();
    chat.type('y');
    await chat.waitForText('ran make all');
  });

  test('can be edited as plain text if it is a file, which keeps its final newline', async () => {
    const write = defineTool({
      ...{ name: 'write', description: 'Writes' },
      input: z.object({ path: z.string(), content: z.string() }),
      execute: async (input) => `wrote ${JSON.stringify(input)}`,
    });
    const inputs: string[] = [];
    const observed = {
      ...write,
      execute: async (input: unknown) => {
        inputs.push(JSON.stringify(input));
        return 'Made a.txt';
      },
    };
    const script = [toolCalls(['c1', 'write', { path: 'a.txt', content: 'one\n' }]), 'Done.'];
    const chat = new TestChat({ script, tools: [observed], approve });
    await chat.send('Go');
    await chat.waitForText('Write a.txt?');
    await chat.quiet();
    chat.type('c');
    await chat.waitForText('File content.');
    chat.type(`!${keys.enter}`);
    await chat.waitForText('Run it with this input?');
    await chat.quiet();
    chat.type('y');
    await chat.waitForText('Done.');
    expect(inputs).toEqual(['{"path":"a.txt","content":"one!\\n"}']);
  });

  test('includes the file diff as soon as it is known', async () => {
    const edit = defineTool({
      ...{ name: 'edit', description: 'Edits', input: z.object({ path: z.string() }) },
      execute: async () => 'Edited',
    });
    const gate = Promise.withResolvers<void>();
    const chat = new TestChat({
      ...{
        script: [toolCalls(['c1', 'edit', { path: 'a.txt' }]), 'Done.'],
        tools: [edit],
        approve,
      },
      preview: async () => {
        await gate.promise;
        return {
          ...{ diff: '@@ -7 +7 @@\n-old\n+new', added: 1, removed: 1, linesBefore: 9 },
          ...{ file: 'a.txt', isLinked: false },
        };
      },
    });
    await chat.send('Go');
    await chat.waitForText('Edit a.txt?');
    gate.resolve();
    await chat.waitForText('Edit a.txt (+1 −1)?');
    expect(chat.terminal.screen).toContain('7 + new');
  });
});

test('an approval of a sub-agent is shown here and answered there', async () => {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  const provider = scriptedProvider([noteCall, 'I noted it.'], { clock });
  const worker = createAgent({ provider, log, clock, tools: [note], approve, name: 'worker' });
  const task = subAgent({ name: 'worker', description: 'Works', agent: worker });
  const script = [toolCalls(['t1', 'worker', { task: 'Note it' }]), 'All done.'];
  const chat = new TestChat({ script, tools: [task], log, clock });
  await chat.send('Go');
  await chat.waitForText('A sub-agent asks: allow note?');
  await chat.quiet();
  chat.type('y');
  await chat.waitForText('All done.');
  expect(chat.terminal.text).toContain('I noted it.');
});

describe('20: a guardrail that asks', () => {
  const check = () => ({ verdict: 'ask', reason: 'It is odd' }) as const;
  const guards: Readonly<Record<'input' | 'output' | 'call', Guardrail>> = {
    input: inputGuardrail({ name: 'careful', check }),
    output: outputGuardrail({ name: 'careful', check }),
    call: toolGuardrail({ name: 'careful', check }),
  };
  const questions = { input: 'careful', output: 'careful', call: 'note' } as const;

  /** Opens a chat with an approval request of a guardrail. */
  async function asked(on: keyof typeof guards): Promise<TestChat> {
    const script = [...(on === 'call' ? [noteCall] : []), 'Fine.'];
    const chat = new TestChat({ script, tools: [note], guardrails: [guards[on]] });
    await chat.send('Hello there');
    const asker = on === 'call' ? 'Allow' : 'A guardrail asks: allow';
    await chat.waitForText(`${asker} ${questions[on]}?`);
    await chat.quiet();
    return chat;
  }

  test.each(['input', 'output', 'call'] as const)(
    'on the %s shows what it asks about, and goes on if it is approved',
    async (on) => {
      const chat = await asked(on);
      const shown = { input: 'Hello there', output: 'Fine.', call: '"text": "a"' }[on];
      expect(chat.terminal.screen).toContain('It is odd');
      expect(chat.terminal.screen).toContain(shown);
      chat.type('y');
      await chat.idle();
      expect(chat.terminal.text).toContain('Fine.');
      expect(chat.terminal.text).not.toContain(`llow ${questions[on]}?`);
      if (on === 'call') expect(chat.terminal.text).toContain('noted a');
    },
  );

  test.each(['input', 'output', 'call'] as const)(
    'on the %s stops what it asks about if it is denied',
    async (on) => {
      const chat = await asked(on);
      chat.type(keys.enter);
      await chat.idle();
      const { text } = chat.terminal;
      expect(text).not.toContain(`llow ${questions[on]}?`);
      expect(text).not.toContain('noted a');
      if (on === 'call') expect(text).toContain('Fine.');
      else expect(text).toContain('careful');
      if (on === 'input') expect(text).not.toContain('Fine.');
    },
  );
});

describe('a question of the model', () => {
  const colors = {
    question: 'Which colour?',
    multiple: false,
    options: [{ label: 'Red' }, { label: 'Blue', description: 'as the sky' }],
  };

  const questioned = async (question: Parameters<TestChat['ask']>[0]) => {
    const chat = new TestChat();
    await chat.idle();
    const given = chat.ask(question, new AbortController().signal);
    await chat.waitForText(question.question);
    await chat.quiet();
    return { chat, given };
  };

  test('is answered with a choice', async () => {
    const { chat, given } = await questioned(colors);
    await chat.press(keys.down);
    await chat.quiet();
    await chat.press(keys.enter);
    expect(await given).toBe('Blue');
  });

  test('is answered with free text', async () => {
    const { chat, given } = await questioned({ ...colors, options: [] });
    chat.type('e');
    await chat.waitForText('Your answer.');
    chat.type(`Green${keys.enter}`);
    expect(await given).toBe('Green');
  });

  test('can have several answers', async () => {
    const { chat, given } = await questioned({ ...colors, multiple: true });
    chat.type(' ');
    await chat.waitForText('[x] Red');
    await chat.press(keys.down);
    await chat.quiet();
    chat.type(' ');
    await chat.waitForText('[x] Blue');
    await chat.quiet();
    await chat.press(keys.enter);
    expect(await given).toEqual(['Red', 'Blue']);
  });

  test('can be dismissed', async () => {
    const { chat, given } = await questioned(colors);
    await chat.press('x');
    expect(await given).toBeUndefined();
  });

  test('is closed when its signal aborts', async () => {
    const chat = new TestChat();
    await chat.idle();
    const signal = new AbortController();
    const given = chat.ask(colors, signal.signal);
    await chat.waitForText('Which colour?');
    signal.abort();
    expect(await given).toBeUndefined();
    await chat.idle();
  });
});
