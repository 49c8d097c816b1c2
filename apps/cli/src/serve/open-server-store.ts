import { randomBytes } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMillraceError, MillraceError } from '@millrace/core';
import type { Bus, Log } from '@millrace/log';
import type { Rows } from '@millrace/server';
import type { ServeArgs } from '../contract/args.ts';
import type { Env } from '../contract/host.ts';
import { makeFolder } from '../make-folder.ts';
import { OpenResources } from '../store/open-resources.ts';
import { ensurePrivateFile, storePath } from '../store/open-store.ts';
import { readOrCreatePrivateFile } from './private-file.ts';

/** Minimum length of the secret from which keys are derived. */
const minSecretLength = 32;

/**
 * Opens the store and the bus of a server. If `--store` is a Postgres URL, the store is that
 * database. Otherwise the store is a folder.
 */
export async function openServerStore(
  args: Pick<ServeArgs, 'store' | 'data' | 'bus' | 'chain'>,
  env: Env,
  note: (problem: string) => void,
): Promise<ServerStore> {
  const store = args.store ?? env['MILLRACE_SERVER_STORE'];
  const busUrl = args.bus ?? env['MILLRACE_SERVER_BUS'];
  if (store !== undefined && args.data !== undefined) throw twoStoresError();
  const isPostgres = /^postgres(?:ql)?:\/\//i.test(store ?? '');
  // A mistyped URL must not be used as a folder name, because error messages would show its
  // password.
  if (!isPostgres && looksLikeUrl(store ?? args.data ?? '')) throw unknownStoreError();
  await using opened = new OpenResources();
  const bus = busUrl === undefined ? undefined : await openBus(busUrl, note);
  if (bus !== undefined) opened.defer(() => bus.bus.close());
  const logOptions = { bus: bus?.bus, chain: args.chain };
  const data = isPostgres
    ? await openPostgres(store ?? '', env, logOptions)
    : await openDataFolder(store ?? args.data, env, logOptions);
  opened.defer(() => data.close());
  const all = opened.move();
  // `all` closes in reverse order, so the log closes before its bus.
  return { ...data, path: `${data.path}${bus?.words ?? ''}`, close: () => all.disposeAsync() };
}

async function openBus(
  url: string,
  note: (problem: string) => void,
): Promise<{ readonly bus: Bus; readonly words: string }> {
  const { redisBus } = await import('@millrace/log/redis');
  let isStarted = false;
  const onDiagnostic = ({ message }: { readonly message: string }) => isStarted && note(message);
  const bus = redisBus({ url, onDiagnostic });
  // If the bus has no write access, this is reported at the start, and not at the first write.
  const problem = await bus.usable().then(
    () => undefined,
    (error: unknown) => (isCommandRefused(error) ? error : busUnavailable(bus.name)),
  );
  if (problem !== undefined) {
    await bus.close();
    throw problem;
  }
  isStarted = true;
  return { bus, words: `, with a bus to other servers through Redis at ${bus.name}` };
}

/** Options of the log of a server. */
interface ServerLogOptions {
  readonly bus: Bus | undefined;
  readonly chain: boolean;
}

async function openPostgres(
  url: string,
  env: Env,
  logOptions: ServerLogOptions,
): Promise<ServerStore> {
  const secret = secretFromEnv(env);
  const [{ postgresLog }, { postgresRows }] = await Promise.all([
    import('@millrace/log/postgres'),
    import('@millrace/server/postgres'),
  ]);
  await using opened = new OpenResources();
  const log = postgresLog({ url, ...logOptions });
  opened.defer(() => log.close());
  // The errors of `ready` contain the host, the database, and advice.
  await log.ready();
  const rows = await postgresRows({ url });
  opened.defer(() => rows.close());
  const all = opened.move();
  const path = `Postgres at ${databaseName(url)}`;
  return {
    path,
    log,
    rows,
    secret,
    folder: () => defaultPath(env),
    close: () => all.disposeAsync(),
  };
}

/** Returns true if Redis answers but rejects a command. */
function isCommandRefused(error: unknown): error is MillraceError {
  return isMillraceError(error) && error.place['command'] !== undefined;
}

