import type { ConnectionOptions } from 'node:tls';
import { LogError } from '../contract/log-error.ts';
import { decoded } from '../rules/decoded.ts';

/** What a URL says, and what it cannot. */
export interface RedisConnection {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** Of a socket of this machine. */
  readonly path?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly db?: number | undefined;
  readonly tls?: ConnectionOptions | undefined;
}

/** A server to connect to, and what it may be called where others read it: no user, no password. */
export interface RedisTarget {
  readonly connection: RedisConnection;
  readonly name: string;
}

/** Of `redis://user:password@host:6379/0`, `rediss://…` or the path of a socket, and of what is given besides. */
export function redisTarget(url: string | undefined, given: RedisConnection = {}): RedisTarget {
  const connection = { ...(url === undefined ? {} : ofUrl(url)), ...given };
  const { host = '127.0.0.1', port = 6379, path, db = 0 } = connection;
  return { connection, name: path ?? `${host}:${port}/${db}` };
}

function ofUrl(text: string): RedisConnection {
  if (text.startsWith('/')) return { path: text };
  // What is wrong with it is not said: it may be the password.
  if (!URL.canParse(text)) throw badUrl('it is no URL');
  const url = new URL(text);
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') throw badUrl('its kind is another');
  if (url.hash !== '') throw badUrl('in user and password write # as %23');
  const db = url.pathname.slice(1);
  if (!/^\d{0,4}$/.test(db)) throw badUrl('its path is no number of a database');
  return {
    host: url.hostname === '' ? '127.0.0.1' : url.hostname.replace(/^\[|\]$/g, ''),
    ...(url.port === '' ? {} : { port: Number(url.port) }),
    ...(url.username === '' ? {} : { username: decoded(url.username) }),
    ...(url.password === '' ? {} : { password: decoded(url.password) }),
    ...(db === '' ? {} : { db: Number(db) }),
    ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

function badUrl(why: string): LogError {
  const message = `Cannot use the URL of the Redis bus: ${why}. Give it as redis://host:6379/0`;
  return new LogError('bad_option', message);
}
