import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionId, transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Randomness } from '../../../scripts/chaos/randomness.ts';
import type { TaskHandle } from '../../client/src/contract/task-handle.ts';
import { createClient } from '../../client/src/create-client.ts';
import { isFull, patientMs } from '../../core/src/testing/runs.ts';
import { describeOnPostgres } from '../../log/src/testing/start-postgres.ts';
import { needsRedis } from '../../log/src/testing/start-redis.ts';
import { clusterChaos } from './testing/cluster/chaos.ts';
import { type Cluster, startCluster } from './testing/cluster/cluster.ts';
import { clusterAgentName, expectedEnd, textOf } from './testing/cluster/cluster-agent.ts';
import { type ClusterStore, openClusterStore } from './testing/cluster/cluster-store.ts';

const kills = isFull ? 20 : 5;
const describe = needsRedis(describeOnPostgres());

describe('two servers and a worker on Postgres and Redis', () => {
  let folder: string;
  let cluster: Cluster;
  let store: ClusterStore;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cluster-'));
    cluster = await startCluster(folder);
    store = await openClusterStore(cluster.store, cluster.bus);
  });

  afterAll(async () => {
    await store?.close();
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Creates a task that a client uses on server B and a second client watches on server A. */
  async function watched(): Promise<{ readonly a: TaskHandle; readonly b: TaskHandle }> {
    const [viaA, viaB] = [cluster.a, cluster.b].map(({ url }) => createClient({ url }));
    if (viaA === undefined || viaB === undefined) throw new Error('There are two servers');
    const created = await viaB.createTask({ agent: clusterAgentName });
    const a = viaA.task(created.id);
    const stop = a.subscribe(() => {});
    onTestFinished(() => {
      stop();
      viaA.close();
      viaB.close();
    });
    return { a, b: created };
  }

  const saysNow = (task: TaskHandle) => textOf(task.transcript.at(-1));

  async function holderOf({ id }: TaskHandle): Promise<string | undefined> {
    return (await store.log.info(sessionId(id)))?.lease?.holder;
  }

  test('a run that B drives is followed through A, piece by piece, and equals the log', async () => {
    const { a, b } = await watched();
    const shown = new Set<string>();
    a.subscribe(() => shown.add(saysNow(a)));
    await b.send('hello');
    await a.until(({ items }) => items.length === 2);
    expect(await holderOf(a)).toContain(String(cluster.b.pid));
    await a.until(({ isRunning }) => !isRunning && saysNow(a) === expectedEnd('hello'));
    // The text arrived in several pieces.
    expect(shown.size).toBeGreaterThan(5);
    expect(a.transcript).toEqual(transcript(await snapshot(store.log, sessionId(a.id))));
  });

  test('a run that B drives is stopped and resumed through A', async () => {
    const { a, b } = await watched();
    await b.send('first');
    await a.until(({ items }) => items.length === 2 && saysNow(a).length > 10);
    expect(await holderOf(a)).toContain(String(cluster.b.pid));
    await a.stop();
    await a.until(({ isRunning, task }) => !isRunning && task?.status === 'INTERRUPTED');
    expect(saysNow(a)).not.toBe(expectedEnd('first'));
    await a.send('second');
    await a.until(({ isRunning }) => !isRunning && saysNow(a) === expectedEnd('second'));
  });

  test('a row change on B is sent live to clients of A', async () => {
    const { a, b } = await watched();
    await b.send('one');
    await a.until(({ items }) => items.length === 2);
    await b.stop();
    await a.until(({ task }) => task?.status === 'INTERRUPTED');
  });

  test('a run that B drives is steered through A', async () => {
    const { a, b } = await watched();
    await b.send('one');
    await a.until(({ items }) => items.length === 2 && saysNow(a).length > 10);
    expect(await holderOf(a)).toContain(String(cluster.b.pid));
    await a.send('two', { when: 'steer' });
    await a.until(({ isRunning }) => !isRunning && saysNow(a) === expectedEnd('two'));
    const text = a.transcript.filter(({ kind }) => kind === 'user').map(textOf);
    expect(text).toEqual(['one', 'two']);
  });

  test('a call that waits on B is approved through A', async () => {
    const { a, b } = await watched();
    await b.send('asking first');
    const { pendingApprovals } = await a.until((now) => now.pendingApprovals.length === 2);
    for (const { toolCallId } of pendingApprovals) await a.approve(toolCallId);
    await a.until(({ isRunning }) => !isRunning && saysNow(a) === expectedEnd('asking first'));
  });

  test(
    'after crashes and lost connections, a client of A has exactly what the log has',
    async () => {
      const seed = Number(process.env['SEED']);
      const random = new Randomness(seed);
      const rounds: string[] = [];
      const onRound = (words: string) => rounds.push(words);
      const { faults, failures, counts, ...numbers } = await clusterChaos({
        ...{ kills, random, cluster, onRound },
      });
      console.log('cluster:', JSON.stringify({ seed, ...counts, ...numbers }));
      expect([...faults.problems, ...failures], rounds.join('\n')).toEqual([]);
      expect(`${faults}`).toBe('lost 0 doubled 0 reordered 0 gaps 0 invented 0');
    },
    patientMs(900_000),
  );
});
