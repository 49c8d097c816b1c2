import { emptyState, foldBatch, liveTranscript, sessionId } from '@millrace/core';
import { TestClock } from '@millrace/log/suite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { recordedRun } from '../../../server/src/testing/recorded-run.ts';
import type { TaskHandle } from '../contract/task-handle.ts';
import { createClient } from '../create-client.ts';
import { systemClock } from '../http/timing.ts';
import { frame, numbered } from '../testing/batches.ts';
import { FakeServer } from '../testing/fake-server.ts';
import { settled } from '../testing/settled.ts';
import type { WakeUp } from './wake-ups.ts';

const batches = numbered(recordedRun(1));
const [first = expect.fail(), second = expect.fail(), third = expect.fail()] = batches;
const all = batches.map(frame).join('');

const whole = liveTranscript(
  batches.reduce((state, batch) => foldBatch(state, batch).state, emptyState(sessionId('t'))),
);

interface Stage {
  readonly server: FakeServer;
  readonly clock: TestClock;
  readonly task: TaskHandle;
  /** The random numbers for the next delays. */
  readonly draws: number[];
  wake(what: WakeUp): void;
}

function stage(options: { readonly isWatched?: boolean } = {}): Stage {
  const server = new FakeServer();
  const clock = new TestClock();
  const draws: number[] = [];
  let wake: (what: WakeUp) => void = () => {};
  const client = createClient({
    ...{ url: 'http://server.test', fetch: server.fetch, clock },
    random: () => draws.shift() ?? 0.5,
    wakeUps: (listener) => {
      wake = listener;
      return () => {
        wake = () => {};
      };
    },
  });
  const task = client.task('t');
  if (options.isWatched !== false) task.subscribe(() => {});
  onTestFinished(() => client.close());
  return { server, clock, task, draws, wake: (what) => wake(what) };
}

const connectionOf = (task: TaskHandle) => task.snapshot().connection;

describe('a stream', () => {
  test('begins without a cursor, and goes on from its own after a cut', async () => {
    const { server, clock, task } = stage();
    const one = await server.next();
    expect([one.url.pathname, one.url.search]).toEqual(['/tasks/t/stream', '?view=records']);
    one.open(frame(first) + frame(second));
    await settled();
    expect(connectionOf(task)).toEqual({ state: 'live' });
    one.break();
    await settled();
    await clock.advance(1000);
    const two = await server.next();
    expect(two.from).toBe(String(second.through));
    two.open(batches.slice(2).map(frame).join(''));
    await settled();
    expect(task.transcript).toEqual(whole);
  });

  describe('that says where what is there ends', () => {
    const end = String(batches.at(-1)?.through);
    const open = async (server: FakeServer) => {
      const one = await server.next();
      one.open('', 'text/event-stream', { 'millrace-through': end });
      await settled();
      return one;
    };

    test('is heard of once, when all of it came', async () => {
      const { server, task } = stage({ isWatched: false });
      const heard: number[] = [];
      task.subscribe(() => heard.push(task.snapshot().state.through));
      const one = await open(server);
      for (const batch of batches) {
        one.push(frame(batch));
        await settled();
      }
      expect(heard.filter((through) => through > 0)).toEqual([Number(end)]);
      expect([task.snapshot().isCatchingUp, task.transcript]).toEqual([false, whole]);
    });

    test('is heard of on the way where that takes long, or where it breaks', async () => {
      const { server, clock, task } = stage();
      const one = await open(server);
      const heard: number[] = [];
      task.subscribe(() => heard.push(task.snapshot().state.through));
      await clock.advance(300);
      one.push(frame(first));
      await settled();
      expect([heard.at(-1), task.snapshot().isCatchingUp]).toEqual([first.through, true]);
      one.push(frame(second));
      await settled();
      expect(heard.at(-1)).toBe(first.through);
      one.break();
      await settled();
      expect([heard.at(-1), task.snapshot().isCatchingUp]).toEqual([second.through, false]);
    });
  });

  test('takes nothing of an event that was cut in the middle', async () => {
    const { server, clock, task } = stage();
    const one = await server.next();
    one.open(frame(first) + frame(second).slice(0, -1));
    await settled();
    one.end();
    await settled();
    expect(task.snapshot().state.through).toBe(first.through);
    await clock.advance(1000);
    expect((await server.next()).from).toBe(String(first.through));
  });

  test('takes what comes twice once', async () => {
    const { server, task } = stage();
    (await server.next()).open(all + all);
    await settled();
    expect(task.transcript).toEqual(whole);
    expect(connectionOf(task).state).toBe('live');
  });

  test('ends with the word of the server, and does not come back', async () => {
    const { server, clock, task } = stage();
    (await server.next()).open(`${all}event: end\ndata: {"reason":"completed"}\n\n`);
    await settled();
    await clock.advance(600_000);
    expect(connectionOf(task)).toEqual({ state: 'ended', reason: 'completed' });
    expect(server.requests).toHaveLength(1);
  });

  test('that does not fit is read again from its cursor, then from the start, then given up', async () => {
    const { server, clock, task } = stage();
    (await server.next()).open(frame(first) + frame(third));
    await settled();
    await clock.advance(1000);
    const again = await server.next();
    expect(again.from).toBe(String(first.through));
    again.open(frame(third));
    await settled();
    await clock.advance(2000);
    const anew = await server.next();
    expect(anew.from).toBe(null);
    expect(task.snapshot().items).toEqual([]);
    anew.open('data: {"nonsense":true}\n\n');
    await settled();
    expect(connectionOf(task)).toMatchObject({ state: 'failed', error: { code: 'bad_answer' } });
  });

  test('that fits after it was read again is as if nothing had been', async () => {
    const { server, clock, task } = stage();
    (await server.next()).open(frame(first) + frame(third));
    await settled();
    await clock.advance(1000);
    (await server.next()).open(batches.slice(1).map(frame).join(''));
    await settled();
    expect(task.transcript).toEqual(whole);
  });
});

