import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent, defineTool, type Observer } from '@millrace/agent';
import { type Log, memoryLog } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { openaiChat } from '@millrace/providers';
import { z } from 'zod';
import { floor } from '../floor.ts';
import { baseUrl, fetchOf } from '../injected-fetch.ts';
import { drive } from '../log/drive.ts';
import { measure, printRow } from '../measure.ts';
import { textWorkload } from '../workloads.ts';
import { callReads } from './call-reads.ts';
import { streamMany } from './many-sessions.ts';

const plan = { rounds: 5, warmUps: 2 };

/** Measures what the agent loop adds to provider, log and fold. */
export async function compareAgent(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const log = sqliteLog({ path: join(folder, 'agent.db') });
  try {
    console.log('\nA whole run: a call, its tool, then 20,000 text deltas; every event consumed');
    const { reads, title } = textWorkload();
    const inMemory = memoryLog();
    const [floorMs = 0, layersMs = 0, memoryMs = 0, sqliteMs = 0] = await measure(
      [
        () => floor(reads),
        () => drive(inMemory, reads),
        () => run(inMemory, reads),
        () => run(log, reads),
      ],
      plan,
    );
    printRow(`F1: ${title}`, floorMs, floorMs, '');
    printRow('provider, memory log, fold and events: the layers below', layersMs, floorMs, '');
    printRow(
      'agent.run on the memory log',
      memoryMs,
      floorMs,
      `${(memoryMs / layersMs).toFixed(2)} × the layers`,
    );
    printRow(
      'agent.run on the SQLite log',
      sqliteMs,
      floorMs,
      `${(sqliteMs / layersMs).toFixed(2)} × the layers`,
    );
    await streamMany();
  } finally {
    await log.close();
    rmSync(folder, { recursive: true });
  }
}

const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }) },
  execute: async ({ at }) => `${at} is there`,
});

async function run(log: Log, reads: readonly Uint8Array[]): Promise<void> {
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
