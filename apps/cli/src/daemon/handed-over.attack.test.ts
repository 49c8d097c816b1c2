import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { startScriptedServer } from '@millrace/providers/scripted-server';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { ChosenModel } from '../contract/agent.ts';
import { userItem } from '../store/session-summaries.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { FolderAgents } from './folder-agents.ts';
import { routingAgent } from './routing-agent.ts';
import { createProfile, handedOverProfile, SessionProfiles } from './session-profile.ts';

// The daemon drives a session without its terminal. The session must not get more rights than the terminal
// had, whatever its records say.

const folder = temporaryFolder('handed-over');
const session = sessionId('of-the-terminal');
let log: Log;
beforeEach(() => {
  log = memoryLog();
});
afterEach(() => log.close());

/** Prepares a home folder whose settings allow everything, a project, and a model that writes a file. */
async function prepare(name: string, daemonEnv: Readonly<Record<string, string>> = {}) {
  const home = join(folder(), name);
  const cwd = join(home, 'project');
  for (const path of [home, join(home, '.config'), join(home, '.config/millrace'), cwd])
    mkdirSync(path);
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  server.answer({
    text: 'I write.',
    toolCalls: [{ name: 'write', arguments: '{"path":"a.txt","content":"x"}' }],
  });
  server.answer({ text: 'It is over.' });
  const test = { provider: 'compatible', model: 'any', baseUrl: `${server.url}/v1` };
  const settings = { models: { test }, model: 'test', permissions: { mode: 'allow' } };
  writeFileSync(join(home, '.config/millrace/config.json'), JSON.stringify(settings));
  const profiles = new SessionProfiles(join(home, 'profiles'));
  const env = { HOME: home, PATH: process.env['PATH'], ...daemonEnv };
  const agents = new FolderAgents({
    ...{ log, env, store: join(home, 'sessions.db'), name: 'daemon', profiles },
  });
  onTestFinished(() => agents.close());
  const first = createAgent({ provider: scriptedProvider(['Hello.']), log, name: 'terminal' });
  await first.run(userItem(['Hi'], { cwd }), { session }).result;
  const incarnation = (await log.info(session))?.incarnation;
  return { agents, profiles, cwd, incarnation, server, home, models: { test } };
}

test.each([
  ['read-only', 0],
  ['ask', 1],
] as const)(
  '23: attack: a session that was left in the mode %s stays in it',
  async (mode, asked) => {
    const { agents, profiles, cwd, incarnation } = await prepare(mode);
    const args = { permissions: mode };
    await profiles.write(session, { cwd, args, isHandedOver: true, incarnation });
    const agent = await agents.agentFor(session);
    const { pendingApprovals } = await agent.run('Write', { session }).result;
    expect(pendingApprovals).toHaveLength(asked);
    expect(existsSync(join(cwd, 'a.txt'))).toBe(false);
  },
);

test('23: without a profile, the settings of the folder apply', async () => {
  const { agents, cwd } = await prepare('folder');
  const agent = await agents.agentFor(session);
  expect((await agent.run('Write', { session }).result).text).toBe('It is over.');
  expect(existsSync(join(cwd, 'a.txt'))).toBe(true);
});

test('23: attack: a session that was replaced does not get the rights of its profile', async () => {
  const { agents, profiles, cwd } = await prepare('replaced');
  const args = { permissions: 'allow' } as const;
  await profiles.write(session, { cwd, args, isHandedOver: true, incarnation: 'another' });
  await expect(agents.agentFor(session)).rejects.toMatchObject({ code: 'session_replaced' });
});

test('18.499: attack: attach gives a session that was replaced no rights of its profile', async () => {
  const { profiles, cwd, incarnation } = await prepare('attached');
  const profile = { cwd, args: { permissions: 'allow' }, isHandedOver: false } as const;
  await profiles.write(session, { ...profile, incarnation: 'another' });
  await expect(profiles.readFor(log, session)).rejects.toMatchObject({ code: 'session_replaced' });
  await profiles.write(session, { ...profile, incarnation });
  expect(await profiles.readFor(log, session)).toMatchObject(profile);
});

test('18.500: attack: a session that was left without web search searches the web', async () => {
  const { profiles, cwd } = await prepare('search');
  const profile = createProfile({
    ...{ cwd, env: {}, isHandedOver: true, config: { limits: {}, system: undefined } },
    flags: { webSearch: 'off' },
    built: { mode: () => 'ask', chosen: { name: 'test' } as ChosenModel },
  });
  await profiles.write(session, profile);
  expect((await profiles.read(session))?.args.webSearch).toBe('off');
});

test('18.187: attack: a fork of a session that was left in the mode read-only stays in it', async () => {
  const { agents, profiles, cwd, incarnation, server } = await prepare('fork');
  const args = { permissions: 'read-only' } as const;
  await profiles.write(session, { cwd, args, isHandedOver: true, incarnation });
  const agent = routingAgent({
    ...{ name: 'daemon', agentFor: agents.agentFor, onDriving: () => {} },
    onFork: (origin, fork) => agents.noteFork(origin, fork),
  });
  await agent.regenerate(session, { into: 'branch' }).result;
  server.answer({
    text: 'I write again.',
    toolCalls: [{ name: 'write', arguments: '{"path":"a.txt","content":"x"}' }],
  });
  server.answer({ text: 'It is over.' });
  const branch = sessionId('branch');
  expect((await agent.run('Write', { session: branch }).result).text).toBe('It is over.');
  expect(existsSync(join(cwd, 'a.txt'))).toBe(false);
  expect(await agents.storedProfile(branch)).toMatchObject({ cwd, args });
});

test.each([
  ['18.262', 'flag'],
  ['18.262', 'variable'],
  ['18.262', 'folder'],
  ['18.501', 'folder, after a run of the daemon'],
] as const)(
  '%s: attack: the configuration of the terminal (%s) applies, and not that of the daemon',
  async (_, way) => {
    const lax = join(folder(), `lax-of-${way}.json`);
    const prepared = await prepare(`strict-${way}`, { MILLRACE_CONFIG: lax });
    const { agents, profiles, cwd, incarnation, home, models } = prepared;
    const settings = { models, model: 'test', permissions: { mode: 'allow' } };
    writeFileSync(lax, JSON.stringify(settings));
    const deny = { models, model: 'test', permissions: { deny: ['write:a.txt'] } };
    mkdirSync(join(home, 'xdg/millrace'), { recursive: true });
    for (const path of ['strict.json', 'xdg/millrace/config.json'])
      writeFileSync(join(home, path), JSON.stringify(deny));
    const file = join(home, 'strict.json');
    const env = {
      HOME: home,
      ...(way === 'variable' && { MILLRACE_CONFIG: file }),
      ...(way.startsWith('folder') && { XDG_CONFIG_HOME: join(home, 'xdg') }),
    };
    const profile = createProfile({
      ...{ cwd, env, isHandedOver: true, config: { limits: {}, system: undefined } },
      flags: { ...(way === 'flag' && { config: file }) },
      built: { mode: () => 'allow', chosen: { name: 'test' } as ChosenModel },
    });
    const now = { cwd, incarnation };
    const isLater = way.includes('after');
    await profiles.write(
      session,
      isLater ? handedOverProfile(profile, now) : { ...profile, ...now },
    );
    const agent = await agents.agentFor(session);
    await agent.run('Write', { session }).result;
    expect(existsSync(join(cwd, 'a.txt'))).toBe(false);
  },
);
