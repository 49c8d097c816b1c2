import { join } from 'node:path';
import { type JsonObject, sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { loadConfig } from '../config/load-config.ts';
import { denyOwnPaths } from '../config/permissions.ts';
import { folderWith, testAgent } from '../testing/test-agent.ts';

const attempts: readonly (readonly [name: string, input: JsonObject])[] = [
  ['read', { path: 'data/access/token' }],
  ['grep', { pattern: 'mr_', path: 'data' }],
  ['grep', { pattern: 'mr_' }],
  ['bash', { command: 'cat data/access/token' }],
  ['bash', { command: 'cat data/access/*' }],
  ['bash', { command: 'base64 data/access/token; cat store.db' }],
];

test.each(
  attempts.flatMap(([name, input]) => [
    [name, input, 'ask'] as const,
    [name, input, 'allow'] as const,
  ]),
)(
  '18.145: attack: a model reads the token of the server: %s %j in the mode %s',
  async (name, input, mode) => {
    const cwd = folderWith({ 'data/access/token': 'mr_canary', 'store.db': 'mr_canary' });
    const args = { permissions: mode, store: join(cwd, 'store.db') };
    const loaded = await loadConfig({ args, env: { HOME: folderWith() }, cwd });
    const permissions = denyOwnPaths(loaded.permissions, [join(cwd, 'data')]);
    const provider = scriptedProvider([
      { content: { parts: [toolCallPart(toolCallId('c'), name, input)] } },
      'Done.',
    ]);
    const config = { ...loaded, permissions };
    const { agent } = await testAgent({ provider, cwd, config, approve: 'park' });
    await agent.run('Go', { session: sessionId('s') }).result;
    const sent = JSON.stringify(provider.requests.map(({ request }) => request.items));
    expect(sent).not.toContain('mr_canary');
    expect(sent).not.toContain(Buffer.from('mr_canary').toString('base64').slice(0, 8));
  },
);
