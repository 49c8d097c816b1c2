export interface ShellEnv {
  /** Names that are passed on although they look like secrets. */
  readonly allow?: readonly string[] | undefined;
  /** Variables to set, whatever they are called. */
  readonly set?: Readonly<Record<string, string>> | undefined;
}

/** Names whose values nobody should read. By whole words, so that KEYBOARD and TOKENIZERS stay. */
const secretForms: readonly RegExp[] = [
  /(?:^|_)(?:AUTH)?(?:TOKENS?|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)/,
  /(?:^|_)(?:API|ACCESS|SECRET|PRIVATE|SIGNING|ENCRYPTION)_?KEYS?(?:_|$)/,
  /(?:^|_)(?:KEY|AUTH|COOKIE|PAT|PASS)$|_PWD$/,
  // These have a password in them as a rule.
  /(?:^|_)(?:DATABASE|REDIS|MONGO(?:DB)?|POSTGRES(?:QL)?|MYSQL|AMQP|SENTRY)_(?:URL|URI|DSN)$/,
];

function looksSecret(name: string): boolean {
  return secretForms.some((form) => form.test(name.toUpperCase()));
}

/** What a command gets of this process's environment: all but what looks like a secret. */
export function safeEnv(
  own: Readonly<Record<string, string | undefined>>,
  { allow = [], set = {} }: ShellEnv = {},
): Record<string, string> {
  const passed = Object.entries(own).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (allow.includes(entry[0]) || !looksSecret(entry[0])),
  );
  return { ...Object.fromEntries(passed), ...set };
}
