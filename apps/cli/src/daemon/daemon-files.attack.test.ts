import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { mergeSandbox } from '../config/command-settings.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { askDaemon, listenForControl } from './control-socket.ts';
import { daemonFiles } from './daemon-files.ts';
import { lockDaemon } from './daemon-lock.ts';
import { SessionProfiles } from './session-profile.ts';

const folder = temporaryFolder('daemon-files');

test('23: attack: commands in the sandbox see neither the socket nor the profiles', () => {
  const env = { HOME: folder() };
  for (const store of [undefined, join(folder(), 'other.db')]) {
    const { hide } = mergeSandbox({ layers: [], args: {}, env, store });
    const { folder: own, socket } = daemonFiles({ store }, env);
    expect(socket.startsWith(own)).toBe(true);
    expect(hide.some((path) => own === path || own.startsWith(`${path}/`))).toBe(true);
  }
});

test('23: attack: a damaged profile does not give a session looser rules', async () => {
  const place = join(folder(), 'profiles');
  const profiles = new SessionProfiles(place);
  await profiles.write('abc', {
    cwd: '/x',
    args: { permissions: 'read-only' },
    isHandedOver: true,
  });
  expect(statSync(join(place, 'abc.json')).mode & 0o777).toBe(0o600);
  expect(await profiles.read('abc')).toMatchObject({ args: { permissions: 'read-only' } });
  for (const text of ['{"cwd":', '{"cwd":"/x","isHandedOver":true,"args":{"permissions":"all"}}']) {
    writeFileSync(join(place, 'abc.json'), text);
    await expect(profiles.read('abc')).rejects.toMatchObject({ code: 'bad_profile' });
  }
});

test.each(['../../escape', 'a/b', '.', ''])(
  '23: attack: the session id %j does not leave the folder of the profiles',
  async (session) => {
    const profiles = new SessionProfiles(join(folder(), 'profiles'));
    const profile = { cwd: '/x', args: {}, isHandedOver: true };
    await expect(profiles.write(session, profile)).rejects.toThrow('not a session id');
  },
);

test('23: one daemon has the lock, and a kill releases it', async () => {
  const path = join(folder(), 'lock.db');
  const module = new URL('./daemon-lock.ts', import.meta.url).href;
  const code = `import { lockDaemon } from '${module}'; globalThis.lock = lockDaemon('${path}'); console.log(globalThis.lock !== undefined); setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void holder.kill('SIGKILL'));
  const [line] = await once(holder.stdout, 'data');
  expect(String(line).trim()).toBe('true');
  expect(lockDaemon(path)).toBeUndefined();
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = lockDaemon(path);
  expect(lock).toBeDefined();
  expect(lockDaemon(path)).toBeUndefined();
  lock?.release();
});

test('23: a socket of a killed daemon is replaced, and only the user can open it', async () => {
  const place = join(folder(), 'sockets');
  mkdirSync(place, { mode: 0o700 });
  const path = join(place, 'socket');
  expect(await askDaemon(path, { type: 'hello' })).toBeUndefined();
  writeFileSync(path, '');
  const reply = { pid: 1, url: 'http://127.0.0.1:1' };
  const server = await listenForControl(path, async ({ type }) => {
    if (type === 'hello') return reply;
    throw new Error('No such session');
  });
  onTestFinished(() => server.close());
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await askDaemon(path, { type: 'hello' })).toEqual(reply);
  const failed = askDaemon(path, { type: 'resume', session: 's' });
  await expect(failed).rejects.toThrow('No such session');
});
