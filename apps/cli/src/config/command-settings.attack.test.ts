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
    expect(sandbox?.hide).toEqual(expect.arrayContaining([join(home, 'diary'), ...hide]));
  },
);
