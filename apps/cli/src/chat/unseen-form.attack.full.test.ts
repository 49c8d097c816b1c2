import { defineTool, type FormAnswer } from '@millrace/agent';
import type { JsonObject } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { keys, TestChat, toolCalls } from '../testing/test-chat.ts';

/** Starts a chat whose tool asks with a form. Returns the chat and the answers that the tool got. */
async function asked(message: string, properties: JsonObject, required: readonly string[] = []) {
  const answers: (FormAnswer | undefined)[] = [];
  const schema = { type: 'object', properties, required } as JsonObject;
  const tool = defineTool({
    ...{ name: 'cloud', description: 'Manages servers', input: z.object({}) },
    execute: async (_input, { ask }) => {
      answers.push(await ask?.({ message, schema }));
      return 'asked';
    },
  });
  const script = [toolCalls(['c1', 'cloud', {}]), 'Done.'];
  const chat = new TestChat({ script, tools: [tool], approve: () => 'allow' });
  await chat.send('Go');
  return { chat, answers };
}

describe('attack: 18.150 a form without fields is a question', () => {
  const confirmation = async () => {
    const { chat, answers } = await asked('Delete the database?', {});
    await chat.waitForText('cloud asks: Delete the database?');
    await chat.quiet();
    expect(answers).toEqual([]);
    return { chat, answers };
  };

  test('Enter alone declines it', async () => {
    const { chat, answers } = await confirmation();
    await chat.press(keys.enter);
    await chat.waitForText('Done.');
    expect(answers).toEqual([{ action: 'decline' }]);
  });

  test('the user accepts it with Yes', async () => {
    const { chat, answers } = await confirmation();
    await chat.press(keys.down);
    await chat.quiet();
    await chat.press(keys.enter);
    await chat.waitForText('Done.');
    expect(answers).toEqual([{ action: 'accept', content: {} }]);
  });

  test('no answer dismisses it', async () => {
    const { chat, answers } = await confirmation();
    await chat.press('x');
    await chat.waitForText('Done.');
    expect(answers).toEqual([{ action: 'cancel' }]);
  });

  test('a typed text other than yes or no does not answer it', async () => {
    const { chat, answers } = await confirmation();
    chat.type('e');
    await chat.waitForText('Your answer.');
    chat.type(`sure${keys.enter}`);
    await chat.waitForText('Choose Yes or No.');
    expect(answers).toEqual([]);
    await chat.quiet();
    await chat.press(keys.enter);
    await chat.waitForText('Done.');
    expect(answers).toEqual([{ action: 'decline' }]);
  });
});

test('attack: 18.151 a form whose fields are all left out is not accepted with Enter', async () => {
  const { chat, answers } = await asked('Publish the repository?', {
    note: { type: 'string', title: 'Note' },
  });
  await chat.waitForText('Leave it out');
  await chat.quiet();
  await chat.press(keys.enter);
  await chat.waitForText('Agree?');
  expect(answers).toEqual([]);
  await chat.quiet();
  await chat.press(keys.enter);
  await chat.waitForText('Done.');
  expect(answers).toEqual([{ action: 'decline' }]);
});

test('attack: 18.157 a rule for the tool does not answer its open form', async () => {
  const answers: (FormAnswer | undefined)[] = [];
  const tool = defineTool({
    ...{ name: 'cloud', description: 'Manages servers', input: z.object({}) },
    execute: async (_input, { ask, toolCallId }) => {
      if (toolCallId === 'c1')
        answers.push(
          await ask?.({ message: 'Delete it?', schema: { type: 'object', properties: {} } }),
        );
      return `${toolCallId} is done`;
    },
  });
  const rule = '{"tool":"cloud","decision":"allow"}';
  const chat = new TestChat({
    script: [toolCalls(['c1', 'cloud', {}], ['c2', 'cloud', {}]), 'Done.'],
    tools: [tool],
    approve: ({ call }) =>
      call.toolCallId === 'c1' ? 'allow' : { decision: 'ask', reason: 'no rule allows it', rule },
  });
  await chat.send('Go');
  await chat.waitForText('Allow cloud?');
  await chat.quiet();
  chat.type('s');
  await chat.waitForText('allow this rule until the session ends?');
  await chat.quiet();
  await chat.press('y');
  await chat.waitForText('cloud asks: Delete it?');
  await chat.quiet();
  expect(answers).toEqual([]);
  await chat.press(keys.enter);
  await chat.waitForText('Done.');
  expect(answers).toEqual([{ action: 'decline' }]);
});