describe('21.A: an end because of the row', () => {
  const begun = frame(first) + frame(second);
  const end = (more = '') => `event: end\ndata: {"reason":"failed"${more}}\n\n`;

  test('21.A: is not believed while the log has an open run, which is read on', async () => {
    const { server, clock, task } = stage();
    (await server.next()).open(begun + end());
    await settled();
    expect(task.snapshot().isRunning).toBe(true);
    expect(connectionOf(task).state).toBe('retrying');
    await clock.advance(1000);
    const two = await server.next();
    expect(two.from).toBe(String(second.through));
    two.open(batches.slice(2).map(frame).join('') + end());
    await settled();
    expect(connectionOf(task)).toEqual({ state: 'ended', reason: 'failed' });
    expect(task.transcript).toEqual(whole);
  });

  test('21.A: is believed if the server says that nobody drives the run', async () => {
    const { server, task } = stage();
    (await server.next()).open(begun + end(',"is_run_live":false'));
    await settled();
    expect(connectionOf(task)).toEqual({ state: 'ended', reason: 'failed' });
  });

  test('21.A: is believed after several tries without a new record', async () => {
    const { server, clock, task } = stage();
    for (let tries = 1; tries < 8; tries++) {
      (await server.next()).open(begun + end());
      await settled();
      const connection = connectionOf(task);
      if (connection.state !== 'retrying') return expect.fail(connection.state);
      await clock.advance(connection.nextTryAt - clock.now());
    }
    (await server.next()).open(begun + end());
    await settled();
    expect(connectionOf(task)).toEqual({ state: 'ended', reason: 'failed' });
  });

  test('21.A: of a deleted task is believed at once', async () => {
    const { server, task } = stage();
    (await server.next()).open(`${begun}event: end\ndata: {"reason":"deleted"}\n\n`);
    await settled();
    expect(connectionOf(task)).toEqual({ state: 'ended', reason: 'deleted' });
  });
});

