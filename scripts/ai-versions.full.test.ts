import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Ai from 'ai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent, defineTool, type Run } from '../packages/agent/src/index.ts';
import {
  type ScriptEntry,
  scriptedProvider,
  toolCall,
} from '../packages/providers/src/scripted/index.ts';
import { runProgram } from './packages/run-program.ts';

// The documentation states the oldest supported version of `ai`. This test installs that version
// and reads all kinds of messages with it. All other tests use the newest version.

const page = readFileSync('docs/guides/streaming.md', 'utf8');
const oldest = /Millrace supports `ai` (\d+\.\d+\.\d+) or later/.exec(page)?.[1] ?? 'none';
const { version: newest } = JSON.parse(readFileSync('node_modules/ai/package.json', 'utf8'));

let folder = '';
let ai: typeof Ai;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-ai-'));
  const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder];
  await runProgram('npm', [...install, `ai@${oldest}`, 'zod@4'], { cwd: folder });
  ai = await import(pathToFileURL(join(folder, 'node_modules/ai/dist/index.js')).href);
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a town',
  input: z.object({ town: z.string() }),
  execute: async ({ town }) => `Rain in ${town}`,
});
const asks = toolCall('weather', { town: 'Bath' });

function agentOf(script: readonly ScriptEntry[], approve: 'allow' | 'ask' = 'allow') {
  const retry = { baseDelayMs: 1 };
  const provider = scriptedProvider(script);
  const decisions = { approve: () => approve, whileAsking: 'park' } as const;
  return createAgent({ provider, tools: [weather], retry, ...decisions });
}

/** Returns the message that a client of this version shows, and its errors. */
async function read(response: Response, message?: Ai.UIMessage) {
  const transport = new ai.DefaultChatTransport({ fetch: async () => response });
  const stream = await transport.reconnectToStream({ chatId: 'c' });
  if (stream === null) throw new Error('The response has no stream');
  const errors: string[] = [];
  const onError = (error: unknown) => void errors.push(String(error));
  const from = message === undefined ? {} : { message };
  let shown: Ai.UIMessage | undefined;
  for await (const one of ai.readUIMessageStream({ stream, onError, ...from })) shown = one;
  const texts = shown?.parts.map((part) => (part.type === 'text' ? part.text : ''));
  return { message: shown, text: texts?.join(''), errors };
}

describe(`the oldest supported version of ai, ${oldest},`, () => {
  test('has the same major as the newest one', () => {
    expect(oldest.split('.')[0]).toBe(newest.split('.')[0]);
  });

  test('reads calls, results and a retry', async () => {
    const cut = { content: { parts: ['Take an'] }, fault: { type: 'cut', after: 4 } } as const;
    const run = agentOf([asks, cut, 'Take a coat.']).run('Do I need a coat?');
    expect(await read(run.toUIMessageStreamResponse())).toMatchObject({
      ...{ text: 'Take a coat.', errors: [] },
    });
  });

  test('continues a message after an approval', async () => {
    const agent = agentOf([asks, 'Take a coat.'], 'ask');
    const session = 'coats';
    const asked = await read(agent.run('A coat?', { session }).toUIMessageStreamResponse());
    for (const call of await agent.pendingApprovals(session)) await agent.approve(session, call);
    const messageId = asked.message?.id;
    const response = agent.resume(session).toUIMessageStreamResponse({ messageId });
    const { text, errors } = await read(response, asked.message);
    expect([text, asked.errors, errors]).toEqual(['Take a coat.', [], []]);
  });

  test('reads a message that the user sends during the answer', async () => {
    const steering = defineTool({
      ...{ name: 'weather', description: 'The weather', input: z.object({ town: z.string() }) },
      execute: async () => {
        await run.steer('And in Oslo?');
        return 'Rain';
      },
    });
    const provider = scriptedProvider([asks, 'Rain in both.']);
    const run: Run = createAgent({ provider, tools: [steering] }).run('The weather in Bath?');
    const { message, errors } = await read(run.toUIMessageStreamResponse());
    expect(errors).toEqual([]);
    expect(JSON.stringify(message?.parts)).toContain('And in Oslo?');
  });
});
