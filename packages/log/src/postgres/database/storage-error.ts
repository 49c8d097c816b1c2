import { isMillraceError } from '@millrace/core';
import { LogError } from '../../contract/log-error.ts';
import { type Target, withoutSecrets } from './target.ts';

const diskFull = '53100';

/**
 * Codes of errors that come from the data of one write. The storage itself works: a text is too long for an
 * index, or contains a character that Postgres cannot store.
 */
const dataErrors: Readonly<Record<string, string>> = {
  '54000': 'an id, a name or a key is too long for its indexes. Use a shorter one',
  '22021': 'a text contains a character that it cannot store. Remove the character',
  '22P05': 'a text contains a character that it cannot store. Remove the character',
};

/**
 * Explanations of system error codes and Postgres error classes. If several codes match, the longest code is
 * used.
 */
const meaningsByCode: readonly (readonly [string, string])[] = [
  ['ECONNREFUSED', 'the server does not answer; start Postgres, or check host and port'],
  ['ENOTFOUND', 'the host does not exist; check the url'],
  ['EAI_AGAIN', 'the host name cannot be resolved now; check the network'],
  ['28', 'it refused the login; check user and password'],
  ['3D', 'the database does not exist; create it, or check the url'],
  [
    '42501',
    'the user lacks a permission; grant it CREATE on the database, or the tables of the schema',
  ],
  ['42P05', 'a connection pooler was put before it; restart this program, so that it notices'],
  ['26', 'a connection pooler was put before it; restart this program, so that it notices'],
  ['42', 'its tables were changed; choose another schema, or restore a backup'],
  ['23', 'the stored data contradicts the new data; restore a backup'],
  ['25006', 'it is read-only; use the primary server'],
  [diskFull, 'the disk is full. Nothing of this write was stored; make room'],
  ['53300', 'it has no free connections; raise max_connections, or use fewer processes'],
  ['55P03', 'another process locked the session for too long; end that process, or try again'],
  ['57014', 'the query took too long; try again, or check the load of the server'],
  ['57P', 'it is shutting down or starting; try again when it runs'],
  ['54', 'the data is too large; store it in several pieces'],
];

/** Explanations of errors that have no useful code, by their message. */
const meaningsByMessage: readonly (readonly [RegExp, string])[] = [
  [/password must be a/, 'it asks for a password; give one in the url, or in PGPASSWORD'],
  [/does not support SSL/, 'it does not support TLS; enable it, or remove sslmode from the url'],
  [
    /unsupported startup parameter/,
    'the connection pooler refuses a parameter; remove it from the url, or add it to ignore_startup_parameters there',
  ],
];

/** Codes and messages that mean a lost connection, not an invalid query. */
const lossCodes =
  /^(?:ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|08\w{3}|25P03|57P0[1-5]|53300)$/;
const lossMessages =
  /connection terminated|connection error|not queryable|timeout expired|timeout exceeded|read timeout/i;

export function isConnectionLoss(error: unknown): boolean {
  if (isMillraceError(error) || meaningByMessage(error) !== undefined) return false;
  return lossCodes.test(codeOf(error)) || lossMessages.test(messageOf(error));
}

/** Returns whether two transactions conflicted. If so, the work can be retried. */
export function isSerializationFailure(error: unknown): boolean {
  const state = isMillraceError(error) ? error.place['sqlstate'] : undefined;
  return state === '40001' || state === '40P01';
}

/** Returns whether the error affects all writes and not only one job. */
export function affectsAllWrites(error: unknown): boolean {
  return isMillraceError(error) && error.place['way'] !== undefined;
}

/** Converts any error into a `LogError` without secrets. */
export function storageError(error: unknown, target: Target): Error {
  if (isMillraceError(error)) return error;
  const code = codeOf(error);
  const refusal = dataErrors[code];
  if (refusal !== undefined) {
    const text = withoutSecrets(messageOf(error), target);
    const message = `Postgres cannot store this: ${refusal}`;
    return new LogError('bad_records', message, { sqlstate: code }, { cause: new Error(text) });
  }
  const found = meaningsByCode.filter(([start]) => code.startsWith(start));
  const [, why] = found.sort(([a], [b]) => b.length - a.length)[0] ?? [];
  const text = withoutSecrets(messageOf(error), target);
  const isLost = isConnectionLoss(error);
  const otherwise = isLost ? 'the connection is lost; try again' : 'the query failed';
  const meaning = meaningByMessage(error) ?? why ?? otherwise;
  const message = `Cannot use ${target.what} in Postgres at ${target.name}: ${meaning} (${text})`;
  const place = {
    host: target.name,
    ...(isLost ? { way: 'lost' } : {}),
    ...(code === '' ? {} : { sqlstate: code }),
  };
  // The original error is not passed as the cause, because it may contain the URL with the password.
  const kind = code === diskFull ? 'storage_full' : 'storage';
  return new LogError(kind, message, place, { cause: new Error(text) });
}

/** Returns the error for a commit whose outcome is unknown. */
export function unknownOutcome(error: unknown, target: Target, cause?: unknown): LogError {
  const text = withoutSecrets(messageOf(error), target);
  const message = `Cannot find out whether the data was stored in Postgres at ${target.name}: the connection was lost during the commit (${text}). Check the stored data before you write it again`;
  return new LogError(
    'storage',
    message,
    { host: target.name, way: 'lost', outcome: 'unknown' },
    { cause },
  );
}

function meaningByMessage(error: unknown): string | undefined {
  const words = messageOf(error);
  return meaningsByMessage.find(([form]) => form.test(words))?.[1];
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
}

function messageOf(error: unknown): string {
  // The driver tried several addresses. The message contains only the last error.
  if (error instanceof AggregateError) return messageOf(error.errors.at(-1));
  return error instanceof Error ? error.message : String(error);
}
