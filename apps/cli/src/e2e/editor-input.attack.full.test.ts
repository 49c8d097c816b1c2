import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { NewSessionRequest } from '@agentclientprotocol/sdk';
import { expect, type TestContext, test } from 'vitest';
import { builtProgram } from '../testing/built-program.ts';
import { editorHarness } from './testing/test-editor.ts';

interface Reply {
  readonly id: unknown;
  readonly method?: string;
  readonly result?: { readonly protocolVersion?: number; readonly sessionId?: string };
  readonly error?: { readonly code: number; readonly message: string };
}

/** Starts the command and writes raw lines. */
async function rawEditor(context: TestContext) {
  const { workspace, env } = await editorHarness(context);
  const child = spawn(process.execPath, [builtProgram(), 'acp'], {
    ...{ cwd: workspace.project, env: { ...workspace.env, ...env } },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close');
  child.stderr.resume();
  context.onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Reply> => {
    const { value } = await lines.next();
    const message = JSON.parse(String(value)) as Reply;
    // Notifications are not answers.
    return message.method === undefined ? message : next();
  };
  const ask = (line: string | object) => {
    child.stdin.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`);
    return next();
  };
  let id = 0;
  const call = (method: string, params: object) =>
    ask({ jsonrpc: '2.0', id: ++id, method, params });
  return { ask, call, child, exited, workspace };
}

test('wrong input gets the errors of the protocol, and the connection stays open', async (context) => {
  const { ask, call, child, exited, workspace } = await rawEditor(context);
  const cwd = workspace.project;
  const code = async (reply: Promise<Reply>) => (await reply).error?.code;
  expect(await code(ask('{ no json'))).toBe(-32700);
  expect(await code(ask('[]'))).toBe(-32600);
  expect(await code(ask('7'))).toBe(-32600);
  expect(await code(call('session/new', { cwd, mcpServers: [] }))).toBe(-32600);
  const initialized = await call('initialize', { protocolVersion: 99, clientCapabilities: {} });
  expect(initialized.result?.protocolVersion).toBe(1);
  expect(await code(call('session/fly', {}))).toBe(-32601);
  expect(await code(call('session/new', { cwd: 7 }))).toBe(-32602);
  expect(await code(call('session/new', { cwd: 'here', mcpServers: [] }))).toBe(-32602);
  expect(await code(call('session/new', { cwd: `${cwd}/none`, mcpServers: [] }))).toBe(-32602);
  const sse = { type: 'sse', name: 'old', url: 'http://127.0.0.1:1', headers: [] };
  expect(await code(call('session/new', { cwd, mcpServers: [sse] }))).toBe(-32602);
  expect(
    await code(call('session/new', { cwd, mcpServers: [], additionalDirectories: ['/'] })),
  ).toBe(-32602);
  const sessionId = 'none';
  expect(await code(call('session/prompt', { sessionId, prompt: [] }))).toBe(-32002);
  expect(await code(call('session/load', { sessionId, cwd, mcpServers: [] }))).toBe(-32002);
  expect(await code(call('session/list', { cursor: 'x' }))).toBe(-32602);
  expect(await code(call('authenticate', { methodId: 'magic' }))).toBe(-32602);
  const { result } = await call('session/new', { cwd, mcpServers: [] });
  const id = result?.sessionId;
  expect(await code(call('session/prompt', { sessionId: id, prompt: [] }))).toBe(-32602);
  const audio = { type: 'audio', data: '', mimeType: 'audio/wav' };
  expect(await code(call('session/prompt', { sessionId: id, prompt: [audio] }))).toBe(-32602);
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
  expect(await code(call('session/prompt', { sessionId: id, prompt: [image] }))).toBe(-32602);
  // A line that is too long is one parse error.
  const long = `{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(33 * 1024 * 1024)}"}`;
  expect(await code(ask(long))).toBe(-32700);
  expect((await call('session/list', {})).result).toMatchObject({ sessions: [] });
  child.stdin.end();
  expect(await exited).toEqual([0, null]);
});

test('without a key, a session needs authentication', async (context) => {
  const { open, workspace } = await editorHarness(context);
  const editor = await open({ env: { MILLRACE_MODEL: '' } });
  await expect(editor.newSession()).rejects.toMatchObject({ code: -32000 });
  const method = editor.initialized.authMethods?.[0]?.id ?? '';
  await expect(editor.agent.request('authenticate', { methodId: method })).rejects.toMatchObject({
    code: -32000,
    message: expect.stringContaining('ANTHROPIC_API_KEY'),
  });
  expect(workspace.project).not.toBe('');
});

test('18.257: attack: the script of a server of the editor is not replaced, in this session or the next', async (context) => {
  const { server, open, workspace } = await editorHarness(context);
  const cwd = workspace.project;
  const script = join(cwd, 'tools/server.js');
  const [first, evil] = [join(cwd, 'first-start'), join(cwd, 'evil-start')];
  const starts = (mark: string) =>
    `require('fs').writeFileSync(${JSON.stringify(mark)}, ''); process.stdin.resume();\n`;
  mkdirSync(join(cwd, 'tools'));
  writeFileSync(script, starts(first));
  const editor = await open({ flags: ['--mode', 'accept-edits'] });
  const newSession = () => {
    const handed = { name: 's', command: process.execPath, args: ['tools/server.js'], env: [] };
    const params: NewSessionRequest = { cwd, mcpServers: [handed] };
    return editor.agent.request('session/new', params);
  };
  const { sessionId } = await newSession();
  await expect.poll(() => existsSync(first)).toBe(true);
  const input = { path: 'tools/server.js', content: starts(evil) };
  server.answer({ toolCalls: [{ name: 'write', arguments: JSON.stringify(input) }] });
  server.answer({ text: 'Done.' });
  await editor.prompt(sessionId, 'Go');
  expect(editor.permissions).toHaveLength(1);
  expect(readFileSync(script, 'utf8')).toBe(starts(first));
  // Somebody changes the script by another way. A later session of the editor does not start it.
  writeFileSync(script, starts(evil));
  await newSession();
  await editor.waitFor((updates) => JSON.stringify(updates).includes('it executes has changed'));
  expect(existsSync(evil)).toBe(false);
});
