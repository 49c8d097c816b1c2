import { defineTool } from '@millrace/agent';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { keys, TestChat, toolCalls } from '../testing/test-chat.ts';

// A server asks for a confirmation with a form that has no field, or only fields that can be left out.

const note = { type: 'string', title: 'A note' };

function confirming(properties: object) {
  const answers: unknown[] = [];
  const remove = defineTool({
    ...{ name: 'remove', description: 'Removes', input: z.object({}) },
    execute: async (_input, { ask }) => {
      const schema = { type: 'object', properties };
      answers.push(await ask?.({ message: 'Delete the database?', schema } as never));
      return 'finished';
    },
  });
  const chat = new TestChat({
    script: [toolCalls(['c1', 'remove', {}]), 'Done.'],
    tools: [remove],
    approve: () => 'allow',
  });
  return { chat, answers };
}

test('18.137: attack: a form without fields is shown, and Enter does not agree', async () => {
  const { chat, answers } = confirming({});
  await chat.send('Go');
  await chat.waitForText('remove asks: Delete the database?');
  expect(answers).toEqual([]);
  await chat.quiet();
  await chat.press(keys.enter);
  await chat.waitForText('Done.');
  expect(answers).toEqual([{ action: 'decline' }]);
});

test('18.137: attack: a form whose fields are left out is not accepted by that', async () => {
  const { chat, answers } = confirming({ note });
  await chat.send('Go');
  await chat.waitForText('Leave it out');
  await chat.quiet();
  await chat.press(keys.enter);
  await chat.waitForText('Agree?');
  await chat.quiet();
  await chat.press(keys.enter);
  await chat.waitForText('Done.');
  expect(answers).toEqual([{ action: 'decline' }]);
});

test('18.137: the user can agree to a form without fields', async () => {
  const { chat, answers } = confirming({});
  await chat.send('Go');
  await chat.waitForText('Agree?');
  await chat.quiet();
  await chat.press(keys.down);
  await chat.quiet();
  await chat.press(keys.enter);
  await chat.waitForText('Done.');
  expect(answers).toEqual([{ action: 'accept', content: {} }]);
});
