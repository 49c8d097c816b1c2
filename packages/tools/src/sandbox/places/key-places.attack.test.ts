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

test.for([
  ...['.lessfilter', '.forward', '.config/user-dirs.dirs', '.xinputrc', '.config/pulse/default.pa'],
  ...[
    '.local/share/gnome-shell/extensions/a/extension.js',
    '.local/share/dbus-1/services/a.service',
  ],
  ...['.config/autostart-scripts/a.sh', '.vnc/xstartup', '.rustup/toolchains/stable/bin/rustc'],
  ...['.local/share/pnpm/npm', '.npm/_npx/x/node_modules/.bin/tool', '.lein/profiles.clj'],
  ...['.local/share/uv/tools/x/bin/x', '.local/share/pipx/venvs/x/bin/x', 'miniconda3/bin/python'],
  ...['.config/bat/config', '.gradle/init.gradle', '.gradle/init.d/a.gradle'],
  ...['.pyenv/versions/3.12/bin/python'],
])('18.785: attack: a command changes ~/%s', (name) => {
  const path = join(homedir(), name);
  const { startUp } = keyPlaces({});
  expect(startUp.some((place) => place === path || path.startsWith(place + sep))).toBe(true);
});
