import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { MillraceError } from '@millrace/core';
import type { Bus, Log } from '@millrace/log';
import type { Rows } from '@millrace/server';
import type { Env } from '../models/env.ts';
import { makePrivateFile } from '../store/private-file.ts';
import { storePath } from '../store/store-path.ts';

/** All that a server keeps. */
export interface Data {
  /** Where that is, for people. */
  readonly path: string;
  readonly log: Log;
  readonly rows: Rows;
  /** What keys of remote agents follow from; from the token, where there is none. */
  readonly secret: string | undefined;
  close(): Promise<void>;
}

/** Opens the folder of a server, which is made if there is none, for its owner alone. */
export async function openData(given: string | undefined, env: Env, bus?: Bus): Promise<Data> {
  const path = given ?? defaultPath(env);
  const [{ sqliteLog }, { sqliteRows }] = await Promise.all([
    import('@millrace/log/sqlite'),
    import('@millrace/server/sqlite'),
  ]);
  await using opened = new AsyncDisposableStack();
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const files = { log: join(path, 'sessions.db'), rows: join(path, 'tasks.db') };
    await Promise.all([makePrivateFile(files.log), makePrivateFile(files.rows)]);
    const secret = await secretIn(join(path, 'secret'));
    const log = sqliteLog({ path: files.log, bus });
    opened.defer(() => log.close());
    const rows = sqliteRows({ path: files.rows });
    opened.defer(() => rows.close());
    const all = opened.move();
    return { path, log, rows, secret, close: () => all.disposeAsync() };
  } catch (error) {
    throw unusable(path, error);
  }
}

function unusable(path: string, cause: unknown): MillraceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const message = `Cannot keep anything in ${path}: ${why}. Name another folder with --data <dir>`;
  return new MillraceError('bad_data_folder', message, { path }, { cause });
}

function defaultPath(env: Env): string {
  try {
    return join(dirname(storePath({}, env)), 'server');
  } catch (cause) {
    throw homeless(cause);
  }
}

function homeless(cause: unknown): MillraceError {
  const message =
    'Cannot find a place for sessions and tasks: neither XDG_DATA_HOME nor HOME is set. Say where with --data <dir>';
  return new MillraceError('no_home', message, {}, { cause });
}

const shortest = 32;

/** What the keys of remote agents follow from: the same from start to start. */
async function secretIn(path: string): Promise<string> {
  const made = randomBytes(32).toString('base64url');
  try {
    await writeFile(path, `${made}\n`, { flag: 'wx', mode: 0o600 });
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  await chmod(path, 0o600);
  const secret = (await readFile(path, 'utf8')).trim();
  if (secret.length >= shortest) return secret;
  const message = `its file ${path} is damaged. Delete it: remote agents get new keys when they register again`;
  throw new MillraceError('bad_secret', message, { path });
}
