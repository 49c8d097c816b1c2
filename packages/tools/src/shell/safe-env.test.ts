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

test('values that look like secrets are not passed on, with a name of the list either', () => {
  const secrets = {
    PIP_INDEX_URL: 'https://me:hush@packages.example/simple',
    GOPROXY: 'https://direct.example,https://token@goproxy.example',
    TZ: 'postgres://me:hush@db/x',
    CC: 'sk-ant-api03-abcdefghijklmnopqrst',
    CXX: `ghp_${'a1'.repeat(18)}`,
    AR: `AKIA${'A1'.repeat(8)}`,
    LD: '-----BEGIN OPENSSH PRIVATE KEY-----\nabc',
    CI: `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(20)}`,
  };
  expect(safeEnv(secrets)).toEqual({});
  expect(safeEnv(secrets, { allow: ['TZ'] })).toEqual({ TZ: secrets.TZ });
});

test('a proxy is passed on only without a password', () => {
  const plain = { HTTPS_PROXY: 'http://proxy:8080', http_proxy: 'http://c' };
  const secret = { HTTP_PROXY: 'http://me:hush@proxy:8080', all_proxy: 'http://token@c' };
  expect(safeEnv({ ...plain, ...secret })).toEqual(plain);
});

test('the closed list is passed on, in any letter case', () => {
  const plain = own(['PATH', 'HOME', 'LANG', 'lc_ctype', 'TERM', 'TMPDIR', 'TZ', 'CI']);
  const listed = { ...plain, LC_ALL: 'C' };
  const tools = own(['NVM_DIR', 'CARGO_HOME', 'GOPATH', 'JAVA_HOME', 'VIRTUAL_ENV', 'no_proxy']);
  expect(safeEnv({ ...listed, ...tools })).toEqual({ ...listed, ...tools });
});

test('a variable that is not in the list is passed on only if it is allowed by name', () => {
  const others = own(['MONKEY', 'BASE_URL', 'SSH_AUTH_SOCK', 'PROMPT_COMMAND', 'LC_', 'XPATH']);
  expect(safeEnv(others)).toEqual({});
  expect(safeEnv(others, { allow: ['MONKEY'] })).toEqual({ MONKEY: 'x' });
});

test('a secret is passed on if it is allowed by name or set', () => {
  const env = { A_TOKEN: 'a', B_TOKEN: 'b', C: undefined };
  expect(safeEnv(env, { allow: ['A_TOKEN'], set: { D_TOKEN: 'd' } })).toEqual({
    A_TOKEN: 'a',
    D_TOKEN: 'd',
  });
});

test.each([
  ...[
    'zh_CN.GBK',
    'zh_CN.GB18030',
    'zh_TW.BIG5',
    'zh_TW',
    'ja_JP.SJIS',
    'ko_KR.johab',
    'japanese.sjis',
  ],
  ...['ja_JP.eucJP', 'x.UTF-8.GBK', '/tmp/x'],
])(
  '18.782: attack: in the locale %s, bash reads a backslash as a part of a character',
  (locale) => {
    for (const name of ['LC_ALL', 'LC_CTYPE', 'LANG'])
      expect(safeEnv({ [name]: locale, LANG: locale })['LC_ALL']).toBe('C.UTF-8');
    const both = safeEnv({ LC_ALL: '', LC_CTYPE: locale, LANG: 'C' });
    expect(both['LC_ALL']).toBe('C.UTF-8');
  },
);

test.each(['C', 'POSIX', '', 'C.UTF-8', 'de_DE.utf8', 'de_DE.ISO-8859-15@euro', 'ru_RU.KOI8-R'])(
  'the locale %j is kept',
  (locale) => {
    expect(safeEnv({ LC_ALL: locale, LANG: 'zh_CN.GBK' })).toEqual(
      locale === ''
        ? { LC_ALL: 'C.UTF-8', LANG: 'zh_CN.GBK' }
        : { LC_ALL: locale, LANG: 'zh_CN.GBK' },
    );
  },
);

test('a user can set another locale for commands', () => {
  const set = { LC_ALL: 'zh_CN.GBK' };
  expect(safeEnv({ LANG: 'C' }, { set })['LC_ALL']).toBe('zh_CN.GBK');
});
