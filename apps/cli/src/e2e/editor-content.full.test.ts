import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type ClientApp, methods, RequestError } from '@agentclientprotocol/sdk';
import { answerReply, type ScriptedReply } from '@millrace/providers/scripted-server';
import { expect, test } from 'vitest';
import { chunkText, editorHarness } from './testing/test-editor.ts';

const call = (name: string, input: object) => ({ name, arguments: JSON.stringify(input) });
const mcpProgram = fileURLToPath(
  new URL('../../../../packages/tools/src/testing/mcp-server-in-process.ts', import.meta.url),
);
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

/** Handlers of an editor with open files. */
function withBuffers(buffers: Map<string, string>, asked: string[]) {
  return (app: ClientApp) =>
    app
      .onRequest(methods.client.fs.readTextFile, ({ params }) => {
        asked.push(`read ${params.path}`);
        const content = buffers.get(params.path);
        if (content === undefined) throw RequestError.resourceNotFound(params.path);
        return { content };
      })
      .onRequest(methods.client.fs.writeTextFile, ({ params }) => {
        asked.push(`write ${params.path}`);
        buffers.set(params.path, params.content);
        writeFileSync(params.path, params.content);
        return {};
      });
}

test('tools use the unsaved text of open files, and only of paths that they may use', async (context) => {
  const { server, open, workspace } = await editorHarness(context);
  const { project } = workspace;
  const [open1, saved, secret] = ['open.txt', 'saved.txt', '.env'].map((name) =>
    join(project, name),
  );
  if (open1 === undefined || saved === undefined || secret === undefined) throw new Error();
  writeFileSync(open1, 'one\ntwo\n');
  writeFileSync(saved, 'three\n');
  writeFileSync(secret, 'KEY=1\n');
  const buffers = new Map([
    [open1, 'one\ntwo\nunsaved\n'],
    [saved, 'three\n'],
    [secret, 'KEY=2\n'],
  ]);
  const asked: string[] = [];
  const editor = await open({
    capabilities: { fs: { readTextFile: true, writeTextFile: true } },
    flags: ['--mode', 'accept-edits', '--deny', '*:.env'],
    extend: withBuffers(buffers, asked),
  });
  const session = await editor.newSession();
  const replace = (path: string, old_text: string, new_text: string) =>
    call('edit', { path, edits: [{ old_text, new_text }] });
  server.answer({
    toolCalls: [call('read', { path: 'open.txt' }), call('read', { path: '.env' })],
  });
  server.answer({ toolCalls: [replace('open.txt', 'unsaved', 'changed')] });
  server.answer({ toolCalls: [replace('saved.txt', 'three', 'four')] });
  server.answer({ text: 'Done.' });
  expect(await editor.prompt(session, 'Change them')).toBe('end_turn');
  expect(JSON.stringify(server.requests[1]?.body)).toContain('unsaved');
  expect(buffers.get(open1)).toBe('one\ntwo\nchanged\n');
  expect(readFileSync(saved, 'utf8')).toBe('four\n');
  expect(asked).toContain(`write ${open1}`);
  // A saved file is written by the workspace, and a denied file is not read by the editor.
  expect(asked).not.toContain(`write ${saved}`);
  expect(asked.join()).not.toContain('.env');
});

test('a prompt has links, attached files and pictures, and load returns them', async (context) => {
  const { server, open, workspace } = await editorHarness(context);
  const editor = await open();
  const sessionId = await editor.newSession();
  const uri = pathToFileURL(join(workspace.project, 'src/index.ts')).href;
  server.answer({ text: 'I see.' });
  await editor.agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [
      { type: 'text', text: 'Look at' },
      { type: 'resource_link', uri, name: 'index.ts' },
      { type: 'resource', resource: { uri: 'untitled:note', text: 'A note of the user.' } },
      { type: 'image', data: pixel, mimeType: 'image/png' },
    ],
  });
  const body = JSON.stringify(server.requests[0]?.body);
  expect(body).toContain('Look at @src/index.ts untitled:note');
  expect(body).toContain('A note of the user.');
  expect(body).toContain(pixel);
  await editor.quit();
  const second = await open();
  await second.agent.request(methods.agent.session.load, {
    ...{ sessionId, cwd: workspace.project, mcpServers: [] },
  });
  const blocks = second.notifications.flatMap(({ update }) =>
    update.sessionUpdate === 'user_message_chunk' ? [update.content] : [],
  );
  expect(blocks).toMatchObject([
    { type: 'text', text: 'Look at @src/index.ts untitled:note' },
    { type: 'resource', resource: { uri: 'untitled:note', text: 'A note of the user.' } },
    { type: 'image', mimeType: 'image/png', data: pixel },
  ]);
});

