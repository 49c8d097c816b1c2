import type { TraceContext } from '@millrace/core';

/** Which environment variables a command gets. */
export interface ShellEnv {
  /** Names of variables to pass on although they look like secrets. Default: none. */
  readonly allow?: readonly string[] | undefined;
  /** Variables to set, regardless of their names. Default: none. */
  readonly set?: Readonly<Record<string, string>> | undefined;
}

/** Names of secrets. They match whole words, so KEYBOARD and TOKENIZERS are not secrets. */
const secretNames: readonly RegExp[] = [
  // These also match the end of a word: PGPASSWORD, AUTHTOKEN.
  /(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION)S?(?:_|$)/,
  /(?:^|_)(?:CREDS?|JWT|BEARER)(?:_|$)/,
  /(?:^|_)(?:API|ACCESS|SECRET|PRIVATE|SIGNING|ENCRYPTION)_?KEYS?(?:_|$)/,
  /(?:^|_)(?:KEY|AUTH|COOKIE|PAT|PW|AUTH_CONFIG)$|(?:^|_|SSH|DB)PASS$|_PWD$/,
  // These usually contain a password.
  /(?:^|_)(?:DATABASE|REDIS|MONGO(?:DB)?|POSTGRES(?:QL)?|MYSQL|AMQP|SENTRY)_(?:URL|URI|DSN)$/,
  /(?:^|_)(?:CONN(?:ECTION)?_?STR(?:ING)?|WEBHOOK(?:_URL)?)$/,
];

/** Values that are secrets regardless of their names. */
const secretValues: readonly RegExp[] = [
  // A URL with a password.
  /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i,
  /^(?:sk|rk|pk)[-_][\w-]{16,}$|^gh[a-z]_\w{20,}$|^github_pat_|^glpat-|^xox[a-z]-/,
  /^AKIA[A-Z0-9]{16}$|^AIza[\w-]{30,}$|^eyJ[\w-]{8,}\.eyJ[\w-]{8,}\./,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
];

function looksSecret(name: string, value: string): boolean {
  const upper = name.toUpperCase();
  if (secretNames.some((form) => form.test(upper))) return true;
  // Proxies may need a password. Without it, no program could reach the network.
  return !upper.endsWith('_PROXY') && secretValues.some((form) => form.test(value));
}

/**
 * Returns the environment for a command without variables that look like secrets. This prevents
 * accidental disclosure only: a process can inspect other processes of the same user.
 */
export function safeEnv(
  own: Readonly<Record<string, string | undefined>>,
  { allow = [], set = {} }: ShellEnv = {},
): Record<string, string> {
  const given = Object.entries(own).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const passed = given.filter(([name, value]) => allow.includes(name) || !looksSecret(name, value));
  return { ...Object.fromEntries(passed), ...set };
}

type Env = Readonly<Record<string, string>>;

/**
 * Adds the trace context in the variables that OpenTelemetry defines. Values of another trace are
 * removed.
 */
export function traceEnv(env: Env, trace: TraceContext | undefined): Env {
  if (trace === undefined) return env;
  const { TRACEPARENT: _parent, TRACESTATE: _state, ...rest } = env;
  const { traceparent, tracestate } = trace;
  const state = tracestate === undefined ? {} : { TRACESTATE: tracestate };
  return { ...rest, TRACEPARENT: traceparent, ...state };
}
