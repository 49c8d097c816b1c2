import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';
import { createAgent, defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AcpServer } from '../acp/acp-server.ts';
import { parseArgs } from '../args/parse-args.ts';
import { runCommand } from '../command/run-command.ts';
import type { AcpArgs, RpcArgs } from '../contract/args.ts';
import { RpcServer } from '../rpc/rpc-server.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { TestChat } from '../testing/test-chat.ts';
import { openStore } from './open-store.ts';
import { refusalToResume } from './own-session.ts';
import { userItem } from './session-summaries.ts';

// A program of the user stores its sessions with Millrace. Its agent has other instructions and tools than the coding
// agent, which must not answer in such a session with its own tools.

const folder = temporaryFolder('other-program');
const env = () => ({ HOME: join(folder(), 'home') });
const randomId = '0123456789abcdef01234567';
const refused = 'with the coding agent of the terminal: another agent recorded it';

async function run(...argv: readonly string[]) {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const code = await runCommand({
    ...{ argv, stdout, stderr, cwd: folder(), stdin: Readable.from([]), env: env() },
    signal: new AbortController().signal,
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

interface Recorded {
  readonly cwd?: string | undefined;
  /** The tools that run, in order. */
  readonly tools?: readonly string[] | undefined;
}

/** Records a session as another program does. */
async function record(store: string | undefined, session: string, { cwd, tools = [] }: Recorded) {
  const config = { store: store === undefined ? undefined : join(folder(), store) };
  const { log, close } = await openStore({ config, env: env() });
  const calls = tools.map((name, at) => toolCall(name, {}, `c${at}`));
  const agent = createAgent({
    ...{ log, provider: scriptedProvider([...calls, 'I booked it.']) },
    tools: [...new Set(tools)].map((name) =>
      defineTool({ name, description: name, input: z.object({}), execute: async () => 'done' }),
    ),
  });
  const input = cwd === undefined ? 'Fly me to Oslo' : userItem(['Fly me to Oslo'], { cwd });
  await agent.run(input, { session }).result;
  const through = (await log.info(sessionId(session)))?.through;
  await close();
  return { through };
}

test.each([
  ['without a folder', 'monday', {}, 'its first message names no folder'],
  ['with a name', 'trip', { cwd: true }, 'the terminal does not give such ids'],
  ['with other tools', randomId, { cwd: true, tools: ['search_flights'] }, 'it ran the tool'],
] as const)(
  '18.480: attack: -p --resume continues a session %s of another program',
  async (what, session, {
    cwd = false,
    tools,
  }: { cwd?: boolean; tools?: readonly string[] }, why) => {
    const store = `refused-${session}.db`;
    const { through } = await record(store, session, { cwd: cwd ? folder() : undefined, tools });
    const argv = ['--store', store, '--model', 'demo'];
    const ways = [['--resume', session], ...(what === 'without a folder' ? [] : [['--continue']])];
    for (const way of ways) {
      const { code, stdout, stderr } = await run('-p', 'And now?', ...way, ...argv);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(`Cannot continue session ${session} ${refused}, because ${why}`);
      expect(stderr).toContain(
        `millrace branch --at ${through} --text "And now?" --agents agents.ts ${session}`,
      );
    }
    // The session can be read, and it is unchanged.
    const { stdout } = await run('sessions', 'show', session, '--store', store);
    expect(stdout).toContain('I booked it.');
    expect(stdout).not.toContain('And now?');
  },
);

test.each([
  ['of the terminal', {}],
  ['with a tool that the user has removed since', { tools: ['old_tool', 'read'] }],
  ['of an extension or MCP server', { tools: ['lookup'] }],
  ['of the page of a server, which names no folder', { store: 'data/sessions.db' }],
])('18.480: a session %s continues', async (_what, given: { tools?: string[]; store?: string }) => {
  const { tools, store } = given;
  const session = store === undefined ? `${tools?.length ?? 0}${randomId.slice(1)}` : 'task-1';
  const file = store && join(folder(), store);
  if (file !== undefined) mkdirSync(dirname(file));
  if (file !== undefined) writeFileSync(join(dirname(file), 'tasks.db'), '');
  await record(store, session, { cwd: store === undefined ? folder() : undefined, tools });
  const { log, close } = await openStore({ config: { store: file }, env: env() });
  const input = z.object({});
  const lookup = defineTool({ name: 'lookup', description: '', input, execute: async () => '' });
  const built = { tools: [lookup], mode: () => 'ask' as const };
  expect(await refusalToResume(log, sessionId(session), { flags: { store: file }, built })).toBe(
    undefined,
  );
  await close();
});

test('18.481: attack: the chat shows a session of another program, and does not continue it', async () => {
  const log = memoryLog();
  const session = sessionId('monday');
  const program = createAgent({ log, provider: scriptedProvider(['It is sunny.']) });
  await program.run('The weather?', { session }).result;
  const before = (await log.info(session))?.through;
  const chat = new TestChat({ log, session, script: ['I am the coding agent.'] });
  await chat.waitForText('It is sunny.');
  await chat.waitForText('Cannot continue session monday');
  await chat.send('And now?');
  await chat.idle();
  expect(chat.terminal.text).not.toContain('I am the coding agent.');
  expect((await log.info(session))?.through).toBe(before);
});

test('18.482: attack: a program continues a session of another program over RPC', async () => {
  const { through } = await record('rpc.db', 'monday', {});
  const argv = ['rpc', '--store', join(folder(), 'rpc.db'), '--model', 'demo'];
  const lines: Record<string, unknown>[] = [];
  const host = { env: env(), cwd: folder(), signal: new AbortController().signal };
  const server = new RpcServer({
    ...{ args: parseArgs(argv) as RpcArgs, host, onProblem: () => {} },
    write: async (line) => void lines.push(JSON.parse(line)),
  });
  let id = 0;
  const call = async (method: string, params: object) => {
    await server.handle(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }));
    await expect.poll(() => lines.find((line) => line['id'] === id)).toBeDefined();
    return lines.find((line) => line['id'] === id);
  };
  await call('initialize', { version: 1 });
  expect(await call('session.open', { session: 'monday' })).toMatchObject({ result: {} });
  const read = await call('session.read', { session: 'monday' });
  expect(JSON.stringify(read)).toContain('I booked it.');
  for (const [method, params] of [
    ['session.send', { session: 'monday', text: 'And now?' }],
    ['session.continue', { session: 'monday' }],
  ] as const)
    expect(await call(method, params)).toMatchObject({
      error: { message: expect.stringContaining(refused), data: { code: 'usage' } },
    });
  expect(await call('session.read', { session: 'monday' })).toMatchObject({
    result: { offset: through },
  });
  await server.close();
});

test('18.483: attack: an editor prompts in a session of another program', async () => {
  const { through } = await record('acp.db', 'monday', {});
  const store = join(folder(), 'acp.db');
  const args = parseArgs(['acp', '--store', store, '--model', 'demo']) as AcpArgs;
  const host = { env: env(), cwd: folder(), signal: new AbortController().signal };
  const server = new AcpServer({ args, host, onProblem: () => {} });
  const [there, back] = [new TransformStream<Uint8Array>(), new TransformStream<Uint8Array>()];
  const connection = server.app().connect(ndJsonStream(back.writable, there.readable));
  const shown: string[] = [];
  const { agent } = client({ name: 'editor' })
    .onNotification(methods.client.session.update, ({ params }) => {
      shown.push(JSON.stringify(params));
    })
    .connect(ndJsonStream(there.writable, back.readable));
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  await agent.request('session/load', { sessionId: 'monday', cwd: folder(), mcpServers: [] });
  expect(shown.join('\n')).toContain('I booked it.');
  const prompt = [{ type: 'text' as const, text: 'And now?' }];
  await expect(agent.request('session/prompt', { sessionId: 'monday', prompt })).rejects.toThrow(
    refused,
  );
  connection.close();
  await server.close();
  const { log, close } = await openStore({ config: { store }, env: env() });
  expect((await log.info(sessionId('monday')))?.through).toBe(through);
  await close();
});
