import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { bundleSize, sizeTable, startCode } from './packages/bundle-size.ts';

const agentWith = (provider: string) =>
  `export { createAgent, defineTool } from '@millrace/agent'; export { ${provider} } from '@millrace/providers';`;

const chatOf = (names: string) => `export { ${names} } from '@millrace/react';`;

const kilobyte = 1024;

/**
 * The size limits of the code that loads at the start, in bytes, minified and compressed with gzip.
 * The goal for an agent with one provider is 80 KB. Gemini misses it by 3.1 KB, and Anthropic by
 * 4.4 KB. The wires of OpenAI need more, because they read more forms of answers and load the traits
 * of all models. Each limit is a few hundred bytes above the current size, so that growth is noticed.
 * Before you raise a limit, look for code that can load on demand with `import()`.
 */
const limits: readonly (readonly [what: string, limit: number, code: string])[] = [
  ['agent and anthropic', 84.6 * kilobyte, agentWith('anthropic')],
  ['agent and gemini', 83.6 * kilobyte, agentWith('gemini')],
  ['agent and openaiChat', 91.8 * kilobyte, agentWith('openaiChat')],
  ['agent and openaiResponses', 95.5 * kilobyte, agentWith('openaiResponses')],
  [
    'client and React hooks',
    22.8 * kilobyte,
    "export { createClient } from '@millrace/client'; export * from '@millrace/client/react';",
  ],
  ['a chat of components', 48.2 * kilobyte, chatOf('Chat, useTaskSession')],
  [
    'headless hooks',
    2.8 * kilobyte,
    "export { usePart, useTaskSession } from '@millrace/react/headless';",
  ],
  [
    'the components for useChat',
    49.5 * kilobyte,
    `${chatOf('Chat')} export { useChatSession } from '@millrace/react/ai-sdk';`,
  ],
  // The texts of all components in English are one object of 5 KB.
  ['one small component', 6.5 * kilobyte, chatOf('UsageLine')],
];

test.each(limits)('%s: at most %i bytes', async (_what, limit, code) => {
  const { bytes } = await bundleSize(code);
  const table = bytes > limit ? `\n${await sizeTable(code)}\n` : '';
  expect(bytes, table).toBeLessThanOrEqual(limit);
});

test('the table names what a bundle consists of', async () => {
  const code = "export { createClient } from '@millrace/client';";
  const table = (await sizeTable(code, 3)).split('\n');
  expect(table).toHaveLength(5);
  expect(table[0]).toMatch(/^ +[\d.]+ KB {2}at the start, [\d.]+ KB on demand$/);
  const { bytes, parts } = await bundleSize(code);
  expect(parts.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['packages/core/src/fold', 'packages/client/src/stream']),
  );
  expect(Math.round(parts.reduce((sum, part) => sum + part.bytes, 0))).toBe(bytes);
});

type Start = Pick<typeof import('@millrace/agent'), 'createAgent' | 'defineTool'> &
  Pick<typeof import('@millrace/providers'), 'anthropic'>;

let folder: string | undefined;
let start: Promise<Start> | undefined;

/**
 * Imports the code that loads at the start. Its folder does not contain the code that loads on
 * demand.
 */
function importStart(): Promise<Start> {
  start ??= (async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-start-'));
    const file = join(folder, 'start.mjs');
    await writeFile(file, await startCode(agentWith('anthropic')));
    return import(/* @vite-ignore */ pathToFileURL(file).href);
  })();
  return start;
}

afterAll(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true });
});

/** Returns an answer of the Messages API with one content block. */
function answer(block: object, delta: object, stop: string): Response {
  const events = [
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ];
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  return new Response(body.join(''), { headers: { 'content-type': 'text/event-stream' } });
}

test('the code that loads at the start is enough for a run with a tool and its events', async () => {
  const { createAgent, defineTool, anthropic } = await importStart();
  const answers = [
    answer(
      { type: 'tool_use', id: 't1', name: 'weather', input: {} },
      { type: 'input_json_delta', partial_json: '{"city":"Bern"}' },
      'tool_use',
    ),
    answer({ type: 'text', text: '' }, { type: 'text_delta', text: 'Sunny' }, 'end_turn'),
  ];
  const fetch = async () => answers.shift() ?? Response.error();
  const weather = defineTool({
    name: 'weather',
    description: 'Returns the weather of a city.',
    input: z.object({ city: z.string() }),
    execute: async () => 'sunny',
  });
  const provider = anthropic({ model: 'claude-sonnet-5', apiKey: 'test', fetch });
  const run = createAgent({ provider, tools: [weather] }).run('What is the weather in Bern?');
  const types = new Set<string>();
  for await (const { type } of run.events) types.add(type);
  expect(await run.text()).toBe('Sunny');
  expect([...types]).toEqual(expect.arrayContaining(['assistant_text_delta', 'run_finished']));
});

test('an error is a network error if the code that classifies errors cannot load', async () => {
  const { createAgent, anthropic } = await importStart();
  const fetch = async () => {
    throw new TypeError('fetch failed');
  };
  const provider = anthropic({ model: 'claude-sonnet-5', apiKey: 'sk-secret-key-of-test', fetch });
  const agent = createAgent({ provider, retry: { maxAttempts: 1 } });
  const { reason, stop, ...result } = await agent.run('Hello').result;
  expect({ reason, cause: stop.cause }).toEqual({ reason: 'error', cause: 'network' });
  const { error } = result as { readonly error?: { readonly message: string } };
  expect(error?.message).toMatch(/could not be loaded. Check the network/);
  expect(JSON.stringify(error)).not.toContain('secret');
});
