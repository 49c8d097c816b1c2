import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { freePort, isRequirementMissing } from './external-programs.ts';
import { hasPostgres, type Owner, type TestPostgres, unprivileged } from './start-postgres.ts';

const missing =
  'Postgres or PgBouncer is not installed, and these tests need it: npm run test:setup';

// Debian installs PgBouncer in a folder that is not in the PATH of most users.
const program = ['pgbouncer', '/usr/sbin/pgbouncer'].find(
  (path) => spawnSync(path, ['--version']).status === 0,
);

/** True if Postgres and PgBouncer are installed. */
export const hasPgBouncer: boolean = hasPostgres && program !== undefined;

/**
 * Returns `describe` for tests that need PgBouncer. If PgBouncer is missing, the tests are skipped with a
 * warning.
 */
export function describeOnPgBouncer(): (name: string, tests: () => void) => void {
  return isRequirementMissing(hasPgBouncer, missing) ? describe.skip : describe;
}

/** A PgBouncer in transaction mode in front of a Postgres server. */
export interface TestPgBouncer {
  readonly url: string;
  /** Stops PgBouncer, which ends all connections, and starts it again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts PgBouncer with a few connections to the server, so that its clients share them. All settings
 * except the pool mode are defaults, as most users have them.
 */
export async function startPgBouncer(server: TestPostgres): Promise<TestPgBouncer> {
  const home = mkdtempSync(join(tmpdir(), 'millrace-pgbouncer-'));
  const port = await freePort();
  const { username, password, pathname } = new URL(server.url);
  const settings = [
    ...['[databases]', `* = host=127.0.0.1 port=${server.port}`, '[pgbouncer]'],
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir ='],
    ...['auth_type = trust', `auth_file = ${join(home, 'users.txt')}`],
    ...['pool_mode = transaction', 'default_pool_size = 4', 'max_client_conn = 500'],
  ];
  const file = join(home, 'pgbouncer.ini');
  writeFileSync(file, `${settings.join('\n')}\n`);
  writeFileSync(join(home, 'users.txt'), `"${username}" "${password}"\n`);
  const user = unprivileged();
  if (user.uid !== undefined && user.gid !== undefined) chownSync(home, user.uid, user.gid);
  let child = await startProgram(file, user);
  const end = async () => {
    const gone = child.exitCode === null ? once(child, 'exit') : undefined;
    child.kill('SIGTERM');
    await gone;
  };
  return {
    url: `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`,
    async restart() {
      await end();
      child = await startProgram(file, user);
    },
    async stop() {
      await end();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function startProgram(file: string, user: Owner): Promise<ChildProcess> {
  const child = spawn(program ?? '', [file], { ...user, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-4000);
      if (output.includes('process up')) resolve();
    });
    child.on('exit', (code) => reject(new Error(`PgBouncer ended with ${code}: ${output}`)));
  });
  return child;
}

/**
 * Starts PgBouncer for the tests of a file. Returns a function that returns it, or throws if it is missing.
 */
export function usePgBouncer(server: () => TestPostgres): () => TestPgBouncer {
  let pooler: TestPgBouncer | undefined;
  beforeAll(async () => {
    if (hasPgBouncer) pooler = await startPgBouncer(server());
  });
  afterAll(() => pooler?.stop());
  return () => {
    if (pooler === undefined) throw new Error('PgBouncer is not installed');
    return pooler;
  };
}
