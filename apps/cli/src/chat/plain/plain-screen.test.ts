import { defineTool } from '@millrace/agent';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { keys, TestChat, type TestChatOptions, toolCalls } from '../../testing/test-chat.ts';

const deploy = (ran: string[]) =>
  defineTool({
    ...{ name: 'deploy', description: 'Deploys', input: z.object({ to: z.string() }) },
    execute: async ({ to }) => {
      ran.push(to);
      return `deployed to ${to}`;
    },
  });
const rule = '{"tool":"deploy","decision":"allow"}';
const approve = () => ({ decision: 'ask', reason: 'no rule allows it', rule }) as const;

/** Opens a chat in the plain mode. */
function openPlain(options: TestChatOptions = {}) {
  const chat = new TestChat({ plain: true, ...options });
  const line = (text: string) =>
    chat.until(
      () => chat.terminal.text.endsWith(text),
      () => `the last line ${JSON.stringify(text)}`,
    );
  const idle = () => line('\n>');
  const send = async (text: string) => {
    await idle();
    chat.type(text);
    await line(`> ${text}`);
    chat.type('\r');
  };
  return { chat, line, idle, send };
}

/** Everything that moves the cursor, erases, or draws. Only Backspace at the end of the typed text is allowed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these control a terminal
const controls = /\u001b\[(?!\?2004[hl])[^m]*[A-Za-ln-z]|\r(?!\n)|[─│┼✓✗›⠁-⣿]/;

describe('the plain mode', () => {
  test('prints each piece once, and moves no cursor', async () => {
    const answer = 'One.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n\nTwo **three**.';
    const { chat, idle, send } = openPlain({ script: [answer], pauseMs: 40 });
    await send('Count');
    await chat.waitForText('Working.');
    await chat.waitForText('One.');
    expect(chat.terminal.text).not.toContain('Two');
    await chat.waitForText('Done.');
    await idle();
    expect(await chat.quit()).toBe(0);
    const { text, written } = chat.terminal;
    expect(text).toMatch(/^\nmillrace \S+ in \/folder\n/);
    expect(text).toContain(
      '\nMode: asks first. Shift-Tab changes it.\n> Count\nWorking.\n\nOne.\n\na: 1\nb: 2\n\n\n\nTwo three.\nDone.\n>',
    );
    expect(written).not.toMatch(controls);
    expect(chat.keyboard.isRaw).toBe(false);
    expect(written.endsWith('\u001b[?2004l')).toBe(true);
  });

  test('a question is numbered text, and only a single key after a pause answers it', async () => {
    const ran: string[] = [];
    const script = [toolCalls(['c1', 'deploy', { to: 'live' }]), 'Deployed.'];
    const { chat, line, send } = openPlain({ script, tools: [deploy(ran)], approve });
    await send('Deploy');
    await chat.waitForText('Waiting for your answer.');
    // This key was typed before the question could be read.
    chat.type('y');
    await line('> y');
    expect(chat.terminal.text).toContain('These keys did not answer.');
    await line('Answer:');
    chat.type('y\r');
    await chat.advance(1);
    await chat.quiet();
    expect(ran).toEqual([]);
    await line('Answer:');
    expect(chat.terminal.text).toContain(
      'Question: Allow deploy?\n  no rule allows it\n  {\n    "to": "live"\n  }\n1. Yes, once (y)\n',
    );
    await chat.press('1');
    await chat.waitForText('Deployed.');
    expect(ran).toEqual(['live']);
    expect(chat.terminal.text).toContain('\nTool: deploy: done\n  deployed to live\n');
    expect(chat.terminal.written).not.toMatch(controls);
  });

  test('"always" needs a second key', async () => {
    const ran: string[] = [];
    const script = [toolCalls(['c1', 'deploy', { to: 'live' }]), 'Deployed.'];
    const { chat, line, send } = openPlain({ script, tools: [deploy(ran)], approve });
    await send('Deploy');
    await line('Answer:');
    await chat.press('a');
    await line('Answer:');
    expect(ran).toEqual([]);
    expect(chat.terminal.text).toContain('Question: Run it, and save this rule for this folder?');
    await chat.press('y');
    await chat.waitForText('Deployed.');
    expect(chat.remembered).toHaveLength(1);
  });

  test('a question is repeated after other text, and then needs a new pause', async () => {
    const ran: string[] = [];
    const script = [toolCalls(['c1', 'deploy', { to: 'live' }]), 'Deployed.'];
    const { chat, line, send } = openPlain({ script, tools: [deploy(ran)], approve });
    await send('Deploy');
    await line('Answer:');
    chat.type('/tools');
    await line('> /tools');
    chat.type('\r');
    await chat.waitForText('deploy: Deploys');
    expect(chat.terminal.text.split('Question: Allow deploy?')).toHaveLength(3);
    await chat.press('y');
    expect(ran).toEqual([]);
  });

  test('18.1065: attack: a digit changes its meaning just before it is pressed', async () => {
    const [ran, later] = [[] as string[], Promise.withResolvers<void>()];
    const { chat, line, send } = openPlain({
      script: [toolCalls(['c1', 'deploy', { to: 'a' }], ['c2', 'deploy', { to: 'b' }]), 'Done.'],
      tools: [deploy(ran)],
      approve: async ({ call }) => {
        if (call.toolCallId === 'c2') await later.promise;
        return approve();
      },
    });
    await send('Go');
    await chat.waitForText('Question: Allow deploy?');
    await line('Answer:');
    expect(chat.terminal.text).toContain('5. No (n)');
    later.resolve();
    await chat.waitForText('(1 more after this)');
    // The digit 5 now means another answer than on the screen that the user has read.
    await chat.press('5');
    await line('> 5');
    expect(ran).toEqual([]);
  });

  test('lists are chosen by number, and filtered by words', async () => {
    const { chat, line, send } = openPlain();
    await send('/theme');
    await line('Choice:');
    expect(chat.terminal.text).toContain('1. auto\n2. dark\n3. light\n4. none\n');
    chat.type('nothing like it\r');
    await chat.waitForText('no match');
    chat.type('li\r');
    await line(
      '1. light\nType a number and press Enter. Words and Enter filter the list. Esc cancels.\nChoice:',
    );
    // Enter alone chooses nothing that the user has not selected.
    chat.type('\r');
    await chat.advance(100);
    await line('Choice:');
    chat.type(keys.down);
    await line('1. light\nChoice:');
    chat.type('1\r');
    await chat.waitForText('Error: This terminal shows no colours');
  });

  test('typed text is echoed at the end, also with Backspace, history, paste and output between', async () => {
    const { chat, line, idle, send } = openPlain({ script: ['Yes.'], pauseMs: 400 });
    await send('Hi');
    await chat.waitForText('Working.');
    chat.type('next');
    await line('> next');
    await chat.waitForText('Done.');
    await line('\n> next');
    chat.type('\u007f\u007f');
    await line('> ne');
    chat.type('\u001b[D');
    await line('Cursor before: e\n> n');
    chat.type('\u0005');
    await line('Cursor at the end.\n> ne');
    chat.type('\u001b[200~ two\nlines\u001b[201~');
    await line('> ne two\nlines');
    await chat.advance(200);
    chat.type(keys.ctrlC);
    await idle();
    chat.type(keys.up);
    await line('> ne two\nlines');
    chat.type(keys.ctrlC);
    await idle();
    chat.type('/mo\t');
    await line(
      '2 completions:\n/mode: Show or change the mode; Shift-Tab changes it too\n/model: Switch to another model\n> /mode',
    );
  });
});

test('a dumb terminal gets the plain mode without control sequences', async () => {
  const { chat, idle, send } = openPlain({ plain: false, env: { TERM: 'dumb' }, script: ['Yes.'] });
  await send('Hi');
  await chat.waitForText('Yes.');
  await idle();
  await chat.quit();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a dumb terminal understands none
  expect(chat.terminal.written).not.toMatch(/\u001b/);
});
