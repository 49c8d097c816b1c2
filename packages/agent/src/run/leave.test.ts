import { type Part, sessionId, toolCallId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { VirtualClock } from '../testing/virtual-time.ts';
import { defineTool } from '../tool/define-tool.ts';

const session = sessionId('s');
const stalls = {
  content: { parts: ['Half an answer'] },
  fault: { type: 'stall', after: 2 },
} as const;
const call: Part = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c'), name: 'look', arguments: '{}' },
};

/** An agent whose run is left at the first record of this type. */
async function leftAt(
  type: string,
  script: readonly ScriptEntry[],
  options: Partial<AgentOptions> = {},
) {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(script), log, ...options });
  const leaving = new AbortController();
  const run = agent.run('Go', { session, leave: leaving.signal });
  for await (const event of run.events) if (event.type === type) leaving.abort();
  return { log, agent, result: await run.result, state: await snapshot(log, session) };
}

const texts = async (log: ReturnType<typeof memoryLog>) =>
  transcript(await snapshot(log, session)).flatMap(({ parts }) =>
    parts.flatMap((part) => ('text' in part ? part.text : [])),
  );

describe('a run that is left', () => {
  test('reports it, writes no end, and releases its lease', async () => {
    const { log, result, state } = await leftAt('assistant_text_delta', [stalls]);
    expect(result.stop).toEqual({ reason: 'error', cause: 'left' });
    expect(state.run).toBeDefined();
    expect(await log.info(session)).toMatchObject({ hasWork: true, lease: undefined });
  });

  test('during an answer is retried by the process that resumes it', async () => {
    const retries = { onInterrupted: 'retry' } as const;
    const { log, agent } = await leftAt('assistant_text_delta', [stalls, 'All of it'], retries);
    expect((await agent.resume(session).result).text).toBe('All of it');
    expect(await texts(log)).toEqual(['Go', 'All of it']);
  });

  test('while it waits for an approval still waits, and then runs the approved call', async () => {
    const look = defineTool({
      ...{ name: 'look', description: 'Looks', input: z.object({}) },
      execute: async () => 'It is there',
    });
    const asks = { tools: [look], approve: () => 'ask' as const };
    const script = [{ content: { parts: [call] } }, 'It is.'];
    const { log, agent, result, state } = await leftAt('approval_asked', script, asks);
    expect(result.stop.cause).toBe('left');
    expect(state.asked).toHaveLength(1);
    const run = agent.resume(session);
    await run.approve(toolCallId('c'));
    expect((await run.result).text).toBe('It is.');
    expect(await texts(log)).toContain('It is there');
  });

  test('while a call is nearly done keeps its result, and starts nothing after it', async () => {
    const asked = Promise.withResolvers<void>();
    const look = defineTool({
      ...{ name: 'look', description: 'Looks', input: z.object({}) },
      async *execute() {
        yield 'Looking';
        await asked.promise;
        return 'It is there';
      },
    });
    const log = memoryLog();
    const provider = scriptedProvider([{ content: { parts: [call] } }, 'It is.']);
    const agent = createAgent({ provider, log, tools: [look] });
    const leaving = new AbortController();
    const run = agent.run('Go', { session, leave: leaving.signal });
    for await (const event of run.events)
      if (event.type === 'tool_execution_update') {
        leaving.abort();
        asked.resolve();
      }
    expect((await run.result).stop.cause).toBe('left');
    expect(await texts(log)).toEqual(['Go', 'It is there']);
    expect(provider.requests).toHaveLength(1);
    expect((await agent.resume(session).result).text).toBe('It is.');
  });

  test('while a call takes long does not wait for it, and its outcome is unknown', async () => {
    const never = Promise.withResolvers<string>();
    const clock = new VirtualClock();
    const look = defineTool({
      ...{ name: 'look', description: 'Looks', input: z.object({}) },
      execute: (_input, { signal }) => {
        signal.addEventListener('abort', () => never.resolve('Stopped'));
        return never.promise;
      },
    });
    const log = memoryLog();
    const provider = scriptedProvider([{ content: { parts: [call] } }, 'It is.']);
    const agent = createAgent({ provider, log, tools: [look], clock });
    const leaving = new AbortController();
    const run = agent.run('Go', { session, leave: leaving.signal });
    for await (const event of run.events)
      if (event.type === 'tool_execution_started') {
        leaving.abort();
        await clock.advance(2000);
      }
    expect((await run.result).stop.cause).toBe('left');
    await agent.resume(session).result;
    expect((await texts(log)).join()).toContain('nobody knows whether it was done');
  });

  test('before it started writes nothing', async () => {
    const log = memoryLog();
    const agent = createAgent({ provider: scriptedProvider(['Never']), log });
    const { stop } = await agent.run('Go', { session, leave: AbortSignal.abort() }).result;
    expect(stop.cause).toBe('left');
    expect(await texts(log)).toEqual([]);
  });
});
