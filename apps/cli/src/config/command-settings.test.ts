import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { findSandbox } from '@millrace/tools';
import { beforeEach, describe, expect, test } from 'vitest';
import { openSandbox } from '../agent/command-sandbox.ts';
import { parseArgs } from '../args/parse-args.ts';
import type { RunArgs } from '../contract/args.ts';
import { ConfigError, UsageError } from '../contract/errors.ts';
import { checkSandbox } from '../doctor/check-sandbox.ts';
import { compileCacheFolder } from '../package-files.ts';
import { folderWith } from '../testing/test-agent.ts';
import { loadConfig } from './load-config.ts';

let home: string;
let cwd: string;
beforeEach(() => {
  home = folderWith();
  cwd = folderWith({ '.git/HEAD': '' });
});

function writeUser(settings: object): void {
  mkdirSync(join(home, '.config/millrace'), { recursive: true });
  writeFileSync(join(home, '.config/millrace/config.json'), JSON.stringify(settings));
}
const writeProject = (settings: object) =>
  writeFileSync(join(cwd, 'millrace.json'), JSON.stringify(settings));
const load = (args: Partial<RunArgs> = {}) => loadConfig({ args, env: { HOME: home }, cwd });

describe('the sandbox', () => {
  test('confines commands to the workspace by default, and hides settings and sessions', async () => {
    expect((await load()).sandbox).toEqual({
      ...{ profile: 'workspace', isRequired: false, network: false, unixSockets: false },
      writable: [],
      hide: ['.config/millrace', '.local/share/millrace', '.cache/millrace/worktrees'].map((path) =>
        join(home, path),
      ),
    });
  });

  test('hides a store that is elsewhere, with the files beside it', async () => {
    const { sandbox } = await load({ store: 'my.db' });
    expect(sandbox?.hide).toEqual(
      expect.arrayContaining([join(cwd, 'my.db'), join(cwd, 'my.db-wal'), join(cwd, 'my.db-shm')]),
    );
  });

  test('is set by the own file, and the flag comes first', async () => {
    writeUser({
      sandbox: { profile: 'read-only', network: true, writable: ['~/.cache', '/opt/x'] },
    });
    expect((await load()).sandbox).toMatchObject({
      ...{ profile: 'read-only', isRequired: true, network: true },
      writable: [join(home, '.cache'), '/opt/x'],
    });
    expect((await load({ sandbox: 'off' })).sandbox).toMatchObject({
      ...{ profile: 'off', isRequired: false },
    });
  });

  test.for([
    { profile: 'off' },
    { profile: 'workspace' },
    { network: true },
    { unixSockets: true },
    { writable: ['/etc'] },
    { profile: 'read-only', network: true },
  ])('attack: the file of a project loosens it: %j', async (sandbox) => {
    writeUser({ sandbox: { profile: 'read-only' } });
    writeProject({ sandbox });
    const config = await load();
    expect(config.untrusted?.parts).toEqual(['sandbox']);
    expect(config.sandbox).toMatchObject({
      ...{ profile: 'read-only', network: false, unixSockets: false, writable: [] },
    });
  });

  test('is tightened by the file of a project without trust', async () => {
    writeProject({ sandbox: { profile: 'read-only' } });
    const { sandbox, untrusted } = await load();
    expect(untrusted).toBeUndefined();
    expect(sandbox).toMatchObject({ profile: 'read-only' });
  });

  test('attack: the file of a project passes variables on or unmasks keys', async () => {
    writeProject({ commands: { env: ['OPENAI_API_KEY'], maskSecrets: false } });
    const { commands, untrusted } = await load();
    expect(untrusted?.parts).toEqual(['commands']);
    expect(commands).toEqual({ env: [], maskSecrets: true });
    expect((await load({ trust: true })).commands).toEqual({
      ...{ env: ['OPENAI_API_KEY'], maskSecrets: false },
    });
  });

  test.for([{ profile: 'on' }, { net: true }, { writable: ['cache'] }])(
    'refuses wrong settings: %j',
    async (sandbox) => {
      writeUser({ sandbox });
      await expect(load()).rejects.toThrow(ConfigError);
    },
  );

  test('is a flag with three values', () => {
    expect(parseArgs(['--sandbox', 'read-only'])).toMatchObject({ sandbox: 'read-only' });
    expect(() => parseArgs(['--sandbox', 'on'])).toThrow(UsageError);
  });
});

describe('where there is no sandbox', () => {
  const why = { reason: 'it is not installed', problem: 'missing' } as const;
  const missing = async () => ({ sandbox: undefined, ...why, advice: 'Install it' }) as const;

  test('commands are not confined, and the user sees it', async () => {
    expect(await openSandbox((await load()).sandbox, missing)).toEqual({
      sandbox: undefined,
      summary: 'Commands are not confined: it is not installed.',
      advice: 'Install it',
      unconfined: why,
    });
  });

  test('a sandbox that cannot run is reported with the way to switch it off', async () => {
    const failed = async () => ({ ...(await missing()), problem: 'failed' }) as const;
    const { summary, unconfined } = await openSandbox((await load()).sandbox, failed);
    expect(summary).toContain(
      'Rules for bash do not allow them. To run them so, use --sandbox off',
    );
    expect(unconfined?.problem).toBe('failed');
  });

  test('no command can change the program, its compiled code and Node.js', async () => {
    let given: unknown;
    await openSandbox((await load()).sandbox, async (options) => {
      given = options;
      return missing();
    });
    expect(given).toMatchObject({
      protect: ['millrace.json'],
      programs: expect.arrayContaining([
        join(import.meta.dirname, '..'),
        process.execPath,
        compileCacheFolder(process.env),
      ]),
    });
  });

  test('18.737: the sandbox must be able to protect the folder', async () => {
    let given: unknown;
    const find: typeof findSandbox = async (options) => {
      given = options;
      return missing();
    };
    await openSandbox((await load()).sandbox, find, [], '/w');
    expect(given).toMatchObject({ workspace: '/w' });
  });

  test('a profile that was asked for is an error', async () => {
    const { sandbox } = await load({ sandbox: 'workspace' });
    await expect(openSandbox(sandbox, missing)).rejects.toThrow(
      'Cannot confine commands: it is not installed. Install it. Or use --sandbox off',
    );
  });
});

describe('doctor', () => {
  const check = async (args: Partial<RunArgs>) => {
    const config = await load(args);
    return checkSandbox({ config } as Parameters<typeof checkSandbox>[0]);
  };

  test('warns if the sandbox is off', async () => {
    expect(await check({ sandbox: 'off' })).toMatchObject([
      { about: 'sandbox', state: 'warn', text: 'Commands are not confined: the sandbox is off.' },
    ]);
  });

  test('tells what protects the user, or what is missing', async () => {
    const [finding] = await check({});
    expect(finding?.text).toMatch(
      /^Commands run in a sandbox.*bubblewrap|^Commands are not confined/,
    );
    if (finding?.state !== 'ok') expect(finding?.advice).not.toBe('');
  });
});
