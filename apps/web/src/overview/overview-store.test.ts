import type { Client, TaskDigest, TaskFilter, TaskSummary } from '@millrace/client';
import { TestClock } from '@millrace/log/suite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { settled } from '../../../../packages/client/src/testing/settled.ts';
import { OverviewStore } from './overview-store.ts';

interface Others {
  /** The working tasks. They are older than the latest tasks. */
  readonly working?: readonly string[];
  readonly failed?: readonly string[];
  /** The tasks that wait for an approval, a subset of `working`. */
  readonly waiting?: readonly string[];
}

/** Creates a fake server with these tasks. It records the requests. */
function setUp(
  ids: readonly string[],
  states: Readonly<Record<string, TaskDigest['state']>> = {},
  { working = [], failed = [], waiting = [] }: Others = {},
) {
  const clock = new TestClock();
  const requests: string[] = [];
  const server = { isBroken: false, isVisible: true, most: 0, going: 0 };
  const respond = <T>(what: string, value: T): T => {
    requests.push(what);
    if (server.isBroken) throw new Error('away');
    return value;
  };
  const summaries = (of: readonly string[]) => of.map((id) => ({ id }) as TaskSummary);
  const byStatus = { FAILED: failed, TIMED_OUT: [] } as Readonly<Record<string, readonly string[]>>;
  const client = {
    tasks: async ({ status }: TaskFilter) => ({
      data: summaries(
        respond(status ?? 'list', status === undefined ? ids : (byStatus[status] ?? [])),
      ),
      next: undefined,
    }),
    task: (id: string) => ({
      digest: async () => {
        requests.push(id);
        server.going++;
        server.most = Math.max(server.most, server.going);
        await Promise.resolve();
        server.going--;
        if (id === 'gone') throw new Error('gone');
        return { task_id: id, state: states[id] ?? 'idle' } as TaskDigest;
      },
    }),
  } as unknown as Client;
  const get = async () =>
    respond('work', [
      ...ids.map((id) => ({ id, is_at_work: false })),
      ...working.map((id) => ({ id, is_at_work: true, awaits_approval: waiting.includes(id) })),
    ]);
  const isVisible = () => server.isVisible;
  const store = new OverviewStore({ client, api: { get }, clock, isVisible });
  const unsubscribe = store.subscribe(() => {});
  onTestFinished(unsubscribe);
  const takeRequests = () => requests.splice(0);
  const pass = async (ms: number) => {
    await clock.advance(ms);
    await settled();
  };
  return { pass, server, store, unsubscribe, takeRequests, clock };
}

const lists = ['list', 'FAILED', 'TIMED_OUT', 'work'];
const many = Array.from({ length: 50 }, (_, index) => `t${index}`);

describe('the overview', () => {
  test('lists every task with its digest, and deleted tasks without one', async () => {
    const { pass, store } = setUp(['a', 'gone', 'b']);
    await pass(100);
    const { isLoaded, tasks } = store.now();
    expect(isLoaded).toBe(true);
    expect(tasks.map(({ task, digest }) => [task.id, digest?.state])).toEqual([
      ['a', 'idle'],
      ['gone', undefined],
      ['b', 'idle'],
    ]);
  });

  test('limits concurrent requests, and then reads only tasks that may have changed', async () => {
    const { pass, server, takeRequests } = setUp(many, { t40: 'running' });
    await pass(100);
    expect(takeRequests().filter((one) => !lists.includes(one))).toHaveLength(50);
    expect(server.most).toBeLessThanOrEqual(4);
    await pass(5000);
    expect(takeRequests().toSorted()).toEqual([...lists, ...many.slice(0, 12), 't40'].toSorted());
  });

  test('sends no requests while it is hidden or has no listeners', async () => {
    const { pass, server, takeRequests, unsubscribe } = setUp(['a']);
    await pass(100);
    takeRequests();
    server.isVisible = false;
    await pass(20_000);
    expect(takeRequests()).toEqual([]);
    server.isVisible = true;
    unsubscribe();
    await pass(20_000);
    expect(takeRequests()).toEqual([]);
  });

  test('keeps its data when the server is away, reports the error and retries', async () => {
    const { pass, server, store } = setUp(['a']);
    await pass(100);
    server.isBroken = true;
    await pass(5000);
    expect(store.now()).toMatchObject({ isLoaded: true, error: new Error('away') });
    expect(store.now().tasks).toHaveLength(1);
    server.isBroken = false;
    await pass(5000);
    expect(store.now().error).toBeUndefined();
  });

  test('finds running and failed tasks of any age', async () => {
    const { pass, store } = setUp(many, { old: 'waiting' }, { working: ['old'], failed: ['lost'] });
    await pass(100);
    const { tasks, others } = store.now();
    expect(tasks).toHaveLength(50);
    expect(others.map(({ task, digest }) => [task.id, digest?.state])).toEqual([
      ['old', 'waiting'],
      ['lost', 'idle'],
    ]);
  });

  test('reports when the data was read', async () => {
    const { pass, server, store, clock } = setUp(['a']);
    await pass(100);
    await pass(5000);
    const readAt = clock.now();
    expect(store.now().readAt).toBe(readAt);
    server.isBroken = true;
    await pass(20_000);
    expect(store.now().readAt).toBe(readAt);
  });

  test('the limit never drops a task that waits for an approval', async () => {
    const working = Array.from({ length: 70 }, (_, index) => `w${index}`);
    const { pass, store } = setUp(['a'], {}, { working, waiting: ['w69'] });
    await pass(100);
    const { others, isTruncated } = store.now();
    expect([others[0]?.task.id, others.length, isTruncated]).toEqual(['w69', 50, true]);
  });

  test('an idle task is read again as soon as it works', async () => {
    const working: string[] = [];
    const { pass, takeRequests } = setUp(many, {}, { working });
    await pass(100);
    takeRequests();
    await pass(5000);
    expect(takeRequests()).not.toContain('t40');
    working.push('t40');
    await pass(5000);
    expect(takeRequests()).toContain('t40');
  });
});
