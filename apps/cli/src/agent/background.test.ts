import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { backgroundCommands, bashTool, createWorkspace } from '@millrace/tools';
import { expect, test } from 'vitest';
import { builtAgentWith, runPrint, toolCall } from '../testing/run-print.ts';
import { folderWith, testAgent } from '../testing/test-agent.ts';

const session = sessionId('s');
const allowed = { permissions: { mode: 'allow', rules: [] } } as const;
const says = (...parts: readonly (string | ReturnType<typeof toolCall>)[]) => ({
  content: { parts },
});

test('an agent ends its background commands when it is closed', async () => {
  const start = toolCall('a', 'bash', { command: 'sleep 1000', background: true });
  const provider = scriptedProvider([says(start), 'It runs.']);
  const built = await testAgent({ provider, config: allowed });
  await built.agent.run('Go', { session }).result;
  expect(built.background?.running).toBe(1);
  await built.close();
  expect(built.background?.running).toBe(0);
});

test('sub-agents cannot start background commands, because nobody hears of their end', async () => {
  const provider = scriptedProvider([
    says(toolCall('a', 'task', { agent: 'worker', task: 'Do it' })),
    'Done.',
    'All done.',
  ]);
  const { agent } = await testAgent({ provider, config: allowed });
  await agent.run('Go', { session }).result;
  const fields = provider.requests.map(({ request }) =>
    JSON.stringify(request.tools?.find(({ name }) => name === 'bash')?.inputSchema),
  );
  expect(fields.map((one) => one.includes('"background"'))).toEqual([true, false, true]);
});

test('a session that only reads has no background commands', async () => {
  const config = { permissions: { mode: 'read-only', rules: [] } } as const;
  const { background } = await testAgent({ provider: scriptedProvider([]), config });
  expect(background).toBeUndefined();
});

test('-p ends the background commands with the run, and says so', async () => {
  const background = backgroundCommands();
  const tools = [bashTool({ workspace: createWorkspace({ root: folderWith() }), background })];
  const start = toolCall('a', 'bash', { command: 'sleep 1000', background: true });
  const provider = scriptedProvider([says(start), says('It runs.')]);
  const log = memoryLog();
  const built = { ...builtAgentWith({ provider, log, tools }), background };
  const { stdout, stderr, code } = await runPrint({ script: [], log, built });
  expect({ stdout, code }).toEqual({ stdout: 'It runs.\n', code: 0 });
  expect(stderr).toContain('Background commands that ended with the run: c1 (sleep 1000)');
  expect(background.running).toBe(0);
});
