import { LogError } from '../../contract/log-error.ts';
import { decodeUrlPart } from '../../engine/check-options.ts';

/** A Postgres database and schema, with a name for messages that contains no secrets. */
export interface Target {
  /** The kind of data that is stored there, for error messages. Example: "a log". */
  readonly what: string;
  readonly url: string;
  /** Host, port and database, without user and password. */
  readonly name: string;
  readonly schema: string;
  /** Texts that error messages must not contain, such as the password. */
  readonly secrets: readonly string[];
}

const schemaPattern = /^[a-z_][a-z0-9_]{0,40}$/;

/**
 * Checks a URL and a schema name and returns the target. `what` names the stored data in error messages.
 */
export function targetOf(what: string, url: string, schema: string): Target {
  const parsed = typeof url === 'string' ? URL.parse(url) : null;
  const isPostgres = parsed?.protocol === 'postgres:' || parsed?.protocol === 'postgresql:';
  if (parsed === null || !isPostgres) throw invalidUrl(what);
  if (isTruncated(parsed)) throw unescapedUrl(what);
  if (typeof schema !== 'string' || !schemaPattern.test(schema)) throw invalidSchema();
  const { hostname, port, pathname, password, searchParams } = parsed;
  const host = hostname || searchParams.get('host') || 'localhost';
  const name = `${host}${port === '' ? '' : `:${port}`}${pathname}`;
  const given = [password, decodeUrlPart(password), searchParams.get('password') ?? ''];
  return { what, url, name, schema, secrets: given.filter((secret) => secret !== '') };
}

/** Replaces secrets in a text with `***`. */
export function withoutSecrets(text: string, { secrets }: Pick<Target, 'secrets'>): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}

/**
 * Returns whether the URL contains unescaped special characters. The parser would then end the password too
 * early, and messages would show the rest of the password as the host.
 */
function isTruncated({ hash, pathname }: URL): boolean {
  return hash !== '' || pathname.includes('@') || pathname.lastIndexOf('/') > 0;
}

function unescapedUrl(what: string): LogError {
  const message = `Cannot use the url for ${what}: write @ / # ? as %40 %2F %23 %3F in its user, password and database`;
  return new LogError('bad_option', message);
}

function invalidUrl(what: string): LogError {
  const message = `Cannot use the url for ${what}: write it as postgres://user:password@host:5432/database`;
  return new LogError('bad_option', message);
}

function invalidSchema(): LogError {
  const message =
    'Cannot use this schema: its name must have 1 to 41 lower case letters, digits and underscores, and must not begin with a digit';
  return new LogError('bad_option', message);
}
