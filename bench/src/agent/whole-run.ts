import { createAgent, defineTool, type Observer } from '@millrace/agent';
import type { Log } from '@millrace/log';
import { openaiChat } from '@millrace/providers';
import { z } from 'zod';
import { baseUrl, fetchOf } from '../injected-fetch.ts';
import { callReads } from './call-reads.ts';

const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }) },
  execute: async ({ at }) => `${at} is there`,
});

/** Runs an agent once: a call, its tool, then the answer. An observer receives every event. */
export async function wholeRun(log: Log, reads: readonly Uint8Array[]): Promise<void> {
  let requests = 0;
  const answers = [callReads(), reads];
  const fetch: typeof globalThis.fetch = (...args) => fetchOf(answers[requests++] ?? [])(...args);
  const provider = openaiChat({ model: 'bench', baseUrl, fetch });
  let events = 0;
  const count: Observer = (_record, observed) => {
    events += observed.length;
  };
  const agent = createAgent({ provider, log, tools: [look], observers: [count] });
  const { stop, text } = await agent.run('Look at the port').result;
  if (stop.reason !== 'stop' || text.length < 50_000 || events < 20_000)
    throw new Error(`The run ended with ${stop.reason} after ${text.length} characters`);
}
