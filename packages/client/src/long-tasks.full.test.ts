import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { sessionStates } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { createServer } from '@millrace/server';
import { sqliteRows } from '@millrace/server/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { compaction, wordModel } from '../../agent/src/testing/message-cost-law.ts';
import { countingLog, type LogWork } from '../../log/src/testing/counting-log.ts';
import type { TaskHandle } from './contract/task-handle.ts';
import { createClient } from './create-client.ts';

/** A `fetch` that counts requests and the bytes of their answers. */
function countingFetch() {
  const count = { requests: 0, bytes: 0 };
  const counted: typeof fetch = async (...args) => {
    count.requests++;
    const { body, status, headers } = await fetch(...args);
    const counting = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        count.bytes += chunk.length;
        controller.enqueue(chunk);
      },
    });
    return new Response(body?.pipeThrough(counting) ?? null, { status, headers });
  };
  return { counted, count };
}

/** Starts a server without cached data. */
async function serve(folder: string) {
  const stored = sqliteLog({ path: join(folder, 'log.db'), commitIntervalMs: 0 });
  const { log, take } = countingLog(stored);
  sessionStates(log, { recordsPerSnapshot: 100 });
  const rows = sqliteRows({ path: join(folder, 'rows.db') });
  const agent = createAgent({ log, provider: wordModel, compaction });
  const agents = [{ type: 'loop', name: 'words', agent }] as const;
  const server = createServer({ log, rows, agents, tokens: 'none' });
  const { url } = await server.listen({ port: 0 });
  const close = async () => {
    await server.close();
    await rows.close();
    await stored.close();
  };
  return { url, take, close };
}

interface Cost extends LogWork {
  readonly requests: number;
  readonly received: number;
}

test('21.F law 18: a message costs server and client the same in a long task', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-long-tasks-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  let task: string | undefined;
  /**
   * Sends messages to a new server. Returns the costs of the first message, and the maximum costs of the
   * later messages.
   */
  const round = async (messages = 12) => {
    const { url, take, close } = await serve(folder);
    const { counted, count } = countingFetch();
    const client = createClient({ url, fetch: counted });
    const handle =
      task === undefined ? await client.createTask({ agent: 'words' }) : client.task(task);
    task = handle.id;
    const leave = handle.subscribe(() => {});
    await handle.until(({ isCatchingUp, connection }) => {
      return connection.state === 'live' && !isCatchingUp;
    });
    const costs: Cost[] = [];
    for (let message = 0; message < messages; message++) {
      take();
      const before = { ...count };
      await sendAndWait(handle);
      const { requests, bytes } = count;
      const received = bytes - before.bytes;
      costs.push({ ...take(), requests: requests - before.requests, received });
    }
    leave();
    client.close();
    await close();
    return { opening: costs[0], later: most(costs.slice(1)) };
  };
  // Sessions of up to 1,000 records are read in one step.
  await round(66);
  await round();
  const short = await round();
  await round(150);
  await round();
  const long = await round();
  for (const when of ['opening', 'later'] as const)
    for (const name of ['calls', 'records', 'bytesRead', 'requests', 'received'] as const) {
      const [before = 0, after = 0] = [short[when]?.[name], long[when]?.[name]];
      // A message with a compaction or a snapshot costs a little more than an ordinary message.
      const more = name === 'bytesRead' || name === 'received' ? 5000 : 20;
      expect(after, `${when}: ${name}`).toBeLessThanOrEqual(1.3 * before + more);
    }
});

async function sendAndWait(task: TaskHandle): Promise<void> {
  const { items } = task.snapshot();
  await task.send('How is the weather?');
  await task.until(
    ({ items: now, state }) => now.length >= items.length + 2 && state.run === undefined,
  );
}

function most(all: readonly Cost[]): Cost {
  const highest = (name: keyof Cost) => Math.max(...all.map((cost) => cost[name]));
  const [calls, records, bytesRead] = [highest('calls'), highest('records'), highest('bytesRead')];
  const [snapshotBytes, requests] = [highest('snapshotBytes'), highest('requests')];
  return { calls, records, bytesRead, snapshotBytes, requests, received: highest('received') };
}
