import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { childEnv } from '../../../core/src/testing/runs.ts';
import { freePort, isRequirementMissing } from '../../../log/src/testing/external-programs.ts';
import { browse } from '../testing/mcp/authorization-server.ts';
import { call, McpConnections } from '../testing/mcp-connections.ts';
import { fileMcpLogins, loginMcp, logoutMcp } from './index.ts';

// The example servers of the official SDK, each in a process of its own. They come with the conformance suite.
const sdkName = ['@modelcontextprotocol', 'sdk'].join('/');
const examples = fileURLToPath(
  new URL(
    `../../../../scripts/mcp-suite/node_modules/${sdkName}/dist/esm/examples/server`,
    import.meta.url,
  ),
);
const isMissing = isRequirementMissing(
  existsSync(examples),
  'The official SDK of MCP is not installed. Run npm run test:setup',
);

const connections = new McpConnections();
afterEach(() => connections.closeAll());

/** Starts an example server, and returns its URL. */
async function startExample(file: string, flags: readonly string[]): Promise<string> {
  const [port, authPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [join(examples, file), ...flags], {
    env: { ...childEnv(), MCP_PORT: `${port}`, MCP_AUTH_PORT: `${authPort}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  onTestFinished(async () => {
    child.kill();
    await ended;
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  const hasStarted = (text: string) => said.includes(`listening on port ${text}`);
  await expect.poll(() => hasStarted(`${port}`) && hasStarted(`${authPort}`)).toBe(true);
  return `http://localhost:${port}/mcp`;
}

test.skipIf(isMissing)(
  '24.4: a login to the demo server of the SDK, which accepts only tokens for itself',
  async () => {
    const url = await startExample('simpleStreamableHttp.js', ['--oauth', '--oauth-strict']);
    const logins = fileMcpLogins(await mkdtemp(join(tmpdir(), 'logins-')));
    const server = { name: 'test', http: { url, oauth: { logins } } };
    await expect(connections.connect(server)).rejects.toMatchObject({ code: 'login_required' });
    await loginMcp(server, { openPage: browse });
    const connected = await connections.connect(server);
    expect(await call(connected, 'greet', { name: 'Ada' })).toMatchObject({ text: 'Hello, Ada!' });
    expect(connected.prompts).toMatchObject([{ name: 'greeting-template' }]);
    expect(await connected.getPrompt('greeting-template', { name: 'Ada' })).toContain('greet Ada');
    expect((await call(connected, 'list_resources')).text).toContain('file:///example/file1.txt');
    const uri = 'https://example.com/greetings/default';
    expect((await call(connected, 'read_resource', { uri })).text).toContain('Hello, world!');
    await logoutMcp(server);
    await expect(connections.connect(server)).rejects.toMatchObject({ code: 'login_required' });
  },
);
