import { homedir, userInfo } from 'node:os';
import { join, sep } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { keyPlaces } from './key-places.ts';

test.for([
  ...[
    '.cache/huggingface/token',
    '.kaggle/kaggle.json',
    '.databrickscfg',
    '.pulumi/credentials.json',
  ],
  ...[
    '.snowflake/connections.toml',
    '.local/share/com.vercel.cli/auth.json',
    '.config/vercel/auth.json',
  ],
  ...['.netlify/config.json', '.supabase/access-token', '.local/share/opencode/auth.json'],
  ...['.config/goose/secrets.yaml', '.aider/oauth-keys.env', '.tsh/keys/a', '.ssh-backup/id_rsa'],
  ...['.config/Code/User/globalStorage/state.vscdb', '.minikube/profiles/minikube/client.key'],
  ...[
    '.config/solana/id.json',
    '.ethereum/keystore/a',
    '.bitcoin/wallet.dat',
    '.electrum/wallets/a',
  ],
])('18.449: attack: a command reads ~/%s', (name) => {
  const path = join(homedir(), name);
  const { keys } = keyPlaces({});
  expect(keys.some((key) => key === path || path.startsWith(key + sep))).toBe(true);
});

test('18.707: attack: a command reads keys in the home folder of the account, and HOME names another folder', () => {
  vi.stubEnv('HOME', '/nowhere/home');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { keys, agent } = keyPlaces(process.env);
  const { homedir: home } = userInfo();
  for (const folder of [home, '/nowhere/home'])
    expect(keys).toEqual(expect.arrayContaining([join(folder, '.ssh'), join(folder, '.aws')]));
  expect(agent.secret).toContain(join(home, '.config/millrace'));
});
