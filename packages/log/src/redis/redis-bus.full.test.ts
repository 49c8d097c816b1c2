import { type LogRecord, recordVersion, type SessionId, sessionId } from '@millrace/core';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { BusListener, BusNotice } from '../contract/bus.ts';
import { describeWithRedis, startRedis, type TestRedis } from '../testing/start-redis.ts';
import type { BusDiagnostic } from './bus-options.ts';
import { type RedisBus, type RedisBusOptions, redisBus } from './redis-bus.ts';

/** A stopped server is detected within this time. */
const timeoutMs = 300;
let redis: TestRedis;
let admin: Redis;
const buses: RedisBus[] = [];

function open(options: RedisBusOptions = {}): RedisBus {
  const bus = redisBus({ url: redis.url, timeoutMs, ...options });
  buses.push(bus);
  return bus;
}

/** Two connected buses. */
async function pair(options: RedisBusOptions = {}): Promise<readonly [RedisBus, RedisBus]> {
  const both = [open(options), open(options)] as const;
  await Promise.all(both.map((bus) => bus.connected(10_000)));
  return both;
}

const text = (offset: number, chunk = 'x'): LogRecord =>
  ({
    v: recordVersion,
    offset,
    time: 5,
    turn: 1,
    attempt: 1,
    producer: 'driver',
    delta: { type: 'append_text', partId: '1.1.a', at: 0, chunk },
  }) as unknown as LogRecord;

function noticeOf(session: SessionId, through: number, records: readonly LogRecord[]): BusNotice {
  const head = { made: 7, incarnation: 'abc7', rewrites: 0, changedAt: 9, isClosed: false };
  return { session, ...head, through, openWork: ['run'], queuedCommands: 1, records };
}

/** Records all calls. `until` waits for a condition. */
class Ear implements BusListener {
  readonly notices: BusNotice[] = [];
  missedTimes = 0;
  #checks = new Set<() => void>();

  notice(notice: BusNotice): void {
    this.notices.push(notice);
    for (const check of this.#checks) check();
  }

  missed(): void {
    this.missedTimes++;
    for (const check of this.#checks) check();
  }

  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (!isSo()) return;
        this.#checks.delete(check);
        resolve();
      };
      this.#checks.add(check);
      check();
    });
  }

  missedSince(times: number): Promise<void> {
    return this.until(() => this.missedTimes > times);
  }

  hears(through: number): Promise<void> {
    return this.until(() => this.notices.some((notice) => notice.through === through));
  }
}

/** After any loss, the bus delivers all later notices again. */
async function goesOn(bus: RedisBus, listener: Ear, session: SessionId): Promise<void> {
  let through = 5000;
  for (;;) {
    const missed = listener.missedTimes;
    bus.publish(noticeOf(session, ++through, []));
    const isHeard = () => listener.notices.some((notice) => notice.through > 5000);
    await listener.until(() => isHeard() || listener.missedTimes > missed);
    if (isHeard()) return;
  }
}

let names = 0;
const newSession = () => sessionId(`session ${names++}`);

async function listen(bus: RedisBus, session: SessionId): Promise<Ear> {
  const listener = new Ear();
  bus.subscribe(session, listener);
  await listener.missedSince(0);
  return listener;
}

beforeAll(async () => {
  redis = await startRedis();
  admin = new Redis(redis.port, '127.0.0.1');
  admin.on('error', () => {});
});

afterEach(async () => {
  await Promise.all(buses.splice(0).map((bus) => bus.close()));
});

afterAll(async () => {
  admin?.disconnect();
  await redis?.stop();
});

