import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderWith } from '../testing/test-agent.ts';
import { loadConfig } from './load-config.ts';

// A hostile project contains a millrace.json that the user has not trusted.

test.for([
  ['an empty list', []],
  ['another list', ['/nowhere']],
] as const)(
  'attack 23: %s of an untrusted project does not show what the user hides',
  async ([, hide]) => {
    const outer = folderWith({
      'home/.config/millrace/config.json': JSON.stringify({ sandbox: { hide: ['~/diary'] } }),
      'project/.git/HEAD': 'ref: refs/heads/main\n',
      'project/millrace.json': JSON.stringify({ sandbox: { hide } }),
    });
    const home = join(outer, 'home');
    const { sandbox } = await loadConfig({
      args: {},
      env: { HOME: home },
      cwd: join(outer, 'project'),
    });
    expect(sandbox?.hide).toContain(join(home, 'diary'));
  },
);

test.for(['/bin/sh', '/usr/bin', '~/.nvm', '/proc/self/cwd/.git/config'])(
  'attack: an untrusted project does not hide %s',
  async (path) => {
    const outer = folderWith({
      'project/.git/HEAD': 'ref: refs/heads/main\n',
      'project/millrace.json': JSON.stringify({ sandbox: { profile: 'read-only', hide: [path] } }),
    });
    const env = { HOME: join(outer, 'home') };
    const load = (args = {}) => loadConfig({ args, env, cwd: join(outer, 'project') });
    const { sandbox, untrusted } = await load();
    const own = [join(outer, 'home/.config/millrace'), join(outer, 'home/.local/share/millrace')];
    expect(untrusted?.parts).toEqual(['sandbox']);
    expect(sandbox).toMatchObject({ profile: 'read-only', hide: own });
    expect((await load({ trust: true })).sandbox?.hide).toHaveLength(own.length + 1);
  },
);
