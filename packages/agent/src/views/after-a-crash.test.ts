import type { AgentEvent } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Run } from '../contract/run.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { call } from '../testing/model-script.ts';
import { eventsOf, textOfEvents } from '../testing/read-log.ts';
import { session } from '../testing/test-agent.ts';
import { defineTool } from '../tool/define-tool.ts';
import { readUIMessages } from './read-ui-messages.ts';

const refund = defineTool({
  ...{ name: 'refund', description: 'Refunds', input: z.object({}) },
  execute: async () => 'Paid',
});
const stalls = {
  content: { parts: ['Answer one'] },
  fault: { type: 'stall', after: 6 },
} as const;

/** An agent whose run "One" is cut off at the first event of this type, as a crash does. */
async function cutOffAt(
  type: AgentEvent['type'],
  script: readonly ScriptEntry[],
  options: Partial<AgentOptions> = {},
) {
  const log = memoryLog();
  const provider = scriptedProvider(script, { pieces: 'character' });
  const agent = createAgent({ log, provider, ...options });
  const crash = new AbortController();
  const one = agent.run('One', { session, leave: crash.signal });
  for await (const event of one.events) if (event.type === type) crash.abort();
  expect((await one.result).stop.cause).toBe('left');
  return { log, agent, one };
}

/** The message that the AI SDK's client has after it read the stream of a run. */
async function shown(run: Run): Promise<UIMessage | undefined> {
  const response = run.toUIMessageStreamResponse();
  const transport = new DefaultChatTransport({ fetch: async () => response });
  const stream = await transport.reconnectToStream({ chatId: 'c' });
  if (stream === null) throw new Error('The response has no stream');
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) last = message;
  return last;
}

const idOf = (run: Run) => `${run.session}.${run.id}`;
const typesOf = (events: readonly AgentEvent[]) => events.map(({ type }) => type);

describe.each(['keep', 'retry'] as const)('31.B1: the run after a crash (%s)', (onInterrupted) => {
  const script = [
    stalls,
    ...(onInterrupted === 'retry' ? ['Answer one again'] : []),
    'Answer two',
  ] satisfies readonly ScriptEntry[];

  test('has a UI message of its own, which is the stored message', async () => {
    const { log, agent } = await cutOffAt('assistant_text_delta', script, { onInterrupted });
    const two = agent.run('Two', { session });
    const message = await shown(two);
    expect(message?.id).toBe(idOf(two));
    const stored = await readUIMessages(log, session);
    expect(stored.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(stored.at(-1)).toEqual(message);
    expect(JSON.stringify(message)).not.toContain('Answer one');
    // A late reader gets the same message.
    expect(await shown(two)).toEqual(message);
  });

  test('has events that begin with its own first record', async () => {
    const { agent } = await cutOffAt('assistant_text_delta', script, { onInterrupted });
    const two = agent.run('Two', { session });
    const live = eventsOf(two);
    await two.result;
    for (const events of [await live, await eventsOf(two)]) {
      expect(events[0]).toMatchObject({ type: 'run_started', runId: two.id });
      expect(typesOf(events).filter((type) => type === 'run_finished')).toHaveLength(1);
      expect([textOfEvents(events), events.at(-1)?.type]).toEqual(['Answer two', 'run_finished']);
    }
  });
});

describe('31.B1: a run that first ends an earlier run which asks for an approval', () => {
  const asks = { content: { parts: ['Let me see.', call('r', 'refund', {})] } };
  const script = [stalls, asks, 'Answer one again', 'Answer two'];
  const options: Partial<AgentOptions> = {
    ...{ onInterrupted: 'retry', tools: [refund], approve: () => 'ask' },
  };

  test('has the question among its events, so that its reader can answer', async () => {
    const { agent } = await cutOffAt('assistant_text_delta', script, options);
    const two = agent.run('Two', { session });
    const events: AgentEvent[] = [];
    for await (const event of two.events) {
      events.push(event);
      if (event.type === 'approval_asked') await two.approve(event.toolCallId);
    }
    const own = typesOf(events).indexOf('run_started');
    expect(typesOf(events).slice(0, own)).toEqual(['approval_asked', 'approval_answered']);
    expect(textOfEvents(events)).toBe('Answer two');
  });

  test.each(['wait', 'park'] as const)(
    'shows the earlier message with its question (%s)',
    async (whileAsking) => {
      const all = { ...options, whileAsking };
      const { log, agent, one } = await cutOffAt('assistant_text_delta', script, all);
      const two = agent.run('Two', { session });
      const message = await shown(two);
      expect(message?.id).toBe(idOf(one));
      expect(message?.parts.at(-1)).toMatchObject({ state: 'approval-requested' });
      const stored = await readUIMessages(log, session);
      expect(stored.find(({ id }) => id === idOf(one))?.parts).toEqual(message?.parts);
      await agent.approve(session, 'r');
      if (whileAsking === 'park') await agent.resume(session).result;
      else expect((await shown(two))?.id).toBe(idOf(two));
    },
  );
});
