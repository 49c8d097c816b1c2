import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent, readOutputTool } from '@millrace/agent';
import { type Item, type Part, sessionId, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../testing/processes.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { createWorkspace } from '../../workspace/workspace.ts';
import { bashTool } from '../bash-tool.ts';
import { backgroundCommands } from './background-commands.ts';

const session = sessionId('s');

function call(id: string, name: string, input: object): Part {
  return { kind: 'tool_call', toolCallId: toolCallId(id), name, arguments: JSON.stringify(input) };
}

const calls = (...parts: readonly Part[]): ScriptEntry => ({ content: { parts } });

/** An agent with background commands. */
function start(script: readonly ScriptEntry[], more: { log?: ReturnType<typeof memoryLog> } = {}) {
  const root = temporaryFolder();
  const background = backgroundCommands();
  onTestFinished(() => background.close());
  const provider = scriptedProvider(script);
  const log = more.log ?? memoryLog();
  const workspace = createWorkspace({ root });
  const tools = [bashTool({ workspace, background }), readOutputTool({ running: background })];
  const agent = createAgent({ provider, log, tools });
  const requests = () => provider.requests.map(({ request }) => request.items);
  return { root, background, log, agent, requests };
}

const resultsIn = (items: readonly Item[]) =>
  items.flatMap(({ parts }) => parts.filter((part) => part.kind === 'tool_result'));
const noticesIn = (items: readonly Item[]) =>
  items.filter(({ kind }) => kind === 'developer').flatMap(({ parts }) => parts);

test('a command runs on after its call, is read on, and its end wakes the model', async () => {
  const wait = 'echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 3';
  const { root, background, log, agent, requests } = start([
    calls(call('a', 'bash', { command: wait, background: true })),
    'Waiting.',
    calls(call('b', 'read_output', { output: 'c1' })),
    'Still waiting.',
    calls(call('c', 'read_output', { output: 'c1' })),
    'Done.',
  ]);
  const { stop } = await agent.run('Go', { session }).result;
  expect(stop.reason).toBe('stop');
  expect(background.list(session)).toMatchObject([{ id: 'c1', command: wait, end: undefined }]);
  expect(background.running).toBe(1);
  await until(() => background.list(session)[0]?.lastLine === 'one');
  await agent.run('And now?', { session }).result;
  writeFileSync(join(root, 'go'), '');
  await expect.poll(async () => (await log.info(session))?.hasWork).toBe(true);
  const { items } = await agent.resume(session).result;
  const all = requests().at(-1) ?? [];
  expect(noticesIn(all)).toMatchObject([
    { text: 'Background command c1 ended with exit code 3. read_output c1 shows its output.' },
  ]);
  const texts = resultsIn(all).map(({ text }) => text);
  expect(texts[0]).toContain('runs in the background as c1');
  expect(texts[1]).toBe('one\n[c1 is running]');
  expect(texts[2]).toBe('two\n[c1 ended with exit code 3]');
  expect(items.at(-1)?.parts).toMatchObject([{ text: 'Done.' }]);
  expect(background.list(session)).toMatchObject([{ lastLine: 'two' }]);
});

test('a call can wait for the end; then no message follows', async () => {
  const { log, agent, requests } = start([
    calls(call('a', 'bash', { command: 'echo hi', background: true })),
    calls(call('b', 'read_output', { output: 'c1', wait_ms: 600_000 })),
    'Done.',
  ]);
  const { stop } = await agent.run('Go', { session }).result;
  expect(stop.reason).toBe('stop');
  const last = requests().at(-1) ?? [];
  expect(resultsIn(last)[1]?.text).toBe('hi\n[c1 ended with exit code 0]');
  expect((await log.info(session))?.hasWork).toBe(false);
  expect(noticesIn(last)).toEqual([]);
});

test('the model stops a command, and all its processes end', async () => {
  const { agent, requests, background } = start([
    calls(call('a', 'bash', { command: 'sleep 1000', background: true })),
    calls(call('b', 'read_output', { output: 'c1', stop: true })),
    'Done.',
  ]);
  await agent.run('Go', { session }).result;
  expect(resultsIn(requests().at(-1) ?? [])[1]?.text).toBe('No new output.\n[c1 was stopped]');
  expect(background.running).toBe(0);
});

test('an abort of the run does not stop a background command, and the user can stop it', async () => {
  const { agent, log, background } = start([
    calls(call('a', 'bash', { command: 'sleep 1000', background: true })),
    { content: { parts: ['Hm'] }, fault: { type: 'stall', after: 1 } },
  ]);
  const run = agent.run('Go', { session });
  await until(() => background.running === 1);
  await run.abort();
  await run.result;
  expect(background.running).toBe(1);
  expect(await background.stop(session, 'c1')).toBe(true);
  expect(await background.stop(session, 'c1')).toBe(false);
  expect(background.list(session)).toMatchObject([{ end: 'was stopped by the user' }]);
  expect((await log.info(session))?.hasWork).toBe(true);
});

test('a command that cannot start fails its call', async () => {
  const root = temporaryFolder();
  const background = backgroundCommands();
  const bash = bashTool({ workspace: createWorkspace({ root }), background, shell: '/no/shell' });
  const provider = scriptedProvider([
    calls(call('a', 'bash', { command: 'true', background: true })),
    'Oh.',
  ]);
  await createAgent({ provider, tools: [bash] }).run('Go').result;
  const [result] = resultsIn(provider.requests[1]?.request.items ?? []);
  expect(result).toMatchObject({ isError: true });
  expect(result?.text).toContain('Cannot start');
  expect(background.running).toBe(0);
});

test('a time limit of a background command stops it, and there is none without timeout_ms', async () => {
  const { agent, requests } = start([
    calls(call('a', 'bash', { command: 'sleep 1000', background: true, timeout_ms: 1 })),
    calls(call('b', 'read_output', { output: 'c1', wait_ms: 600_000 })),
    'Done.',
  ]);
  await agent.run('Go', { session }).result;
  expect(resultsIn(requests().at(-1) ?? [])[1]?.text).toContain('was stopped at its time limit');
});

test('with onTimeout detach, a command goes on in the background at its time limit', async () => {
  const root = temporaryFolder();
  const background = backgroundCommands();
  onTestFinished(() => background.close());
  const workspace = createWorkspace({ root });
  const bash = bashTool({ workspace, background, onTimeout: 'detach' });
  const command = 'echo one; while [ ! -e go ]; do sleep 0.01; done; echo two';
  const provider = scriptedProvider([
    calls(call('a', 'bash', { command: 'echo quick; exit 2' })),
    calls(call('b', 'bash', { command, timeout_ms: 300 })),
    () => {
      writeFileSync(join(root, 'go'), '');
      return { content: { parts: [call('c', 'read_output', { output: 'c1', wait_ms: 600_000 })] } };
    },
    'Done.',
  ]);
  const tools = [bash, readOutputTool({ running: background })];
  await createAgent({ provider, tools }).run('Go').result;
  const texts = resultsIn(provider.requests.at(-1)?.request.items ?? []).map(({ text }) => text);
  expect(texts[0]).toBe('quick\n[Exit code 2]');
  expect(texts[1]).toContain('[It takes longer than 300 ms]\n[It runs in the background as c1');
  expect(texts[2]).toBe('one\ntwo\n[c1 ended with exit code 0]');
});

test('a command whose process is gone is reported as lost, once', async () => {
  const log = memoryLog();
  const first = start(
    [calls(call('a', 'bash', { command: 'sleep 1000', background: true })), 'Started.'],
    { log },
  );
  await first.agent.run('Go', { session }).result;
  await first.background.close();
  const second = start(
    [calls(call('b', 'read_output', { output: 'c1' })), 'I see.', 'Again.', 'On.'],
    { log },
  );
  const lost = await second.background.findLost(log, session);
  expect(lost).toMatchObject([{ id: 'c1', command: 'sleep 1000' }]);
  await second.background.reportLost(log, session, lost);
  await second.background.reportLost(log, session, lost);
  await second.agent.run('What now?', { session }).result;
  const items = second.requests().at(-1) ?? [];
  expect(noticesIn(items)).toMatchObject([
    { text: expect.stringContaining('c1 was lost when the program ended') },
  ]);
  expect(resultsIn(items)[1]?.text).toBe('c1 was lost when the program ended. Its output is gone.');
  expect(await second.background.findLost(log, session)).toEqual([]);
  const again = await first.agent.replay(session);
  expect(again.divergence).toBeUndefined();
});

test('ids continue after those of an earlier process', async () => {
  const log = memoryLog();
  const first = start(
    [calls(call('a', 'bash', { command: 'true', background: true })), 'Started.'],
    { log },
  );
  await first.agent.run('Go', { session }).result;
  await first.background.close();
  const second = start(
    [calls(call('b', 'bash', { command: 'true', background: true })), 'Started.'],
    { log },
  );
  await second.agent.run('Again', { session }).result;
  expect(second.background.list(session)).toMatchObject([{ id: 'c2' }]);
});
