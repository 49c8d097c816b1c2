import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.ts';
import { submitCommand } from '../input/submit-command.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { call } from '../testing/model-script.ts';
import { StepRunner } from '../testing/step-runner.ts';
import { defineTool } from '../tool/define-tool.ts';

const session = sessionId('s');
const refund = defineTool({
  ...{ name: 'refund', description: 'Refunds an order', input: z.object({}) },
  execute: async () => 'Refunded',
});

/** Runs once, queues two aborts while no run is open, and then continues with `next`. */
async function afterAborts(
  approve: 'ask' | 'allow',
  next: (agent: ReturnType<typeof createAgent>) => Promise<unknown>,
) {
  const log = memoryLog();
  const script = [{ content: { parts: [call('c1', 'refund', {})] } }, 'Done.', 'Yes.'];
  const settings = { log, tools: [refund], whileAsking: 'park', approve: () => approve } as const;
  const agent = createAgent({ ...settings, provider: scriptedProvider(script) });
  await agent.run('Refund it.', { session }).result;
  const { through } = (await log.info(session)) ?? { through: 0 };
  for (let abort = 0; abort < 2; abort++) await submitCommand(log, session, { type: 'abort' });
  await next(agent);
  const { records } = await log.read(session);
  expect(findLogProblems(session, records)).toEqual([]);
  const later = records.filter(({ offset }) => offset > through);
  return later.flatMap(({ fact }) => fact?.type ?? []);
}

describe('aborts that are queued while no run is open', () => {
  test('end a parked turn, by a run as by a step', async () => {
    const run = await afterAborts('ask', (agent) => agent.resume(session).result);
    const step = await afterAborts('ask', (agent) => new StepRunner(agent, session).drive());
    expect(step).toEqual(run);
    expect(run.filter((type) => type === 'aborted')).toHaveLength(1);
    expect(run.filter((type) => type === 'command_consumed')).toHaveLength(2);
    expect(run).toContain('tool_call_rejected');
  });

  test('have no effect after the end of a run, for a run as for a step', async () => {
    const run = await afterAborts('allow', (agent) => agent.run('Sure?', { session }).result);
    const step = await afterAborts('allow', async (agent) => {
      const runner = new StepRunner(agent, session);
      await runner.submitMessage('Sure?');
      expect((await runner.drive()).text).toBe('Yes.');
    });
    for (const facts of [run, step]) {
      expect(facts).not.toContain('aborted');
      const before = facts.slice(0, facts.indexOf('run_started'));
      expect(before.filter((type) => type === 'command_consumed')).toHaveLength(2);
    }
  });
});