function busUnavailable(name: string): MillraceError {
  const message = `Cannot use the bus: Redis at ${name} does not answer, or rejects this user. Start it, choose another with --bus <url>, or remove --bus`;
  return new MillraceError('no_bus', message, { bus: name });
}

/**
 * Returns true if a text looks like a URL. A scheme has at least two letters, because a single
 * letter is a Windows drive.
 */
function looksLikeUrl(text: string): boolean {
  return /^[a-z][a-z0-9+]+:/i.test(text);
}

/**
 * Returns the secret from the environment. All servers must have the same secret. Without it, keys
 * are derived from the token.
 */
function secretFromEnv(env: Env): string | undefined {
  const secret = env['MILLRACE_SECRET'];
  if (secret === undefined || secret.length >= minSecretLength) return secret;
  const message = `Cannot use MILLRACE_SECRET: it has ${secret.length} characters. Use at least ${minSecretLength} random characters, the same for all servers`;
  throw new MillraceError('bad_secret', message);
}

/** Returns the host and the database of a URL, without the user and the password. */
function databaseName(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host || 'localhost'}${pathname}`;
}

function twoStoresError(): MillraceError {
  const message = 'Cannot use two stores: use --store or --data, not both';
  return new MillraceError('bad_store', message);
}

function unknownStoreError(): MillraceError {
  const message =
    'Cannot use this store: --store takes a folder or postgres://user@host:5432/database';
  return new MillraceError('bad_store', message);
}

/** The storage of a server. */
export interface ServerStore {
  /** The location of the store, for messages. */
  readonly path: string;
  readonly log: Log;
  readonly rows: Rows;
  /**
   * The secret from which the keys of remote agents are derived. If undefined, the token is used.
   */
  readonly secret: string | undefined;
  /**
   * Returns the folder for data that only the owner of the server may read. It may not exist yet.
   */
  readonly folder: () => string;
  close(): Promise<void>;
}

/**
 * Opens the data folder of a server. If the folder is missing, it is created, and only its owner
 * can read it.
 */
async function openDataFolder(
  given: string | undefined,
  env: Env,
  logOptions: ServerLogOptions,
): Promise<ServerStore> {
  const path = given ?? defaultPath(env);
  const [{ sqliteLog }, { sqliteRows }] = await Promise.all([
    import('@millrace/log/sqlite'),
    import('@millrace/server/sqlite'),
  ]);
  await using opened = new OpenResources();
  try {
    makeFolder(path);
    const files = { log: join(path, 'sessions.db'), rows: join(path, 'tasks.db') };
    await Promise.all([ensurePrivateFile(files.log), ensurePrivateFile(files.rows)]);
    const secret = await readSecret(join(path, 'secret'));
    const log = sqliteLog({ path: files.log, ...logOptions });
    opened.defer(() => log.close());
    const rows = sqliteRows({ path: files.rows });
    opened.defer(() => rows.close());
    const all = opened.move();
    return { path, log, rows, secret, folder: () => path, close: () => all.disposeAsync() };
  } catch (error) {
    throw unusableFolder(path, error);
  }
}

function unusableFolder(path: string, cause: unknown): MillraceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const message = `Cannot store data in ${path}: ${why}. Choose another folder with --data <dir>`;
  return new MillraceError('bad_data_folder', message, { path }, { cause });
}

function defaultPath(env: Env): string {
  try {
    return join(dirname(storePath({}, env)), 'server');
  } catch (cause) {
    throw noHomeError(cause);
  }
}

function noHomeError(cause: unknown): MillraceError {
  const message =
    'Cannot find a folder for sessions and tasks: neither XDG_DATA_HOME nor HOME is set. Choose one with --data <dir>';
  return new MillraceError('no_home', message, {}, { cause });
}

/**
 * Reads the secret from which the keys of remote agents are derived. If it does not exist, it is
 * created. So it stays the same after a restart.
 */
async function readSecret(path: string): Promise<string> {
  const make = () => randomBytes(32).toString('base64url');
  const { text: secret, isExposed } = await readOrCreatePrivateFile(path, make);
  if (isExposed) await chmod(path, 0o600);
  if (secret.length >= minSecretLength) return secret;
  const message = `the secret file ${path} is damaged. Delete it; remote agents get new keys when they register again`;
  throw new MillraceError('bad_secret', message, { path });
}
