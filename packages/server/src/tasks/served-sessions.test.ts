import { createAgent, defineTool } from '@millrace/agent';
import { type Part, sessionId, toolCallId } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { memoryRows } from '../rows/memory-rows.ts';
import {
  createTaskHarness,
  eventually,
  textsOf,
  userText,
} from '../testing/servers/task-harness.ts';

// A program without a server, such as a chat in a terminal, has created a session on the same log.

const session = sessionId('of-the-terminal');
const looks: Part = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'look', arguments: '{}' },
};
const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({}) },
  execute: async () => 'It is there',
});
const stalls = {
  content: { parts: ['In the middle of a sentence'] },
  fault: { type: 'stall', after: 2 },
} as const;

function agentOn(log: Log, script: Parameters<typeof scriptedProvider>[0], name = 'terminal') {
  const ways = { tools: [look], approve: () => 'ask' as const, whileAsking: 'park' } as const;
  return createAgent({
    ...{ provider: scriptedProvider(script), log, name, ...ways },
    onInterrupted: 'retry',
  });
}

/** Starts a service that serves the agent `terminal` on a log. */
function serve(
  log: Log,
  script: Parameters<typeof scriptedProvider>[0],
  recovers?: (task: string) => boolean,
) {
  const agent = agentOn(log, script, 'server');
  const served = { type: 'loop', name: 'terminal', agent, recovers } as const;
  return createTaskHarness([served], { log, rows: memoryRows(), watchMs: 5 });
}

test('23: adopts a session once, with its title', async () => {
  const log = memoryLog();
  await agentOn(log, ['Hello']).run('Hi', { session }).result;
  const { service, task, messages } = await serve(log, []);
  const options = { agent: 'terminal', metadata: { title: 'Hi' } };
  expect(await service.sessions.adopt(session, options)).toBe(true);
  expect(await service.sessions.adopt(session, options)).toBe(false);
  expect(await task(session)).toMatchObject({ id: session, task_metadata: { title: 'Hi' } });
  expect(textsOf(await messages(session))).toEqual(['Hi', 'Hello']);
  const none = service.sessions.adopt('unknown', options);
  await expect(none).rejects.toMatchObject({ code: 'not_found' });
  const other = service.sessions.adopt(session, { agent: 'unknown' });
  await expect(other).rejects.toMatchObject({ code: 'not_found' });
});

test('23: commands of clients reach the run of the other program', async () => {
  const log = memoryLog();
  const { service } = await serve(log, []);
  const ways = { tools: [look], approve: () => 'ask' as const, whileAsking: 'wait' } as const;
  const provider = scriptedProvider([{ content: { parts: [looks] } }, 'I saw it.']);
  const run = createAgent({ provider, log, name: 'terminal', ...ways }).run('Look', { session });
  await eventually(
    async () => (await snapshot(log, session).catch(() => undefined))?.asked.length === 1,
  );
  await service.sessions.adopt(session, { agent: 'terminal' });
  await service.tasks.submit(session, { type: 'approve', tool_call_id: 'c1', by: 'the page' });
  expect((await run.result).text).toBe('I saw it.');
});

test('23: an interrupted session continues only if the agent recovers it', async () => {
  const log = memoryLog();
  const leave = new AbortController();
  const run = agentOn(log, [stalls]).run('Hi', { session, leave: leave.signal });
  await eventually(async () => (await log.info(session))?.hasWork === true);
  leave.abort();
  await run.result;
  const mine = { is: false, scans: 0 };
  const harness = await serve(log, ['Continued.'], () => {
    mine.scans++;
    return mine.is;
  });
  await harness.service.sessions.adopt(session, { agent: 'terminal' });
  const epoch = (await log.info(session))?.epoch;
  const { scans } = mine;
  await eventually(async () => mine.scans > scans + 2);
  expect((await log.info(session))?.epoch).toBe(epoch);
  mine.is = true;
  await eventually(async () => (await log.info(session))?.hasWork === false);
  expect(textsOf(await harness.messages(session)).at(-1)).toBe('Continued.');
});

test('23: a released run continues in another process', async () => {
  const log = memoryLog();
  await agentOn(log, ['Hello']).run('Hi', { session }).result;
  const { service } = await serve(log, [stalls], () => false);
  await service.sessions.adopt(session, { agent: 'terminal' });
  await service.tasks.submit(session, { type: 'message', content: userText('Go on') });
  await eventually(async () => (await log.info(session))?.lease?.holder === 'server');
  await service.sessions.release(session);
  expect((await log.info(session))?.lease).toBeUndefined();
  const result = await agentOn(log, ['Taken back.']).resume(session).result;
  expect(result.text).toBe('Taken back.');
});
