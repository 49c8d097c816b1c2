import { fileURLToPath } from 'node:url';
import { createAgent, defineTool } from '@millrace/agent';
import { sessionId, type ToolCallPart, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect } from 'vitest';
import { z } from 'zod';
import type { MillraceActivities } from '../contract/activities.ts';
import { hasFact, textsOf, waitForRecords } from '../testing/session-log.ts';
import { temporalTest, useTemporal } from '../testing/use-temporal.ts';
import { concurrentShoutsWorkflow, otherSessionWorkflow } from '../testing/workflows.ts';
import { agentWorkflow } from '../workflow/index.ts';
import { createActivities } from './create-activities.ts';
import { streamingContext } from './index.ts';
import { manualProvider } from './manual-provider.ts';

const temporal = useTemporal(fileURLToPath(new URL('../testing/workflows.ts', import.meta.url)));

/** A barrier that resolves when this many callers have arrived. */
function barrier(size: number) {
  const all = Promise.withResolvers<void>();
  let arrived = 0;
  const arrive = () => {
    if (++arrived === size) all.resolve();
  };
  return { come: arrive, all: all.promise };
}

temporalTest(
  'streaming contexts of one workflow in one session run one after the other',
  async () => {
    const log = memoryLog();
    const { come, all } = barrier(3);
    const shout = (text: string) => {
      come();
      return streamingContext({ log }, async (stream) => {
        stream.write(`${text} `);
        await all;
        stream.write('again');
      });
    };
    const taskQueue = 'concurrent';
    const texts = ['one', 'two', 'three'];
    await temporal.withWorker({ taskQueue, activities: { shout } }, async () => {
      const sent = await temporal.client().workflow.execute(concurrentShoutsWorkflow, {
        ...{ taskQueue, workflowId: 'concurrent', args: [texts] },
      });
      expect(sent.map(({ text }) => text)).toEqual(texts.map((text) => `${text} again`));
    });
    const records = await waitForRecords(log, sessionId('concurrent'), hasFact('run_finished'));
    expect(records.map(({ fact }) => fact?.type)).not.toContain('attempt_superseded');
    const stored = await textsOf(log, sessionId('concurrent'));
    expect([...stored].sort()).toEqual(['one again', 'three again', 'two again']);
    expect((await log.info(sessionId('concurrent')))?.lease).toBeUndefined();
  },
);

temporalTest(
  'concurrent requests of several workflows in one session are answered in order',
  async () => {
    const log = memoryLog();
    const { come, all } = barrier(2);
    let [answers, tries] = [0, 0];
    const { provider: writer } = manualProvider(async (stream) => {
      const name = `Answer ${++answers}`;
      stream.write(name);
      await all;
      stream.write('.');
    });
    const { millraceAutoSend: send } = createActivities({ providers: { writer }, log });
    const millraceAutoSend: MillraceActivities['millraceAutoSend'] = (input) => {
      come();
      tries += 1;
      return send(input);
    };
    const taskQueue = 'shared';
    await temporal.withWorker({ taskQueue, activities: { millraceAutoSend } }, async () => {
      const { workflow } = temporal.client();
      await Promise.all(
        ['A?', 'B?'].map((input) =>
          workflow.execute(otherSessionWorkflow, {
            ...{ taskQueue, workflowId: `asks ${input}`, args: ['shared', input] },
          }),
        ),
      );
    });
    // Each activity waits in its first attempt. Failed attempts would reach the limit.
    expect(tries).toBe(2);
    const [first, second] = await textsOf(log, sessionId('shared')).then((texts) => [
      texts.slice(0, 2),
      texts.slice(2),
    ]);
    expect([first?.[1], second?.[1]]).toEqual(['Answer 1.', 'Answer 2.']);
    expect([first?.[0], second?.[0]].sort()).toEqual(['A?', 'B?']);
  },
);

temporalTest('a tool that streams to its own session gets an error with the reason', async () => {
  const log = memoryLog();
  const call: ToolCallPart = {
    ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'look' },
    arguments: '{}',
  };
  const look = defineTool({
    ...{ name: 'look', description: 'Looks', input: z.object({}) },
    execute: async () => {
      await streamingContext({ log }, async (stream) => stream.write('looking'));
      return 'fine';
    },
  });
  const provider = scriptedProvider([{ content: { parts: [call] } }, 'So be it.']);
  const agents = [createAgent({ name: 'weather', provider, tools: [look], log })];
  const taskQueue = 'own-run';
  await temporal.withWorker({ taskQueue, agents }, async () => {
    const end = await temporal.client().workflow.execute(agentWorkflow, {
      ...{ taskQueue, workflowId: 'own-run', args: [{ agent: 'weather', input: 'Look.' }] },
    });
    expect(end).toMatchObject({ text: 'So be it.', stop: { reason: 'stop' } });
  });
  const [, result] = await textsOf(log, sessionId('own-run'));
  expect(result).toMatch(/the run waits for the tool.*streamingContext\(\{ session \}\)/);
});
