import { type ChildProcess, type SpawnSyncOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { buildOnce } from '../../../../scripts/process-folder.ts';
import { storeTmpdir } from '../../../core/src/testing/store-tmpdir.ts';
import { freePort, isRequirementMissing } from './external-programs.ts';

/** A Postgres server for tests, in a temporary folder. */
export interface TestPostgres {
  readonly url: string;
  readonly port: number;
  /** Deletes a schema. Many schemas have many files, which would make `remove` slow. */
  dropSchema(schema: string): Promise<void>;
  /** Stops the server as an administrator would. This ends all connections. */
  stop(): Promise<void>;
  /** Stops the server without a clean shutdown, as after a power failure. */
  crash(): Promise<void>;
  /** Kills only the main process. The other processes end a little later, so `start` may fail at first. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Stops the server and deletes its data. */
  remove(): Promise<void>;
}

const missing = 'Postgres is not installed, and these tests need it: npm run test:setup';

const folder = ['postgres', ...globSync('/usr/lib/postgresql/*/bin/postgres')]
  .filter((path) => spawnSync(path, ['--version']).status === 0)
  .map((path) => dirname(path))[0];

export const hasPostgres: boolean = folder !== undefined;

/**
 * Returns `describe` for tests that need Postgres. If Postgres is missing, the tests are skipped with a
 * warning.
 */
export function describeOnPostgres(): (name: string, tests: () => void) => void {
  return isRequirementMissing(hasPostgres, missing) ? describe.skip : describe;
}

/** Starts a Postgres server. With `isSafe: true`, every commit is synced to the disk. Default: false. */
export async function startPostgres({ isSafe = false } = {}): Promise<TestPostgres> {
  const home = mkdtempSync(join(storeTmpdir(), 'millrace-postgres-'));
  const user = unprivileged();
  if (user.uid !== undefined && user.gid !== undefined) chownSync(home, user.uid, user.gid);
  const data = join(home, 'data');
  // Copying the files takes a twentieth of the time of creating a new cluster. The copy keeps the owner.
  run('cp', ['-a', join(buildOnce('millrace-postgres', createCluster), 'data'), data]);
  const port = await freePort();
  let server: ChildProcess | undefined;
  const start = async () => {
    server = await startServer(data, port, user, isSafe);
  };
  const end = async (signal: NodeJS.Signals) => {
    if (server === undefined || server.exitCode !== null) return;
    const gone = once(server, 'exit');
    server.kill(signal);
    await gone;
  };
  await start();
  const url = `postgres://millrace:s3cret-word@127.0.0.1:${port}/postgres`;
  return {
    url,
    port,
    start,
    async dropSchema(schema) {
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      await client.end();
    },
    stop: () => end('SIGINT'),
    crash: () => end('SIGQUIT'),
    kill: () => end('SIGKILL'),
    async remove() {
      await end('SIGQUIT');
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Creates the files of an empty server. All servers of a test run start with a copy of them. */
function createCluster(folder: string): void {
  const user = unprivileged();
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const cluster = ['-D', join(folder, 'data'), '-U', 'millrace', '-A', 'trust'];
  const rules = ['-E', 'UTF8', '--locale=C', '--no-sync'];
  run(programOf('initdb'), [...cluster, ...rules], { ...user, cwd: folder });
}

function run(program: string, args: readonly string[], options: SpawnSyncOptions = {}): void {
  const { status, error, stderr } = spawnSync(program, args, { ...options, stdio: 'pipe' });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${error ?? stderr}`);
}

async function startServer(
  data: string,
  port: number,
  user: Owner,
  isSafe: boolean,
): Promise<ChildProcess> {
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `fsync=${isSafe ? 'on' : 'off'}`,
    'max_connections=200',
  ];
  const args = ['-D', data, '-p', String(port), ...settings.flatMap((one) => ['-c', one])];
  const stdio = ['ignore', 'ignore', 'pipe'] as const;
  const server = spawn(programOf('postgres'), args, { ...user, cwd: data, stdio: [...stdio] });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-4000);
      if (output.includes('ready to accept connections')) resolve();
    });
    server.on('exit', (code) => reject(new Error(`Postgres ended with ${code}: ${output}`)));
  });
  return server;
}

export interface Owner {
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Returns the user id and group id for the server. If the tests run as root, it returns those of `nobody`,
 * because Postgres refuses to run as root.
 */
export function unprivileged(): Owner {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string) => Number(spawnSync('id', [flag, 'nobody']).stdout.toString());
  return { uid: idOf('-u'), gid: idOf('-g') };
}

function programOf(name: string): string {
  return folder === undefined || folder === '.' ? name : join(folder, name);
}

/**
 * Starts a Postgres server for the tests of a file. Returns a function that returns the server, or throws
 * if Postgres is missing.
 */
export function usePostgres(): () => TestPostgres {
  let server: TestPostgres | undefined;
  beforeAll(async () => {
    if (hasPostgres) server = await startPostgres();
  });
  afterAll(() => server?.remove());
  return () => {
    if (server === undefined) throw new Error('Postgres is not installed');
    return server;
  };
}