describe('coming back', () => {
  test('waits anything up to a limit that doubles, says when, and begins anew after progress', async () => {
    const { server, clock, task, draws } = stage();
    draws.push(0.5, 1, 0.25, 1);
    for (const [failures, ms] of [
      [1, 500],
      [2, 2000],
      [3, 1000],
      [4, 8000],
    ] as const) {
      (await server.next()).break();
      await settled();
      expect(connectionOf(task)).toMatchObject({
        ...{ state: 'retrying', failures, nextTryAt: clock.now() + ms },
        error: { code: 'unreachable' },
      });
      await clock.advance(ms - 1);
      expect(server.requests).toHaveLength(failures);
      await clock.advance(1);
    }
    draws.push(1);
    const back = await server.next();
    expect(connectionOf(task)).toEqual({ state: 'connecting', failures: 4 });
    back.open(frame(first));
    await settled();
    back.end();
    await settled();
    expect(connectionOf(task)).toMatchObject({ failures: 1, nextTryAt: clock.now() + 1000 });
  });

  test('is never later than the longest wait', async () => {
    const { server, clock, task, draws } = stage();
    for (let tries = 0; tries < 12; tries++) {
      draws.push(1);
      (await server.next()).break();
      await settled();
      const { connection } = task.snapshot();
      const ms = connection.state === 'retrying' ? connection.nextTryAt - clock.now() : Number.NaN;
      expect(ms).toBe(Math.min(30_000, 1000 * 2 ** tries));
      await clock.advance(ms);
    }
  });

  test('is asked for by `retry` and by `retry-after`', async () => {
    const { server, clock, task, draws } = stage();
    draws.push(1, 0);
    const one = await server.next();
    one.open(`retry: 250\n\n${frame(first)}`);
    await settled();
    one.end();
    await settled();
    expect(connectionOf(task)).toMatchObject({ nextTryAt: clock.now() + 250 });
    await clock.advance(250);
    const busy = { message: 'Too many', error: { code: 'rate_limited' } };
    (await server.next()).json(busy, 429, { 'retry-after': '7' });
    await settled();
    expect(connectionOf(task)).toMatchObject({
      ...{ state: 'retrying', nextTryAt: clock.now() + 7000 },
      error: { code: 'rate_limited', message: 'Too many' },
    });
  });

  test('is not at once, whatever the server asks for', async () => {
    const { server, clock, task, draws } = stage();
    draws.push(1);
    const one = await server.next();
    one.open(`retry: 0\n\n${frame(first)}`);
    await settled();
    one.end();
    await settled();
    expect(connectionOf(task)).toMatchObject({ nextTryAt: clock.now() + 250 });
  });

  test('a timer of more than 24 days does not run at once', async () => {
    let hasRun = false;
    const cancel = systemClock.after(99_999_999_000, () => {
      hasRun = true;
    });
    // A timer that Node shortens to 1 ms would run before this one.
    await new Promise((resolve) => setTimeout(resolve, 5));
    cancel();
    expect(hasRun).toBe(false);
  });

  test.each([
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [410, 'gone'],
    [422, 'invalid'],
  ])('ends after a %i with the error %s', async (status, code) => {
    const { server, clock, task } = stage();
    (await server.next()).json({ message: 'No', error: { code } }, status);
    await settled();
    await clock.advance(600_000);
    expect(connectionOf(task)).toMatchObject({ state: 'failed', error: { code, status } });
    expect(server.requests).toHaveLength(1);
  });

  test.each([[500], [502], [503], [408]])('is tried after a %i of anybody', async (status) => {
    const { server, clock } = stage();
    (await server.next()).json('<html>', status);
    await settled();
    await clock.advance(1000);
    expect(server.requests).toHaveLength(2);
  });

  test('is tried after a page of somebody else, without losing what was there', async () => {
    const { server, clock, task } = stage();
    const one = await server.next();
    one.open(frame(first));
    await settled();
    one.end();
    await settled();
    for (let pages = 0; pages < 5; pages++) {
      await clock.advance(30_000);
      (await server.next()).open('<html>Please log in</html>', 'text/html');
      await settled();
    }
    expect(connectionOf(task).state).toBe('retrying');
    expect(task.snapshot().state.through).toBe(first.through);
  });

  test('after `gone` begins with nothing, when it is asked for', async () => {
    const { server, clock, task } = stage();
    const one = await server.next();
    one.open(frame(first));
    await settled();
    one.end();
    await settled();
    await clock.advance(1000);
    (await server.next()).json({ message: 'Its log is shorter' }, 410);
    await settled();
    expect(connectionOf(task).state).toBe('failed');
    task.reconnect();
    const anew = await server.next();
    expect(anew.from).toBe(null);
    anew.open(all);
    await settled();
    expect(task.transcript).toEqual(whole);
  });
});

describe('silence', () => {
  test('of 2.5 heartbeats is death; a comment is a sign of life', async () => {
    const { server, clock, task } = stage();
    const one = await server.next();
    one.open(frame(first));
    await settled();
    for (let beats = 0; beats < 5; beats++) {
      await clock.advance(30_000);
      one.push(': ping\n\n');
      await settled();
    }
    expect(connectionOf(task).state).toBe('live');
    await clock.advance(37_499);
    expect(connectionOf(task).state).toBe('live');
    await clock.advance(1);
    expect([one.isLeft, connectionOf(task)]).toMatchObject([
      true,
      { state: 'retrying', error: { code: 'silent' } },
    ]);
    await clock.advance(1000);
    expect((await server.next()).from).toBe(String(first.through));
  });

  test('before the answer is death too', async () => {
    const { server, clock, task } = stage();
    await server.next();
    await clock.advance(37_500);
    expect(connectionOf(task)).toMatchObject({ state: 'retrying', error: { code: 'silent' } });
  });
});

