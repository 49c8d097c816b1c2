import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import {
  startAuthorizationServer,
  startProtectedServer,
} from '../../../../packages/tools/src/testing/mcp/authorization-server.ts';
import { connectMcpServers } from '../agent/mcp-servers.ts';
import { runCommand } from '../command/run-command.ts';
import { loadConfig } from '../config/load-config.ts';
import { loadExtensions } from '../extensions/load-extensions.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { homeAndProject } from '../testing/test-agent.ts';

// A message contains a command that the user pastes. A name in it contains another command.

test('18.1658: attack: the name of a plugin folder adds a command to a message', async () => {
  const { cwd, env, home } = homeAndProject({ 'home/.keep': '' });
  const source = './a; touch b';
  mkdirSync(join(cwd, source, 'commands'), { recursive: true });
  writeFileSync(join(cwd, source, 'plugin.json'), '{"name":"orders"}');
  writeFileSync(join(cwd, source, 'commands/late.md'), 'Why?');
  const run = async (...argv: readonly string[]) => {
    const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
    const { signal } = new AbortController();
    const stdin = Readable.from([]);
    const code = await runCommand({ argv, env, cwd, stdin, stdout, stderr, signal });
    return { code, text: stdout.text + stderr.text };
  };
  expect(await run('plugins', 'add', source, '--yes')).toMatchObject({ code: 0 });
  const { text: listed } = await run('plugins');
  const [name = ''] = listed.split('  ');
  writeFileSync(join(home, '.config/millrace/plugins', name, 'commands/late.md'), 'Other?');
  const { extensions } = await loadExtensions({ env, cwd, config: {} });
  for (const message of [(await run('plugins')).text, extensions.problems.join('\n')])
    expect(message).toMatch(/millrace plugins add '[^']*a; touch b'/);
});

test('18.1658: attack: the name of an MCP server adds a command to a message', async () => {
  const issuer = await startAuthorizationServer();
  const mcp = await startProtectedServer(issuer);
  onTestFinished(async () => {
    await mcp.close();
    await issuer.close();
  });
  const mcpServers = { 'a; touch b': { url: mcp.url } };
  const { cwd, env } = homeAndProject({
    'home/.config/millrace/config.json': JSON.stringify({ mcpServers }),
  });
  const config = await loadConfig({ args: {}, env, cwd });
  const servers = connectMcpServers(config.mcpServers);
  onTestFinished(() => servers.close());
  await servers.ready;
  const [problem = ''] = servers.current().problems;
  expect(problem).toMatch(/or millrace mcp login 'a; touch b'\. /);
});
