import { fileURLToPath } from 'node:url';
import { createAgent } from '@millrace/agent';
import { sessionId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect } from 'vitest';
import { z } from 'zod';
import { temporalTest, useTemporal } from '../testing/use-temporal.ts';
import { agentWorkflow } from './index.ts';

const temporal = useTemporal(fileURLToPath(new URL('../testing/workflows.ts', import.meta.url)));

temporalTest.for([
  ['small', 1_000],
  ['huge', 3_000_000],
] as const)(
  'a %s structured answer is returned by value or by reference',
  async ([name, length]) => {
    const log = memoryLog();
    const value = { level: 'x'.repeat(length) };
    const content = { parts: [{ kind: 'structured', value } as const] };
    const provider = scriptedProvider([{ content, pieces: 'whole' }]);
    const output = z.object({ level: z.string() });
    const agents = [createAgent({ name: 'weather', provider, output, log })];
    const [taskQueue, session] = [name, sessionId(name)];
    await temporal.withWorker({ taskQueue, agents }, async () => {
      const end = await temporal.client().workflow.execute(agentWorkflow, {
        ...{ taskQueue, workflowId: name, args: [{ agent: 'weather', input: 'Look.' }] },
      });
      expect(end.stop).toEqual({ reason: 'stop' });
      const last = transcript(await snapshot(log, session)).at(-1);
      expect(last?.parts).toMatchObject([{ kind: 'structured', value }]);
      if (name === 'small') expect(end).toMatchObject({ value });
      else expect(end).toMatchObject({ valueAt: { by: 'reference', session, itemId: last?.id } });
      expect('value' in end && 'valueAt' in end).toBe(false);
    });
  },
);
