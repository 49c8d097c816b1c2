import { isMillraceError, MillraceError } from '@millrace/core';
import type { Bus } from '@millrace/log';
import type { ServeArgs } from '../args/args.ts';
import type { Env } from '../models/env.ts';
import { type Data, openData } from './data-folder.ts';

/** Shortest text that keys may follow from. */
const shortestSecret = 32;

/**
 * Opens what a server keeps, and what tells other servers of it: in Postgres where `--store` says so,
 * else in a folder of this machine.
 */
export async function openServerStore(
  args: Pick<ServeArgs, 'store' | 'data' | 'bus'>,
  env: Env,
  note: (problem: string) => void,
): Promise<Data> {
  const store = args.store ?? env['MILLRACE_SERVER_STORE'];
  const busUrl = args.bus ?? env['MILLRACE_SERVER_BUS'];
  if (store !== undefined && args.data !== undefined) throw bothGiven();
  const isPostgres = /^postgres(?:ql)?:\/\//i.test(store ?? '');
  // A folder that is named like a URL with something amiss would show its password to everybody.
  if (!isPostgres && isLikeUrl(store ?? args.data ?? '')) throw unknownStore();
  await using opened = new AsyncDisposableStack();
  const bus = busUrl === undefined ? undefined : await openBus(busUrl, note);
  if (bus !== undefined) opened.defer(() => bus.bus.close());
  const data = isPostgres
    ? await openPostgres(store ?? '', env, bus?.bus)
    : await openData(store ?? args.data, env, bus?.bus);
  opened.defer(() => data.close());
  const all = opened.move();
  // What was opened last is closed first: the log before its bus.
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
  // One that takes no writes would else be found out by the first.
  const problem = await bus.usable().then(
    () => undefined,
    (error: unknown) => (isRefusal(error) ? error : noBus(bus.name)),
  );
  if (problem !== undefined) {
    await bus.close();
    throw problem;
  }
  isStarted = true;
  return { bus, words: `, and told to other servers through Redis at ${bus.name}` };
}

async function openPostgres(url: string, env: Env, bus: Bus | undefined): Promise<Data> {
  const secret = secretOf(env);
  const [{ postgresLog }, { postgresRows }] = await Promise.all([
    import('@millrace/log/postgres'),
    import('@millrace/server/postgres'),
  ]);
  await using opened = new AsyncDisposableStack();
  const log = postgresLog({ url, bus });
  opened.defer(() => log.close());
  // Their errors name host and database, and what to do.
  await log.ready();
  const rows = await postgresRows({ url });
  opened.defer(() => rows.close());
  const all = opened.move();
  const path = `Postgres at ${nameOf(url)}`;
  return { path, log, rows, secret, close: () => all.disposeAsync() };
}

/** It answers, and says which command it does not do. */
function isRefusal(error: unknown): error is MillraceError {
  return isMillraceError(error) && error.place['command'] !== undefined;
}

function noBus(name: string): MillraceError {
  const message = `Cannot use the bus: Redis at ${name} does not answer, or not to this user. Start it, name another with --bus <url>, or leave it out`;
  return new MillraceError('no_bus', message, { bus: name });
}

/** Two letters at least: one is a drive. */
function isLikeUrl(text: string): boolean {
  return /^[a-z][a-z0-9+]+:/i.test(text);
}

/** The same for all servers; without it keys follow from the token. */
function secretOf(env: Env): string | undefined {
  const secret = env['MILLRACE_SECRET'];
  if (secret === undefined || secret.length >= shortestSecret) return secret;
  const message = `Cannot use MILLRACE_SECRET: it has ${secret.length} characters. Take ${shortestSecret} random ones or more, the same for all servers`;
  throw new MillraceError('bad_secret', message);
}

/** Without user and password. */
function nameOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host || 'localhost'}${pathname}`;
}

function bothGiven(): MillraceError {
  const message = 'Cannot keep things in two places: give --store or --data, not both';
  return new MillraceError('bad_store', message);
}

function unknownStore(): MillraceError {
  const message =
    'Cannot keep anything there: --store takes a folder, or postgres://user@host:5432/database';
  return new MillraceError('bad_store', message);
}