describeWithRedis()('the Redis bus', () => {
  test('delivers notices unchanged to other buses and not to itself', async () => {
    const [a, b] = await pair();
    const session = newSession();
    const [mine, other] = [await listen(a, session), await listen(b, session)];
    const first = noticeOf(session, 2, [text(1), text(2, '\ud83d\ude00 "')]);
    const second = noticeOf(session, 3, []);
    a.publish(first);
    a.publish(second);
    await other.hears(3);
    expect(other.notices).toEqual([first, second]);
    b.publish(noticeOf(session, 4, []));
    await mine.hears(4);
    expect(mine.notices).toHaveLength(1);
  });

  test('uses one connection for reading and one for writing, for any number of followers', async () => {
    const [bus, other] = await pair();
    const sessions = Array.from({ length: 40 }, newSession);
    const listeners = await Promise.all(sessions.map((session) => listen(bus, session)));
    const late = newSession();
    const lateListener = await listen(bus, late);
    for (const session of [...sessions, late]) other.publish(noticeOf(session, 1, [text(1)]));
    await Promise.all([...listeners, lateListener].map((listener) => listener.hears(1)));
    const clients = String(await admin.client('LIST'))
      .trim()
      .split('\n');
    expect(clients).toHaveLength(2 * 2 + 1);
  });

  test('does not notify removed listeners', async () => {
    const [a, b] = await pair();
    const [left, kept] = [newSession(), newSession()];
    const listener = new Ear();
    const leave = b.subscribe(left, listener);
    await listener.missedSince(0);
    leave();
    const other = await listen(b, kept);
    a.publish(noticeOf(left, 1, []));
    a.publish(noticeOf(kept, 1, []));
    await other.hears(1);
    expect(listener.notices).toEqual([]);
  });

  test('keeps streams short, lets them expire, and leaves out large records', async () => {
    const prefix = 'short:';
    const [a, b] = await pair({ prefix, maxLength: 100, maxBytes: 1000, expiresMs: 90_000 });
    const session = newSession();
    const listener = await listen(b, session);
    for (let through = 1; through <= 1000; through++)
      a.publish(noticeOf(session, through, [text(through)]));
    await listener.hears(1000);
    const key = `${prefix}log:${session}`;
    // Redis trims whole nodes of a hundred entries.
    expect(await admin.xlen(key)).toBeLessThanOrEqual(200);
    expect(await admin.pttl(key)).toBeGreaterThan(0);
    expect(await admin.pttl(key)).toBeLessThanOrEqual(90_000);
    a.publish(noticeOf(session, 1001, [text(1001, 'y'.repeat(2000))]));
    await listener.hears(1001);
    expect(listener.notices.at(-1)?.records).toEqual([]);
  });

  test('a deleted session leaves no content, and its followers read the store', async () => {
    const [a, b] = await pair({ prefix: 'gone:' });
    const session = newSession();
    const listener = await listen(b, session);
    a.publish(noticeOf(session, 1, [text(1, 'a secret')]));
    await listener.hears(1);
    const missed = listener.missedTimes;
    a.forget(session);
    await listener.missedSince(missed);
    expect(JSON.stringify(await admin.xrange(`gone:log:${session}`, '-', '+'))).not.toContain(
      'secret',
    );
    expect(await admin.pttl(`gone:log:${session}`)).toBeLessThanOrEqual(5_000);
  });

  test('an invalid entry in Redis is reported and sends followers to the store', async () => {
    const diagnostics: BusDiagnostic[] = [];
    const bus = open({ onDiagnostic: (diagnostic) => diagnostics.push(diagnostic) });
    const session = newSession();
    const key = `millrace:log:${session}`;
    const listener = await listen(bus, session);
    const head = JSON.stringify({ ...noticeOf(session, 1, []), records: undefined });
    const wrong = [
      ['what', 'ever'],
      ['from', 'x', 'head', '{', 'batch', '{}'],
      ['from', 'x', 'head', head, 'batch', '{"after":0,"through":1,"records":[]}'],
      ['from', 'x', 'head', head, 'batch', '{"after":0,"through":1,"records":[{"v":1}]}'],
      [
        'from',
        'x',
        'head',
        head.replace(session, 'other'),
        'batch',
        '{"after":1,"through":1,"records":[]}',
      ],
      [
        'from',
        'x',
        'head',
        head.replace('"made":7', '"made":-7'),
        'batch',
        '{"after":1,"through":1,"records":[]}',
      ],
    ];
    for (const fields of wrong) {
      const missed = listener.missedTimes;
      await admin.xadd(key, '*', ...fields);
      await listener.missedSince(missed);
    }
    await admin.xadd(
      key,
      '*',
      'from',
      'x',
      'head',
      head,
      'batch',
      '{"after":1,"through":1,"records":[]}',
    );
    await listener.hears(1);
    expect(listener.notices).toHaveLength(1);
    expect(diagnostics.map(({ code }) => code)).toContain('unreadable');
  });

  test('FLUSHALL: followers are sent to the store and receive later notices', async () => {
    const [a, b] = await pair();
    const session = newSession();
    const listener = await listen(b, session);
    a.publish(noticeOf(session, 1, [text(1)]));
    await listener.hears(1);
    const missed = listener.missedTimes;
    await admin.flushall();
    await listener.missedSince(missed);
    a.publish(noticeOf(session, 2, [text(2)]));
    await listener.hears(2);
  });

  test('CLIENT KILL: followers are sent to the store and receive later notices', async () => {
    const [a, b] = await pair();
    const session = newSession();
    const listener = await listen(b, session);
    const missed = listener.missedTimes;
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await listener.missedSince(missed);
    await goesOn(a, listener, session);
  });

  test('an unsent notice is sent later without records, also to followers that missed nothing', async () => {
    await admin.acl('SETUSER', 'writer', 'on', '>pass', '~*', '+@all');
    const a = open({ connection: { username: 'writer', password: 'pass' } });
    const b = open();
    const session = newSession();
    const listener = await listen(b, session);
    await a.connected(10_000);
    await admin.acl('SETUSER', 'writer', 'off');
    await admin.call('CLIENT', 'KILL', 'USER', 'writer');
    a.publish(noticeOf(session, 1, [text(1)]));
    a.publish(noticeOf(session, 2, [text(2)]));
    const missed = listener.missedTimes;
    await admin.acl('SETUSER', 'writer', 'on');
    await listener.hears(2);
    expect(listener.notices).toEqual([noticeOf(session, 2, [])]);
    expect(listener.missedTimes).toBe(missed);
  });

  test('a stopped Redis: nothing hangs or grows, followers read the store, and the bus recovers', async () => {
    const diagnostics: BusDiagnostic[] = [];
    const [a, b] = await pair({
      maxPendingBytes: 200_000,
      onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
    });
    const session = newSession();
    const listener = await listen(b, session);
    redis.kill('SIGSTOP');
    for (let through = 1; through <= 1000; through++)
      a.publish(noticeOf(session, through, [text(through, 'z'.repeat(1000))]));
    expect(a.pendingBytes).toBeLessThan(210_000);
    const missed = listener.missedTimes;
    await listener.missedSince(missed + 2);
    const third = open();
    await third.close();
    redis.kill('SIGCONT');
    await goesOn(a, listener, session);
    expect(diagnostics.map(({ code }) => code)).toEqual(
      expect.arrayContaining(['dropped', 'unreachable']),
    );
  });

  test('closes while Redis is stopped', async () => {
    const [a, b] = await pair();
    const session = newSession();
    await listen(b, session);
    redis.kill('SIGSTOP');
    a.publish(noticeOf(session, 1, [text(1)]));
    await Promise.all([a.close(), b.close()]);
    redis.kill('SIGCONT');
  });

  test('a Redis that restarts empty: followers read the store meanwhile and receive later notices', async () => {
    const [a, b] = await pair();
    const session = newSession();
    const listener = await listen(b, session);
    await redis.crash();
    const missed = listener.missedTimes;
    a.publish(noticeOf(session, 1, [text(1)]));
    await listener.missedSince(missed + 1);
    const late = newSession();
    const lateListener = new Ear();
    b.subscribe(late, lateListener);
    await lateListener.missedSince(0);
    await redis.start();
    await Promise.all([goesOn(a, listener, session), goesOn(a, lateListener, late)]);
  });

  test('a key that is not a stream does not affect other sessions', async () => {
    const [a, b] = await pair();
    const [poisoned, session] = [newSession(), newSession()];
    await admin.set(`millrace:log:${poisoned}`, 'not a stream');
    const [other, listener] = [await listen(b, poisoned), await listen(b, session)];
    await goesOn(a, listener, session);
    const missed = other.missedTimes;
    await other.missedSince(missed + 1);
    await admin.del(`millrace:log:${poisoned}`);
  });

  test('a server that refuses commands is reported once, with its reason', async () => {
    const guarded = await startRedis();
    await guarded.ask('ACL', 'SETUSER', 'reader', 'on', '>hunter2', '~other:*', '+@all');
    const url = guarded.url.replace('redis://', 'redis://reader:hunter2@');
    const diagnostics: BusDiagnostic[] = [];
    const bus = open({ url, onDiagnostic: (diagnostic) => diagnostics.push(diagnostic) });
    await bus.connected(10_000);
    const listener = new Ear();
    bus.subscribe(newSession(), listener);
    // Each refused connection sends followers to the store.
    await listener.missedSince(4);
    expect(diagnostics).toEqual([
      { code: 'unreachable', message: expect.stringContaining('(NOPERM)') },
    ]);
    await bus.close();
    await guarded.stop();
  });

  describe('is usable', () => {
    const allowed = ['+xadd', '+pexpire', '+set', '+xrevrange', '+xread'];

    /** The result of `usable` for a user with these rights. The check must store nothing. */
    async function usabilityOf(
      rights: readonly string[],
      server: TestRedis = redis,
    ): Promise<string> {
      const user = `user${names++}`;
      await server.ask('ACL', 'SETUSER', user, 'on', '>hunter2', '+info', ...rights);
      const url = server.url.replace('redis://', `redis://${user}:hunter2@`);
      const bus = open({ url, prefix: 'usable:' });
      const error = await bus.usable(10_000).then(
        () => undefined,
        (why: Error) => why,
      );
      await bus.close();
      expect(`${error?.stack} ${JSON.stringify(error)} ${error?.cause}`).not.toContain('hunter2');
      expect(await server.ask('KEYS', 'usable:*')).toEqual([]);
      return error?.message ?? 'usable';
    }

    test('by a user with exactly the named rights', async () => {
      expect(await usabilityOf(['~usable:*', ...allowed])).toBe('usable');
    });

    test.each(allowed)('not without %s', async (right) => {
      const rights = allowed.filter((other) => other !== right);
      const text = `refuses ${right.slice(1).toUpperCase()} (NOPERM)`;
      expect(await usabilityOf(['~usable:*', ...rights])).toContain(text);
    });

    test.each(['log', 'wake', 'mark'])('not without the keys of %s', async (kind) => {
      const kinds = ['log', 'wake', 'mark'].filter((other) => other !== kind);
      const keys = kinds.map((one) => `~usable:${one}:*`);
      expect(await usabilityOf([...keys, ...allowed])).toMatch(/refuses \w+ \(NOPERM\)/);
    });

    test('not on a replica', async () => {
      const replica = await startRedis(['--replicaof', '127.0.0.1 1']);
      const text = await usabilityOf(['~*', '+@all'], replica);
      expect(text).toContain(`Redis at 127.0.0.1:${replica.port}/0 as a bus: it refuses XADD`);
      expect(text).toContain('(READONLY)');
      await replica.stop();
    });

    test('not if the server does not answer', async () => {
      const gone = open({ url: 'redis://127.0.0.1:1' });
      await expect(gone.usable(1_000)).rejects.toThrow('does not answer (ECONNREFUSED)');
    });
  });

  test('a server that refuses writes sends followers to the store until it accepts them again', async () => {
    const diagnostics: BusDiagnostic[] = [];
    const [a, b] = await pair({ onDiagnostic: (diagnostic) => diagnostics.push(diagnostic) });
    const session = newSession();
    const listener = await listen(b, session);
    await admin.call('REPLICAOF', '127.0.0.1', '1');
    a.publish(noticeOf(session, 1, [text(1)]));
    await listener.missedSince(listener.missedTimes);
    await expect(a.usable()).rejects.toThrow('READONLY');
    await admin.call('REPLICAOF', 'NO', 'ONE');
    await goesOn(a, listener, session);
    expect(diagnostics.map(({ code }) => code)).toContain('dropped');
    await a.usable();
  });

  test('an error about a missing server or password does not contain the password', async () => {
    const guarded = await startRedis(['--requirepass', 'hunter2']);
    const wrong = guarded.url.replace('redis://', 'redis://:hunter3@');
    const right = guarded.url.replace('redis://', 'redis://:hunter2@');
    await open({ url: right }).connected(10_000);
    const error = await open({ url: wrong })
      .connected(2_000)
      .then(String, (why) => why);
    expect(error).toMatchObject({ code: 'storage', message: expect.stringContaining('WRONGPASS') });
    expect(`${error.stack} ${JSON.stringify(error)} ${error.cause}`).not.toContain('hunter');
    expect(error.message).toContain(`127.0.0.1:${guarded.port}`);
    await guarded.stop();
    const gone = open({ url: right }).connected(1_000);
    await expect(gone).rejects.toThrow('ECONNREFUSED');
    expect(() => redisBus({ url: 'http://:hunter2@x' })).toThrow(/^(?!.*hunter2)/);
    expect(() => redisBus({ url: 'redis://:hunter2@:x:' })).toThrow(/^(?!.*hunter2)/);
  });
});
