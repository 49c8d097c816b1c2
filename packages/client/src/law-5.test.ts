import { countingIds, liveTranscript, sessionId } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import type { ServedAgent } from '@millrace/server';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../core/src/testing/runs.ts';
import { CuttingProxy } from '../../server/src/testing/cutting-proxy.ts';
import { appendBatches, recordedRun } from '../../server/src/testing/recorded-run.ts';
import { type Client, createClient } from './create-client.ts';
import { eventually } from './testing/eventually.ts';
import { serving } from './testing/serving.ts';

const listener: ServedAgent = { type: 'async', name: 'listener', onEvent: async () => {} };

async function stage() {
  const log = memoryLog();
  const { port, client } = await serving([listener], { log });
  return {
    log,
    newTask: async () => (await client().createTask({ agent: 'listener' })).id,
    through: async (id: string) => (await log.info(sessionId(id)))?.through ?? 0,
    uncut: async (id: string) => liveTranscript(await snapshot(log, sessionId(id))),
    /** Each connection is cut after this many bytes. The client reconnects immediately. */
    async behindCuts(cuts: readonly number[], use: (client: Client) => Promise<void>) {
      const proxy = await CuttingProxy.before(port);
      proxy.cutNext(...cuts);
      const url = `http://127.0.0.1:${proxy.port}`;
      const client = createClient({ url, random: () => 0 });
      await use(client);
      client.close();
      await proxy.close();
      return proxy.passed;
    },
  };
}

test('a client that is cut off at any bytes has what an uncut one has', async () => {
  const { log, newTask, behindCuts, through, uncut } = await stage();
  const id = await newTask();
  await appendBatches(log, sessionId(id), recordedRun(3, countingIds()));
  const end = await through(id);
  const expected = await uncut(id);
  const read = (cuts: readonly number[]) =>
    behindCuts(cuts, async (client) => {
      const task = client.task(id);
      const { items } = await task.until(({ state }) => state.through === end);
      expect(task.transcript).toEqual(expected);
      expect(items.map(({ parts }) => parts)).toEqual(expected.map(({ parts }) => parts));
    });
  const [length = 0] = await read([]);
  expect(length).toBeGreaterThan(2000);
  let cutOff = 0;
  const cuts = fc.array(fc.integer({ min: 0, max: length }), { minLength: 1, maxLength: 4 });
  const property = fc.asyncProperty(cuts, async (bytes) => {
    cutOff += (await read(bytes)).length - 1;
  });
  await fc.assert(property, { numRuns: runs(100) });
  expect(cutOff).toBeGreaterThanOrEqual(runs(100));
});

test('a client that is cut off while the agent speaks has what an uncut one has', async () => {
  const { log, newTask, behindCuts, through, uncut } = await stage();
  const cuts = fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 20 });
  const between = () => new Promise<void>((resolve) => setImmediate(resolve));
  const property = fc.asyncProperty(cuts, async (bytes) => {
    const id = await newTask();
    await behindCuts(bytes, async (client) => {
      const task = client.task(id);
      const shown: number[] = [];
      task.subscribe(() => shown.push(task.snapshot().state.through));
      await appendBatches(log, sessionId(id), recordedRun(2, countingIds()), { between });
      const end = await through(id);
      await eventually(() => task.snapshot().state.through === end);
      expect(task.transcript).toEqual(await uncut(id));
      expect(shown).toEqual(shown.toSorted((a, b) => a - b));
    });
  });
  await fc.assert(property, { numRuns: runs(20) });
});