test('two sessions run at once, and a question is a form', async (context) => {
  const { server, open, workspace } = await editorHarness(context);
  const messages: string[] = [];
  const editor = await open({
    capabilities: { elicitation: { form: {} } },
    extend: (app) =>
      app.onRequest(methods.client.elicitation.create, ({ params }) => {
        messages.push(params.message);
        return { action: 'accept', content: { answer: 'blue' } };
      }),
  });
  const other = join(workspace.folder, 'other');
  mkdirSync(other);
  const first = await editor.newSession();
  const { sessionId: second } = await editor.agent.request(methods.agent.session.new, {
    ...{ cwd: other, mcpServers: [] },
  });
  const options = [{ label: 'blue' }, { label: 'red' }];
  server.answer({ toolCalls: [call('ask_user', { question: 'Which colour?', options })] });
  server.answer({ text: 'Blue it is.' });
  expect(await editor.prompt(first, 'Ask me')).toBe('end_turn');
  expect(messages).toEqual(['Which colour?']);
  expect(JSON.stringify(server.requests[1]?.body)).toContain('blue');
  const reply: ScriptedReply = (request) => {
    const isFirst = JSON.stringify(request.body).includes('Question A');
    return answerReply({ text: isFirst ? 'Answer A' : 'Answer B' }, request);
  };
  server.reply(reply, reply);
  const stops = await Promise.all([
    editor.prompt(first, 'Question A'),
    editor.prompt(second, 'Question B'),
  ]);
  expect(stops).toEqual(['end_turn', 'end_turn']);
  const textOf = (id: string) =>
    chunkText(
      editor.notifications.filter(({ sessionId }) => sessionId === id),
      'agent_message_chunk',
    );
  expect(textOf(first)).toBe('Blue it is.Answer A');
  expect(textOf(second)).toBe('Answer B');
});

test('MCP servers of the editor run, and settings of an untrusted project are skipped', async (context) => {
  const { server, open, workspace } = await editorHarness(context);
  const { project } = workspace;
  mkdirSync(join(project, '.millrace/commands'), { recursive: true });
  writeFileSync(join(project, '.millrace/commands/ship.md'), 'Ship it.\n');
  const editor = await open({
    capabilities: { session: { notices: {} }, _meta: { terminal_output: true } },
    answer: () => 'once',
  });
  const { sessionId } = await editor.agent.request(methods.agent.session.new, {
    cwd: project,
    mcpServers: [
      { name: 'shop', command: process.execPath, args: [mcpProgram], env: [] },
      { name: 'shop', command: 'never-started', args: [], env: [] },
    ],
  });
  await editor.waitFor((updates) =>
    ['1 command of', 'The MCP server shop of the editor is skipped'].every((text) =>
      updates.some(
        (update) => update.sessionUpdate === 'notice' && JSON.stringify(update).includes(text),
      ),
    ),
  );
  // A slow machine may need several prompts until the server has connected.
  await expect
    .poll(async () => {
      server.answer({ text: 'Not yet.' });
      await editor.prompt(sessionId, 'Wait for the server');
      return JSON.stringify(server.requests.at(-1)?.body);
    })
    .toContain('shop_echo');
  server.answer({ toolCalls: [call('shop_echo', { text: 'from MCP' })] });
  server.answer({ toolCalls: [call('bash', { command: 'echo terminal; exit 3' })] });
  server.answer({ text: 'Done.' });
  await editor.prompt(sessionId, 'Call it');
  expect(editor.permissions.map(({ toolCall }) => toolCall.name)).toEqual(['shop_echo', 'bash']);
  expect(JSON.stringify(server.requests.at(-2)?.body)).toContain('from MCP');
  const metas = JSON.stringify(editor.notifications.map(({ update }) => update._meta ?? []));
  expect(metas).toContain('"terminal_info"');
  expect(metas).toContain('"data":"terminal');
  expect(metas).toContain('"exit_code":3');
});
