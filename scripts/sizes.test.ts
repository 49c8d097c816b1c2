import { expect, test } from 'vitest';
import { bundleSize, sizeTable } from './packages/bundle-size.ts';

const agentWith = (provider: string) =>
  `export { createAgent, defineTool } from '@millrace/agent'; export { ${provider} } from '@millrace/providers';`;

const kilobyte = 1024;

/**
 * The largest sizes of the code that loads at the start: minified, compressed with gzip, in bytes. The aim
 * of an agent with one provider is 80 KB, which is not reached. Its limits are the sizes of today with room
 * for a few hundred bytes, so that they only fall. Before you raise one, look for code that can load on
 * demand: `import()` in an asynchronous function.
 */
const limits: readonly (readonly [what: string, limit: number, code: string])[] = [
  ['agent and anthropic', 93.5 * kilobyte, agentWith('anthropic')],
  ['agent and gemini', 93.5 * kilobyte, agentWith('gemini')],
  ['agent and openaiChat', 97.5 * kilobyte, agentWith('openaiChat')],
  ['agent and openaiResponses', 100.5 * kilobyte, agentWith('openaiResponses')],
  [
    'client and React hooks',
    22 * kilobyte,
    "export { createClient } from '@millrace/client'; export * from '@millrace/client/react';",
  ],
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
    expect.arrayContaining(['packages/core/src/fold', 'eventsource-parser']),
  );
  expect(Math.round(parts.reduce((sum, part) => sum + part.bytes, 0))).toBe(bytes);
});
