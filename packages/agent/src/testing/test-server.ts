import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { openaiChat } from '@millrace/providers';
import {
  type AnswerOptions,
  type ScriptedReply,
  type ScriptedServer,
  startScriptedServer,
  type WireAnswer,
} from '@millrace/providers/scripted-server';
import { afterEach, beforeEach, expect } from 'vitest';
import { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import type { Run } from '../contract/run.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { defineTool } from '../tool/define-tool.ts';

export const session = sessionId('s');

const read = defineTool({
  ...{ name: 'read', description: 'Reads a file', input: z.object({ path: z.string() }) },
  execute: async ({ path }) => `the contents of ${path}`,
});
const now = defineTool({
  ...{ name: 'now', description: 'The time', input: z.object({}) },
  execute: async () => 'a quarter past nine',
});

/** A scripted model server and log files. */
interface TestServer {
  url(): string;
  reply(reply: ScriptedReply): void;
  answer(answer: WireAnswer, options?: AnswerOptions): void;
  requests(): ScriptedServer['requests'];
  /** Creates an agent that uses the server by Chat Completions and has the tools `read` and `now`. */
  createAgent(options?: Partial<AgentOptions>): Agent;
  /** Opens two logs on the same file, as two processes would. */
  twoLogs(): [Log, Log];
}

/** Starts a server and a folder before each test of the file, and removes them afterwards. */
export function useTestServer(): TestServer {
  let [server, folder] = [undefined as never as ScriptedServer, ''];
  let open: Log[] = [];
  beforeEach(async () => {
    server = await startScriptedServer();
    folder = mkdtempSync(join(tmpdir(), 'agent-stage-'));
  });
  afterEach(async () => {
    await Promise.all(open.map((log) => log.close()));
    open = [];
    await server.close();
    rmSync(folder, { recursive: true });
  });
  return {
    url: () => server.url,
    reply: (reply) => server.reply(reply),
    answer: (answer, options) => server.answer(answer, options),
    requests: () => server.requests,
    createAgent: (options) => {
      const provider = openaiChat({ model: 'm', baseUrl: server.url, preset: 'compatible' });
      const retry = { baseDelayMs: 1 };
      return createAgent({ provider, tools: [read, now], retry, ...options });
    },
    twoLogs: () => {
      const path = join(folder, 'log.db');
      const logs: [Log, Log] = [sqliteLog({ path }), sqliteLog({ path })];
      open.push(...logs);
      return logs;
    },
  };
}

/** Reads events until the assistant's text equals `text`. */
export async function readUntilText({ events }: Run, text: string): Promise<void> {
  let received = '';
  for await (const event of events) {
    if (event.type === 'assistant_text_delta') received += event.text;
    if (received === text) return;
  }
  expect.fail(`it said ${JSON.stringify(received)}`);
}