describe('a browser that says', () => {
  test('online has it try at once', async () => {
    const { server, clock, wake, draws } = stage();
    draws.push(1);
    (await server.next()).break();
    await settled();
    wake('offline');
    await settled();
    expect(server.requests).toHaveLength(1);
    wake('online');
    await settled();
    expect(server.requests).toHaveLength(2);
    expect(clock.now()).toBe(new TestClock().now());
  });

  test('online after offline has a live stream opened again, from where it was', async () => {
    const { server, wake } = stage();
    const one = await server.next();
    one.open(frame(first));
    await settled();
    wake('online');
    await settled();
    expect(one.isLeft).toBe(false);
    wake('offline');
    await settled();
    expect(one.isLeft).toBe(false);
    wake('online');
    await settled();
    expect([one.isLeft, server.requests[1]?.from]).toEqual([true, String(first.through)]);
  });

  test('visible, after it was frozen for an hour, has it opened again at once, and nothing is lost', async () => {
    const { server, clock, task, wake } = stage();
    const one = await server.next();
    one.open(frame(first));
    await settled();
    wake('visible');
    await settled();
    expect(one.isLeft).toBe(false);
    clock.jump(3_600_000);
    wake('visible');
    await settled();
    expect(one.isLeft).toBe(true);
    const two = await server.next();
    expect(two.from).toBe(String(first.through));
    two.open(batches.slice(1).map(frame).join(''));
    await settled();
    expect(task.transcript).toEqual(whole);
  });
});

describe('listeners', () => {
  test('open the stream when the first comes, and close it some time after the last has left', async () => {
    const { server, clock, task } = stage({ isWatched: false });
    await settled();
    expect(server.requests).toHaveLength(0);
    const leave = task.subscribe(() => {});
    const one = await server.next();
    one.open(frame(first));
    await settled();
    leave();
    await clock.advance(4000);
    const back = task.subscribe(() => {});
    await clock.advance(10_000);
    expect([one.isLeft, server.requests.length]).toEqual([false, 1]);
    back();
    await clock.advance(5000);
    expect(one.isLeft).toBe(true);
    task.subscribe(() => {});
    expect((await server.next()).from).toBe(String(first.through));
  });

  test('hear once of all that came at once, and never of nothing', async () => {
    const { server, task } = stage();
    const snapshots: unknown[] = [];
    const one = await server.next();
    one.open(frame(first));
    await settled();
    task.subscribe(() => snapshots.push(task.snapshot()));
    one.push(frame(second) + frame(third));
    await settled();
    one.push(': ping\n\n');
    one.push(frame(second));
    await settled();
    expect(snapshots).toEqual([task.snapshot()]);
    expect(task.snapshot()).toBe(snapshots[0]);
  });

  test('that are given a signal leave with it', async () => {
    const { server, task } = stage();
    let heard = 0;
    const controller = new AbortController();
    task.subscribe(() => heard++, { signal: controller.signal });
    controller.abort();
    (await server.next()).open(all);
    await settled();
    expect(heard).toBe(0);
  });

  test('hear nothing after close, and the connection is gone', async () => {
    const { server, clock, task } = stage();
    const one = await server.next();
    one.open(frame(first));
    await settled();
    task.close();
    await clock.advance(600_000);
    expect([one.isLeft, server.requests.length]).toEqual([true, 1]);
    expect(connectionOf(task)).toEqual({ state: 'ended', reason: 'closed' });
  });
});

test('a token is sent, and a function is asked for it each time', async () => {
  const server = new FakeServer();
  const clock = new TestClock();
  let count = 0;
  const token = async () => `token${++count}`;
  const client = createClient({
    url: 'http://server.test/base/',
    fetch: server.fetch,
    clock,
    token,
  });
  client.task('a task').subscribe(() => {});
  const one = await server.next();
  expect(one.url.pathname).toBe('/base/tasks/a%20task/stream');
  expect(one.headers.get('authorization')).toBe('Bearer token1');
  one.break();
  await settled();
  await clock.advance(30_000);
  expect((await server.next()).headers.get('authorization')).toBe('Bearer token2');
  client.close();
});
