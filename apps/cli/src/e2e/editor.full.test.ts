import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { methods, type SessionNotification } from '@agentclientprotocol/sdk';
import { errorReply } from '@millrace/providers/scripted-server';
import { expect, test } from 'vitest';
import { builtProgram } from '../testing/built-program.ts';
import { gatedAnswer } from './testing/scripted-model.ts';
import { chunkText, editorHarness } from './testing/test-editor.ts';
import type { TestWorkspace } from './testing/test-workspace.ts';

const write = (path: string, content = 'new\n') => ({
  name: 'write',
  arguments: JSON.stringify({ path, content }),
});
const bash = (command: string) => ({ name: 'bash', arguments: JSON.stringify({ command }) });

/** Runs the command in a terminal without a screen, as a script does. */
async function runPrint(
  workspace: TestWorkspace,
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<string> {
  const child = spawn(process.execPath, [builtProgram(), ...args], {
    ...{ cwd: workspace.project, env: { ...workspace.env, ...env } },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (bytes: Buffer) => {
    text += bytes.toString('utf8');
  });
  await once(child, 'close');
  return text;
}

/** Returns the last state of each call: its status, kind and title. */
function callsOf(notifications: readonly SessionNotification[]) {
  const calls = new Map<string, Record<string, unknown>>();
  for (const { update } of notifications)
    if (update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update')
      calls.set(update.toolCallId, { ...calls.get(update.toolCallId), ...update });
  return [...calls.values()];
}

test('text and reasoning stream, and the capabilities are stated', async (context) => {
  const { server, open, workspace } = await editorHarness(context);
  const editor = await open();
  expect(editor.initialized).toMatchObject({
    protocolVersion: 1,
    agentInfo: { name: 'millrace' },
    agentCapabilities: { loadSession: true, promptCapabilities: { image: true } },
  });
  const session = await editor.newSession();
  server.answer({ reasoning: 'The user greets.', text: 'Hello there, user.' });
  expect(await editor.prompt(session, 'Hello')).toBe('end_turn');
  expect(chunkText(editor.notifications, 'agent_message_chunk')).toBe('Hello there, user.');
  expect(chunkText(editor.notifications, 'agent_thought_chunk')).toContain('The user greets.');
  expect(chunkText(editor.notifications, 'user_message_chunk')).toBe('');
  expect(await editor.quit()).toBe(0);
  for (const line of editor.lines()) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
  expect(editor.stderr()).toBe('');
  const list = await (await open()).agent.request(methods.agent.session.list, {
    cwd: workspace.project,
  });
  expect(list.sessions).toMatchObject([{ sessionId: session, title: 'Hello' }]);
});

test('parallel calls, an approval, a denial and a cancelled request', async (context) => {
  const { server, open, workspace } = await editorHarness(context);
  const answers: Record<string, string> = { 'write good.txt': 'once', 'write bad.txt': 'deny' };
  const editor = await open({
    answer: ({ toolCall }) => answers[toolCall.title ?? ''] ?? 'cancelled',
  });
  const session = await editor.newSession();
  const read = { name: 'read', arguments: JSON.stringify({ path: 'README.md' }) };
  const toolCalls = [read, write('good.txt'), write('bad.txt'), write('left.txt')];
  server.answer({ text: 'I do it.', toolCalls });
  server.answer({ text: 'Done.' });
  expect(await editor.prompt(session, 'Write them')).toBe('end_turn');
  expect(readFileSync(join(workspace.project, 'good.txt'), 'utf8')).toBe('new\n');
  for (const name of ['bad.txt', 'left.txt'])
    expect(existsSync(join(workspace.project, name))).toBe(false);
  expect(callsOf(editor.notifications)).toMatchObject([
    {
      kind: 'read',
      status: 'completed',
      locations: [{ path: join(workspace.project, 'README.md') }],
    },
    { kind: 'edit', status: 'completed', content: [{ type: 'diff', newText: 'new\n' }] },
    { kind: 'edit', status: 'failed' },
    { kind: 'edit', status: 'failed' },
  ]);
  const [first] = editor.permissions;
  expect(first?.toolCall.content).toContainEqual({
    ...{ type: 'diff', path: join(workspace.project, 'good.txt'), newText: 'new\n' },
  });
  // An answer that lasts contains the exact rule.
  expect(first?.options.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'allow_once Yes, once',
    'allow_always Yes, and all file changes in this folder in this session: {edit,write}:**',
    'allow_always Always, in this folder: write=good.txt',
    'reject_once No',
  ]);
  expect(JSON.stringify(server.requests[1]?.body)).toContain('The user cancelled the request.');
});

test('a rule for the session and a saved rule are used', async (context) => {
  const { server, open, workspace } = await editorHarness(context);
  const editor = await open({ answer: () => 'always' });
  const session = await editor.newSession();
  server.answer({ toolCalls: [write('a.txt')] });
  server.answer({ toolCalls: [write('a.txt', 'second\n')] });
  server.answer({ text: 'Done.' });
  await editor.prompt(session, 'Write it twice');
  expect(editor.permissions).toHaveLength(1);
  expect(readFileSync(join(workspace.project, 'a.txt'), 'utf8')).toBe('second\n');
  // A later process in the same folder uses the saved rule.
  const other = await open();
  server.answer({ toolCalls: [write('a.txt', 'third\n')] });
  server.answer({ text: 'Done.' });
  await other.prompt(await other.newSession(), 'Write it again');
  expect(other.permissions).toHaveLength(0);
  expect(readFileSync(join(workspace.project, 'a.txt'), 'utf8')).toBe('third\n');
});

test('cancel stops the answer, and the session goes on', async (context) => {
  const { server, open } = await editorHarness(context);
  const editor = await open();
  const session = await editor.newSession();
  const { reply } = gatedAnswer(['The first half.', ' The second half.']);
  server.reply(reply);
  const prompt = editor.prompt(session, 'Tell me a story');
  await editor.waitFor((updates) =>
    updates.some((update) => update.sessionUpdate === 'agent_message_chunk'),
  );
  await editor.agent.notify(methods.agent.session.cancel, { sessionId: session });
  expect(await prompt).toBe('cancelled');
  server.answer({ text: 'Another answer.' });
  expect(await editor.prompt(session, 'Go on')).toBe('end_turn');
  expect(chunkText(editor.notifications, 'agent_message_chunk')).toContain('Another answer.');
});

test('cancel during an approval denies the call', async (context) => {
  const { server, open, workspace } = await editorHarness(context);
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<string>();
  const editor = await open({
    answer: () => {
      asked.resolve();
      return released.promise;
    },
  });
  const session = await editor.newSession();
  server.answer({ toolCalls: [write('late.txt')] });
  const prompt = editor.prompt(session, 'Write it');
  await asked.promise;
  await editor.agent.notify(methods.agent.session.cancel, { sessionId: session });
  released.resolve('cancelled');
  expect(await prompt).toBe('cancelled');
  expect(existsSync(join(workspace.project, 'late.txt'))).toBe(false);
});

test('an error is retried, and a final error ends the prompt', async (context) => {
  const { server, open } = await editorHarness(context);
  const editor = await open({ capabilities: { session: { notices: {} } } });
  const session = await editor.newSession();
  const busy = errorReply('openai-chat', 503, { message: 'busy', type: 'server_error' });
  server.reply({ ...busy, headers: { ...busy.headers, 'retry-after-ms': '1' } });
  server.answer({ text: 'It worked.' });
  expect(await editor.prompt(session, 'Try')).toBe('end_turn');
  expect(chunkText(editor.notifications, 'agent_message_chunk')).toBe('It worked.');
  server.reply(errorReply('openai-chat', 400, { message: 'no such thing', type: 'invalid' }));
  await expect(editor.prompt(session, 'Fail')).rejects.toMatchObject({
    code: -32603,
    message: expect.stringContaining('no such thing'),
  });
});

test('23: the end of a background command reaches the model and the editor with the next prompt', async (context) => {
  const { server, open, workspace } = await editorHarness(context);
  const editor = await open({ flags: ['--yes', '--sandbox', 'off'] });
  const session = await editor.newSession();
  const command = 'while [ ! -e go ]; do sleep 0.05; done; exit 3';
  const input = JSON.stringify({ command, background: true });
  server.answer({ toolCalls: [{ name: 'bash', arguments: input }] });
  server.answer({ text: 'It runs.' });
  expect(await editor.prompt(session, 'Start it')).toBe('end_turn');
  writeFileSync(join(workspace.project, 'go'), '');
  let prompts = 0;
  const asksAgain = async () => {
    server.answer({ text: 'I look.' });
    await editor.prompt(session, `And now? ${++prompts}`);
    return JSON.stringify(server.requests.at(-1)?.body);
  };
  // The command may still run during the first of these prompts.
  await expect.poll(asksAgain).toContain('ended with exit code 3');
  await editor.waitFor((updates) => JSON.stringify(updates).includes('ended with exit code 3'));
  // An editor can stop only the work of a prompt, so the end alone starts no request. If the command ends
  // during a prompt, that prompt has one more request.
  const { length } = server.requests;
  expect(length).toBeLessThanOrEqual(3 + prompts);
  await asksAgain();
  expect(server.requests).toHaveLength(length + 1);
});

test('after kill -9 in the middle of an answer, load gives the same transcript', async (context) => {
  const { server, open, workspace, env } = await editorHarness(context);
  const first = await open();
  const session = await first.newSession();
  server.answer({ reasoning: 'Short.', text: 'A whole answer.' });
  await first.prompt(session, 'One');
  const { reply } = gatedAnswer(['The first half.', ' The second half.']);
  server.reply(reply);
  void first.prompt(session, 'Two').catch(() => {});
  await first.waitFor((updates) =>
    updates.some(
      (one) =>
        one.sessionUpdate === 'agent_message_chunk' && JSON.stringify(one).includes('first half'),
    ),
  );
  await first.kill();
  const sent = chunkText(first.notifications, 'agent_message_chunk');
  const load = async () => {
    const editor = await open();
    const params = { sessionId: session, cwd: workspace.project, mcpServers: [] };
    await editor.agent.request(methods.agent.session.load, params);
    return editor;
  };
  const second = await load();
  const third = await load();
  expect(chunkText(second.notifications, 'agent_message_chunk')).toBe(sent);
  expect(chunkText(second.notifications, 'user_message_chunk')).toBe('OneTwo');
  const content = (editor: typeof second) =>
    editor.notifications.filter(
      ({ update }) => update.sessionUpdate !== 'available_commands_update',
    );
  expect(content(third)).toEqual(content(second));
  await third.quit();
  // The terminal continues the session, and the editor follows it.
  server.answer({ text: 'From the terminal.' });
  expect(await runPrint(workspace, env, '-p', 'Three', '--continue')).toBe('From the terminal.\n');
  await second.waitFor((updates) => JSON.stringify(updates).includes('From the terminal.'));
  expect(chunkText(second.notifications, 'user_message_chunk')).toBe('OneTwoThree');
  // And back again.
  server.answer({ text: 'From the editor.' });
  expect(await second.prompt(session, 'Four')).toBe('end_turn');
  const body = JSON.stringify(server.requests.at(-1)?.body);
  for (const text of ['One', 'Two', 'Three', 'From the terminal.', 'Four'])
    expect(body).toContain(text);
});

test('plans, modes, commands and the output of commands', async (context) => {
  const { server, open, workspace } = await editorHarness(context);
  const editor = await open({ answer: () => 'once' });
  const { sessionId, modes } = await editor.agent.request(methods.agent.session.new, {
    ...{ cwd: workspace.project, mcpServers: [] },
  });
  expect(modes?.currentModeId).toBe('ask');
  expect(modes?.availableModes.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['ask', 'accept-edits', 'plan']),
  );
  const tasks = [
    { text: 'Look', state: 'done' },
    { text: 'Act', state: 'doing' },
  ];
  server.answer({ toolCalls: [{ name: 'todo', arguments: JSON.stringify({ tasks }) }] });
  server.answer({ toolCalls: [bash('node -e "console.log(6 * 7)"')] });
  server.answer({ text: 'Done.' });
  await editor.prompt(sessionId, 'Work');
  const updates = editor.notifications.map(({ update }) => update);
  expect(updates).toContainEqual({
    sessionUpdate: 'plan',
    entries: [
      { content: 'Look', priority: 'medium', status: 'completed' },
      { content: 'Act', priority: 'medium', status: 'in_progress' },
    ],
  });
  expect(callsOf(editor.notifications)).toMatchObject([{ kind: 'execute', status: 'completed' }]);
  expect(JSON.stringify(callsOf(editor.notifications))).toContain('42');
  expect(updates).toContainEqual(
    expect.objectContaining({
      sessionUpdate: 'available_commands_update',
      availableCommands: [expect.objectContaining({ name: 'compact' })],
    }),
  );
  await editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'plan' });
  server.answer({ toolCalls: [write('early.txt')] });
  server.answer({ text: 'The plan.' });
  await editor.prompt(sessionId, 'Plan it');
  expect(existsSync(join(workspace.project, 'early.txt'))).toBe(false);
  await expect(
    editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'none' }),
  ).rejects.toMatchObject({ code: -32602 });
});
