import { toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { countingLog } from '../../../log/src/testing/counting-log.ts';
import { createAgent } from '../create-agent.ts';
import { call } from '../testing/model-script.ts';
import { defineTool } from '../tool/define-tool.ts';
import { submitDecision } from './submit-command.ts';

const refund = defineTool({
  ...{ name: 'refund', description: 'Refunds an order', input: z.object({}) },
  execute: async () => 'Refunded',
});

test('21.F law 18: a refused decision costs the same in a long session', async () => {
  const { log, take } = countingLog(memoryLog());
  const refused = async (id: string) => {
    const decision = { type: 'approve', toolCallId: toolCallId(id) } as const;
    const error = await submitDecision(log, 's', { decision }).catch((thrown: unknown) => thrown);
    return error as { readonly code: string };
  };
  /** Adds messages and a call, and counts what the second answer to this call reads. */
  const costAfter = async (messages: number, id: string) => {
    const answers = Array.from({ length: messages }, () => 'It is on its way.');
    const script = [...answers, { content: { parts: [call(id, 'refund', {})] } }, 'Done.'];
    const agent = createAgent({
      ...{ log, tools: [refund], whileAsking: 'park', approve: () => 'ask' },
      provider: scriptedProvider(script),
    });
    for (let sent = 0; sent <= messages; sent++) await agent.run('Hi', { session: 's' }).result;
    await agent.deny('s', id, { by: 'Ada' });
    await agent.resume('s').result;
    take();
    expect(await refused(id)).toMatchObject({
      ...{ code: 'already_decided', place: { decision: 'deny', by: 'Ada' } },
    });
    return take();
  };
  const short = await costAfter(30, 'c1');
  const long = await costAfter(90, 'c2');
  expect(long.records).toBeLessThanOrEqual(short.records + 50);
  expect(long.bytesRead).toBeLessThanOrEqual(1.25 * short.bytesRead + 2000);
  // The first call is still found in the part of the log that is searched.
  expect(await refused('c1')).toMatchObject({ code: 'already_decided' });
  expect(await refused('c9')).toMatchObject({ code: 'no_such_call' });
});
