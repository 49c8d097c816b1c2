import type { McpTools } from '@millrace/tools/mcp';
import { expect, test } from 'vitest';
import { noExtensions } from '../extensions/load-extensions.ts';
import { expandPrompt } from '../extensions/slash-prompts.ts';
import { TestChat } from '../testing/test-chat.ts';
import { serverPrompts } from './server-prompts.ts';

/** A connected server whose prompt answers with its arguments. */
const connected: Pick<McpTools, 'prompts' | 'getPrompt'> = {
  prompts: [
    {
      name: 'Review \u001b[31mfile',
      description: 'Reviews\na file',
      arguments: [
        { name: 'file', isRequired: true },
        { name: 'focus', isRequired: false },
      ],
    },
  ],
  getPrompt: async (name, given) => `${name.length} ${JSON.stringify(given)}`,
};
const prompts = serverPrompts('My Docs', connected as McpTools);

test('24.4: a prompt of an MCP server is a slash command with plain characters', () => {
  expect(prompts).toMatchObject([
    { name: '/my-docs:review-31mfile', description: 'Reviews a file', argument: '<file> [focus]' },
  ]);
});

test.for([
  ['a.ts', { file: 'a.ts' }],
  ['a.ts the tests first', { file: 'a.ts', focus: 'the tests first' }],
  ['focus=speed a.ts', { focus: 'speed', file: 'a.ts' }],
] as const)('24.4: the arguments of %j are %j', async ([text, given]) => {
  const [part = ''] = await expandPrompt(noExtensions, `/my-docs:review-31mfile ${text}`, prompts);
  expect(part).toContain(JSON.stringify(given));
});

test('24.4: a missing argument is an error', async () => {
  const [prompt] = prompts;
  await expect(prompt?.expand('')).rejects.toThrow('needs the argument file');
});

test('24.4: the chat sends the text of the prompt', async () => {
  const chat = new TestChat({ script: ['Reviewed.'], servers: { prompts: () => prompts } });
  await chat.send('/my-docs:review-31mfile a.ts');
  await chat.waitForText('{"file":"a.ts"}');
  await chat.waitForText('Reviewed.');
});
