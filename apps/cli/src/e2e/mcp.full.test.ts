import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, type TestContext, test } from 'vitest';
import { fewOf } from '../../../../packages/core/src/testing/runs.ts';
import { builtProgram } from '../testing/built-program.ts';
import { gatedAnswer, scriptedModel } from './testing/scripted-model.ts';
import { openTestWorkspace } from './testing/test-workspace.ts';

/** Prepares a folder with a scripted model. Returns a function that starts the official client. */
async function mcpHarness(context: TestContext) {
  const { server, files, env } = await scriptedModel(context);
  const workspace = openTestWorkspace(files);
  context.onTestFinished(() => workspace.close());
  const asked: string[] = [];
  const connect = async (mode: 'legacy' | { readonly pin: string }) => {
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
    );
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message);
      return { action: 'accept', content: { approve: true } };
    });
    const transport = new StdioClientTransport({
      ...{ command: process.execPath, args: [builtProgram(), 'mcp'], cwd: workspace.project },
      ...{ env: { ...workspace.env, ...env } as Record<string, string>, stderr: 'ignore' },
    });
    await client.connect(transport);
    context.onTestFinished(() => client.close());
    const call = async (name: string, args: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: args });
      const [first] = result.content as readonly { readonly text?: string }[];
      const { session_id = '' } = (result.structuredContent ?? {}) as Record<string, string>;
      return { text: first?.text, session_id };
    };
    return { client, transport, call };
  };
  return { server, workspace, connect, asked };
}

const modes = [
  ['2025-11-25', 'legacy'],
  ['2026-07-28', { pin: '2026-07-28' }],
] as const;

for (const [version, mode] of fewOf(modes, 1))
  test(`24.4: a client of version ${version} uses the agent and its tools over stdio, also after kill -9`, async (context) => {
    const { server, workspace, connect, asked } = await mcpHarness(context);
    const first = await connect(mode);
    const { tools } = await first.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['millrace', 'read', 'write', 'bash']),
    );
    await first.call('write', { path: 'a.txt', content: 'one\n' });
    expect(readFileSync(join(workspace.project, 'a.txt'), 'utf8')).toBe('one\n');
    expect(asked).toEqual([expect.stringContaining('a.txt')]);
    expect((await first.call('read', { path: 'a.txt' })).text).toContain('one');
    server.answer({ text: 'Hello there.' });
    const { text, session_id } = await first.call('millrace', { message: 'Hello' });
    expect(text).toBe('Hello there.');
    const { reply } = gatedAnswer(['Half of ', 'the answer.']);
    server.reply(reply);
    const started = Promise.withResolvers<void>();
    const args = { message: 'More', session_id };
    const lost = first.client.callTool(
      { name: 'millrace', arguments: args },
      { onprogress: () => started.resolve() },
    );
    lost.catch(() => {});
    await started.promise;
    process.kill(first.transport.pid ?? 0, 'SIGKILL');
    await expect(lost).rejects.toThrow();
    server.answer({ text: 'The whole answer.' });
    const second = await connect(mode);
    expect((await second.call('millrace', { session_id })).text).toBe('The whole answer.');
  });
