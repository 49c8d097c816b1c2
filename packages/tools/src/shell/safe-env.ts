import type { TraceContext } from '@millrace/core';

export interface ShellEnv {
  /** Names that are passed on although they look like secrets. */
  readonly allow?: readonly string[] | undefined;
  /** Variables to set, whatever they are called. */
  readonly set?: Readonly<Record<string, string>> | undefined;
}

/** Names whose values nobody should read. By whole words, so that KEYBOARD and TOKENIZERS stay. */
const secretNames: readonly RegExp[] = [
  // These also as the end of a word: PGPASSWORD, AUTHTOKEN.
  /(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION)S?(?:_|$)/,
  /(?:^|_)(?:CREDS?|JWT|BEARER)(?:_|$)/,
  /(?:^|_)(?:API|ACCESS|SECRET|PRIVATE|SIGNING|ENCRYPTION)_?KEYS?(?:_|$)/,
  /(?:^|_)(?:KEY|AUTH|COOKIE|PAT|PW|AUTH_CONFIG)$|(?:^|_|SSH|DB)PASS$|_PWD$/,
  // These have a password in them as a rule.
  /(?:^|_)(?:DATABASE|REDIS|MONGO(?:DB)?|POSTGRES(?:QL)?|MYSQL|AMQP|SENTRY)_(?:URL|URI|DSN)$/,
  /(?:^|_)(?:CONN(?:ECTION)?_?STR(?:ING)?|WEBHOOK(?:_URL)?)$/,
];

/** Values that are secrets whatever they are called. */
const secretValues: readonly RegExp[] = [
  // An address with a password.
  /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i,
  /^(?:sk|rk|pk)[-_][\w-]{16,}$|^gh[a-z]_\w{20,}$|^github_pat_|^glpat-|^xox[a-z]-/,
  /^AKIA[A-Z0-9]{16}$|^AIza[\w-]{30,}$|^eyJ[\w-]{8,}\.eyJ[\w-]{8,}\./,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
];

function looksSecret(name: string, value: string): boolean {
  const upper = name.toUpperCase();
  if (secretNames.some((form) => form.test(upper))) return true;
  // Without the password of a proxy there is no way out for anything.
  return !upper.endsWith('_PROXY') && secretValues.some((form) => form.test(value));
}

/**
 * What a command gets of this process's environment: all but what looks like a secret. So none is shown
 * or sent by accident; who looks for them finds them, since a process may look at others of its user.
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
 * The environment with what programs that trace look for, by OpenTelemetry's convention. Nothing of
 * another trace stays in it.
 */
export function traceEnv(env: Env, trace: TraceContext | undefined): Env {
  if (trace === undefined) return env;
  const { TRACEPARENT: _parent, TRACESTATE: _state, ...rest } = env;
  const { traceparent, tracestate } = trace;
  const state = tracestate === undefined ? {} : { TRACESTATE: tracestate };
  return { ...rest, TRACEPARENT: traceparent, ...state };
}
