import { expect, test } from 'vitest';
import { safeEnv } from './safe-env.ts';

const own = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'x']));

test('names that look like secrets are not passed on, in any letter case', () => {
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
    'PGPASSWORD',
    'SSHPASS',
    'DB_PW',
    'DB_PASSWORDS',
    'ACCESSTOKEN',
    'APITOKEN',
    'SVC_CRED',
    'CREDS',
    'JWT',
    'APP_JWT',
    'BEARER',
    'AUTHORIZATION',
    'DOCKER_AUTH_CONFIG',
    'AZURE_STORAGE_CONNECTION_STRING',
    'SLACK_WEBHOOK_URL',
  ];
  expect(safeEnv(own(secrets))).toEqual({});
});

test('values that look like secrets are not passed on, with any name', () => {
  const secrets = {
    PIP_INDEX_URL: 'https://me:hush@packages.example/simple',
    STORE: 'postgres://me:hush@db/x',
    A: 'sk-ant-api03-abcdefghijklmnopqrst',
    B: `ghp_${'a1'.repeat(18)}`,
    C: `AKIA${'A1'.repeat(8)}`,
    D: '-----BEGIN OPENSSH PRIVATE KEY-----\nabc',
    E: `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(20)}`,
  };
  expect(safeEnv(secrets)).toEqual({});
  expect(safeEnv(secrets, { allow: ['STORE'] })).toEqual({ STORE: secrets.STORE });
});

test('a proxy is passed on with its password, because the network needs it', () => {
  const proxies = { HTTPS_PROXY: 'http://me:hush@proxy:8080', http_proxy: 'http://a:b@c' };
  expect(safeEnv(proxies)).toEqual(proxies);
});

test('everything else is passed on', () => {
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
    'COMPASS',
    'BYPASS',
    'SECRETARY',
    'AUTHOR',
    'JWTS_DIR_NAME',
    'CREDITS',
  ]);
  expect(safeEnv(others)).toEqual(others);
  const values = {
    URL: 'https://example.com:8080/a@b?c=d:e@f',
    TASK: 'sk-8',
    GIT: 'git@github.com:a/b.git',
    TIME: '12:30@home',
  };
  expect(safeEnv(values)).toEqual(values);
});

test('a secret is passed on if it is allowed by name or set', () => {
  const env = { A_TOKEN: 'a', B_TOKEN: 'b', C: undefined };
  expect(safeEnv(env, { allow: ['A_TOKEN'], set: { D_TOKEN: 'd' } })).toEqual({
    A_TOKEN: 'a',
    D_TOKEN: 'd',
  });
});
