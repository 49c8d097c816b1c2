import { defineTool } from '@millrace/agent';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { keys, TestChat, toolCalls } from '../testing/test-chat.ts';

const schema = {
  type: 'object',
  properties: {
    size: {
      type: 'string',
      title: 'Which size',
      oneOf: [
        { const: 's', title: 'Small' },
        { const: 'l', title: 'Large' },
      ],
    },
    count: { type: 'integer', title: 'How many', minimum: 1 },
  },
  required: ['size', 'count'],
};

const answers: unknown[] = [];
const order = defineTool({
  ...{ name: 'order', description: 'Orders', input: z.object({}) },
  execute: async (_input, { ask }) => {
    answers.push(await ask?.({ message: 'What do you order?', schema }));
    return 'ordered';
  },
});

const ordering = () =>
  new TestChat({
    script: [toolCalls(['c1', 'order', {}]), 'Done.'],
    tools: [order],
    approve: () => 'allow',
  });

test('22.forms: the terminal asks the fields of a form one after the other', async () => {
  const chat = ordering();
  await chat.send('Go');
  await chat.waitForText('order asks: What do you order?');
  await chat.waitForText('Which size');
  await chat.quiet();
  await chat.press(keys.down);
  await chat.quiet();
  await chat.press(keys.enter);
  await chat.waitForText('How many');
  await chat.quiet();
  chat.type('e');
  await chat.waitForText('Your answer.');
  chat.type(`none${keys.enter}`);
  await chat.waitForText('Enter a number.');
  await chat.quiet();
  chat.type('e');
  await chat.waitForText('Your answer.');
  chat.type(`3${keys.enter}`);
  await chat.waitForText('Done.');
  expect(answers).toEqual([{ action: 'accept', content: { size: 'l', count: 3 } }]);
});

test('22.forms: a dismissed form is cancelled', async () => {
  answers.length = 0;
  const chat = ordering();
  await chat.send('Go');
  await chat.waitForText('Which size');
  await chat.quiet();
  await chat.press('x');
  await chat.waitForText('Done.');
  expect(answers).toEqual([{ action: 'cancel' }]);
});
