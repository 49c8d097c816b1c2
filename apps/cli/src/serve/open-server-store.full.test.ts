import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  describeOnPostgres,
  startPostgres,
  type TestPostgres,
} from '../../../../packages/log/src/testing/start-postgres.ts';
import {
  describeWithRedis,
  needsRedis,
  startRedis,
  type TestRedis,
} from '../../../../packages/log/src/testing/start-redis.ts';
import { runCommand } from '../command/run-command.ts';
import { exitCodes } from '../exit-code.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { serveProcess } from '../testing/serve-process.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

const folder = temporaryFolder('store');

/** Runs a server that must refuse to start and end by itself. */
async function refused(flags: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const argv = ['serve', '--port', '0', ...flags];
  const host = { argv, env: { HOME: folder(), ...env }, cwd: folder(), stdin: new PassThrough() };
  const signal = new AbortController().signal;
  const code = await runCommand({ ...host, stdout, stderr, signal });
  expect(code).toBe(exitCodes.error);
  return stdout.text + stderr.text;
}

describe('millrace serve names what is not there, without what nobody should see', () => {
  const secret = 's3cret-word';

  test('a Postgres that does not answer: host and database', async () => {
    const words = await refused(['--store', `postgres://me:${secret}@127.0.0.1:1/shop`]);
    expect(words).toContain('Postgres at 127.0.0.1:1/shop');
    expect(words).not.toContain(secret);
  });

  test('a Redis that does not answer: host and database', async () => {
    const bus = `redis://me:${secret}@127.0.0.1:1/3`;
    const words = await refused(['--data', join(folder(), 'data'), '--bus', bus]);
    expect(words).toContain('Cannot use the bus: Redis at 127.0.0.1:1/3 does not answer');
    expect(words).not.toContain(secret);
  });

  test.each([
    [['--store', `mysql://me:${secret}@host/db`], {}, '--store takes a folder or postgres://'],
    [['--store', `POSTGRES://me:${secret}@127.0.0.1:1/db`], {}, 'Postgres at 127.0.0.1:1/db'],
    [['--store', `postgres:/me:${secret}@host/db`], {}, '--store takes a folder or postgres://'],
    [['--store', `Mysql:me:${secret}@host/db`], {}, '--store takes a folder or postgres://'],
    [['--data', `postgres://me:${secret}@host/db`], {}, '--store takes a folder or postgres://'],
    [['--store', 'a', '--data', 'b'], {}, 'use --store or --data, not both'],
    [['--bus', `http://me:${secret}@host`], {}, 'Write it as redis://host:6379/0'],
    [['--data', 'b'], { MILLRACE_SERVER_STORE: 'a' }, 'use --store or --data, not both'],
    [
      ['--store', 'postgres://host/db'],
      { MILLRACE_SECRET: secret },
      'Cannot use MILLRACE_SECRET: it has 11',
    ],
  ])('%j', async (flags, env, expected) => {
    const words = await refused(flags, env);
    expect(words).toContain(expected);
    expect(words).not.toContain(secret);
  });
});

describeWithRedis()('millrace serve says before it serves that it may not write to the bus', () => {
  const secret = 's3cret-word';
  const onBus = async ({ url }: TestRedis, user: string) => {
    const bus = url.replace('redis://', `redis://${user}:${secret}@`);
    const words = await refused(['--data', join(folder(), 'data'), '--bus', bus]);
    expect(words).not.toContain(secret);
    expect(words).not.toContain('listens on');
    return words;
  };

  test('of a replica', async () => {
    const redis = await startRedis(['--replicaof', '127.0.0.1 1']);
    onTestFinished(() => redis.stop());
    await redis.ask('ACL', 'SETUSER', 'me', 'on', `>${secret}`, '~*', '+@all');
    expect(await onBus(redis, 'me')).toContain(
      `Cannot use Redis at 127.0.0.1:${redis.port}/0 as a bus: it refuses XADD (READONLY)`,
    );
  });

  test('of others, for whom it leaves nothing there', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const rights = ['~millrace:*', '+info', '+@read', '+xadd', '+set'];
    await redis.ask('ACL', 'SETUSER', 'me', 'on', `>${secret}`, ...rights);
    expect(await onBus(redis, 'me')).toContain('it refuses PEXPIRE (NOPERM)');
    expect(await redis.ask('DBSIZE')).toBe(0);
  });
});

needsRedis(describeOnPostgres())('millrace serve on Postgres and Redis', () => {
  let postgres: TestPostgres;
  let redis: TestRedis;

  beforeAll(async () => {
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  });
  afterAll(async () => {
    await postgres?.remove();
    await redis?.stop();
  });

  test('two of them are one service: what is said at one is streamed by the other', async () => {
    const flags = ['--port', '0', '--store', postgres.url, '--bus', redis.url];
    const [one, other] = await Promise.all([
      serveProcess(flags, folder()),
      serveProcess(flags, folder()),
    ]);
    // Both servers started at the same time and use the same token.
    expect(other.token).toBe(one.token);
    const headers = { authorization: `Bearer ${one.token}` };
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const post = (url: string, method: string, params: object) =>
      fetch(`${url}/agents/name/echo/rpc`, {
        ...{ method: 'POST', headers: { ...headers, 'content-type': 'application/json' } },
        body: JSON.stringify({ method, params }),
      });
    await post(one.url, 'task/create', { name: 'shared' });
    const stream = await fetch(`${other.url}/tasks/name/shared/stream?view=events`, {
      headers,
      signal: stop.signal,
    });
    const content = { type: 'text', author: 'user', content: 'one two' };
    const answer = await post(one.url, 'message/send', { task_name: 'shared', content });
    expect(answer.status).toBe(200);
    let told = '';
    for await (const bytes of stream.body ?? []) {
      told += Buffer.from(bytes).toString();
      if (told.includes('two') && told.includes('run_finished')) break;
    }
    for (const { output } of [one, other]) {
      expect(output.stdout).toMatch(/stored in Postgres at 127\.0\.0\.1:\d+\/postgres, with a bus/);
      expect(output.stdout + output.stderr).not.toContain('s3cret-word');
    }
    const ends = await Promise.all([one.end('SIGTERM'), other.end('SIGTERM')]);
    expect(ends).toEqual([{ code: exitCodes.done }, { code: exitCodes.done }]);
  });
});