const filler = Array.from({ length: 200 }, (_, line) => `line ${line}`).join('\n');

describe('attack: 18.152 a question that is longer than the window', () => {
  test('of a form is answered only after its end was shown', async () => {
    const { chat, answers } = await asked(
      `${filler}\nEND: publish it?`,
      { ok: { type: 'boolean', title: 'Agree', default: true } },
      ['ok'],
    );
    await chat.waitForText('cloud asks: line 0');
    await chat.quiet();
    expect(chat.terminal.screen).toContain('Yes');
    expect(chat.terminal.screen).toContain('Read all of it first');
    expect(chat.terminal.screen).not.toContain('END');
    await chat.press(keys.enter);
    await chat.quiet();
    await chat.press('1');
    await chat.quiet();
    expect(answers).toEqual([]);
    for (let page = 0; page < 200 && !chat.terminal.screen.includes('END'); page++) {
      await chat.quiet();
      await chat.press(' ');
    }
    await chat.waitForText('END: publish it?');
    await chat.quiet();
    await chat.press(keys.enter);
    await chat.waitForText('Done.');
    expect(answers).toEqual([{ action: 'accept', content: { ok: true } }]);
  });

  const questioned = async (question: Parameters<TestChat['ask']>[0]) => {
    const chat = new TestChat();
    await chat.idle();
    const given: unknown[] = [];
    void chat
      .ask(question, new AbortController().signal)
      .then((answer) => given.push(answer ?? 'dismissed'));
    await chat.waitForText('line 0');
    await chat.quiet();
    return { chat, given };
  };
  const options = [{ label: 'Yes, delete' }, { label: 'No' }];
  const question = { question: `${filler}\nMay I delete it?`, options, multiple: false };

  test('of the model keeps its options visible, and v prints all of it', async () => {
    const { chat, given } = await questioned(question);
    for (const label of ['Yes, delete', 'No', 'Something else'])
      expect(chat.terminal.screen).toContain(label);
    for (const key of [keys.enter, 'e', '2']) {
      await chat.press(key);
      await chat.quiet();
    }
    expect(given).toEqual([]);
    expect(chat.terminal.screen).not.toContain('Your answer.');
    await chat.press('v');
    await chat.waitForText('May I delete it?');
    await chat.quiet();
    await chat.press('2');
    expect(given).toEqual(['No']);
  });

  test('can be dismissed before it was read', async () => {
    const { chat, given } = await questioned(question);
    await chat.press('x');
    expect(given).toEqual(['dismissed']);
  });

  test('with several answers scrolls with Page Down, and Space ticks', async () => {
    const { chat, given } = await questioned({ ...question, multiple: true });
    expect(chat.terminal.screen).toContain('Page Down shows more');
    await chat.press(' ');
    await chat.quiet();
    await chat.press(keys.enter);
    await chat.quiet();
    expect(given).toEqual([]);
    for (let page = 0; page < 200 && !chat.terminal.screen.includes('May I'); page++) {
      await chat.quiet();
      await chat.press('\u001b[6~');
    }
    await chat.quiet();
    await chat.press(keys.enter);
    expect(given).toEqual([['Yes, delete']]);
  });
});

test('attack: 18.153 the end of a long option is shown before an answer counts', async () => {
  const chat = new TestChat();
  await chat.idle();
  const label = `Keep my files ${'and '.repeat(40)}DELETE the backups`;
  const options = [{ label, description: `About it: ${'x '.repeat(80)}LAST` }, { label: 'No' }];
  const question = { question: 'What now?', options, multiple: false };
  void chat.ask(question, new AbortController().signal);
  await chat.waitForText('What now?');
  await chat.waitForText('DELETE the backups');
  await chat.waitForText('LAST');
});
