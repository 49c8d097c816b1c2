import { expect, test } from 'vitest';
import { safeEnv } from './safe-env.ts';

const own = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'x']));

test('what looks like a secret is not passed on, in any case of letters', () => {
  const secrets = [
    'OPENAI_API_KEY',
    'API_KEY',
    'APIKEY',
    'STRIPE_KEY',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_ACCESS_KEY_ID',
    'AWS_SESSION_TOKEN',
    'GITHUB_TOKEN',
    'TOKEN',
    'TOKEN_FILE',
    'npm_config__authToken',
    'CLIENT_SECRET',
    'secret',
    'DB_PASSWORD',
    'PGPASSWORD_FILE_PASSWD',
    'SMTP_PASS',
    'GITHUB_PAT',
    'GOOGLE_APPLICATION_CREDENTIALS',
    'SSH_PRIVATE_KEY',
    'DATABASE_URL',
    'APP_REDIS_URL',
    'MYSQL_PWD',
  ];
  expect(safeEnv(own(secrets))).toEqual({});
});

test('everything else is', () => {
  const others = own([
    'PATH',
    'HOME',
    'PWD',
    'OLDPWD',
    'SSH_AUTH_SOCK',
    'SSH_ASKPASS',
    'KEYBOARD_LAYOUT',
    'TOKENIZERS_PARALLELISM',
    'LANG',
    'MONKEY',
    'BASE_URL',
  ]);
  expect(safeEnv(others)).toEqual(others);
});

test('a secret is passed on where it is allowed by name, or set', () => {
  const env = { A_TOKEN: 'a', B_TOKEN: 'b', C: undefined };
  expect(safeEnv(env, { allow: ['A_TOKEN'], set: { D_TOKEN: 'd' } })).toEqual({
    A_TOKEN: 'a',
    D_TOKEN: 'd',
  });
});
