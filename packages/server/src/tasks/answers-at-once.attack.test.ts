import { createAgent, defineTool } from '@millrace/agent';
import { type Part, sessionId, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { withMethods } from '../../../agent/src/testing/test-doubles.ts';
import type { ServedAgent } from '../contract/served-agent.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import { createTaskHarness, eventually } from '../testing/servers/task-harness.ts';

const call: Part = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'pay', arguments: '{}' },
};

/** Creates two servers with one log, which stores no answer before `count` answers are submitted. */
async function twoServers(count: number) {
  const ran: string[] = [];
  const pay = defineTool({
    ...{ name: 'pay', description: 'Pays', input: z.object({}) },
    execute: async () => String(ran.push('pay')),
  });
  const stored = memoryLog();
  const { promise: allSubmitted, resolve } = Promise.withResolvers<void>();
  let submitted = 0;
  const log = withMethods(stored, {
    async submit(...given: Parameters<Log['submit']>) {
      const { type } = given[1];
      if (type === 'approve' || type === 'deny') {
        if (++submitted === count) resolve();
        await allSubmitted;
      }
      return stored.submit(...given);
    },
  });
  const rows = memoryRows();
  const agents = (): readonly ServedAgent[] => {
    const provider = scriptedProvider([{ content: { parts: [call] } }, 'Done.']);
    const approve = () => 'ask' as const;
    const settings = { tools: [pay], approve, whileAsking: 'park' } as const;
    return [{ type: 'loop', name: 'desk', agent: createAgent({ provider, log, ...settings }) }];
  };
  const serve = () => createTaskHarness(agents, { log, rows, watchMs: 5, leaseWaitMs: 5 });
  const servers = [await serve(), await serve()] as const;
  const { id } = await servers[0].newTask('desk');
  await (await servers[0].send('desk', id, 'Go')).messages();
  const isIdle = async () => (await stored.info(sessionId(id)))?.hasWork === false;
  return { servers, id, ran, isDone: () => eventually(isIdle) };
}

test.each([
  ['different keys', ['a', 'b']],
  ['the same key', ['a', 'a']],
] as const)(
  '18.1099: attack: two servers accept different answers to the same question, with %s',
  async (_, [one, other]) => {
    const { servers, id, ran, isDone } = await twoServers(2);
    const answer = { tool_call_id: 'c1' } as const;
    const [allowed, denied] = await Promise.allSettled([
      servers[0].service.tasks.submit(id, { type: 'approve', ...answer, by: 'Ada' }, { key: one }),
      servers[1].service.tasks.submit(id, { type: 'deny', ...answer, by: 'Bob' }, { key: other }),
    ]);
    await isDone();
    // The person whose answer does not count gets the answer that counts.
    const isAllowed = ran.length === 1;
    const [won, lost] = isAllowed ? [allowed, denied] : [denied, allowed];
    expect(won.status).toBe('fulfilled');
    const details = isAllowed ? { decision: 'allow', by: 'Ada' } : { decision: 'deny', by: 'Bob' };
    expect(lost).toMatchObject({ status: 'rejected', reason: { code: 'conflict', details } });
  },
);

test('18.1099: two servers accept the same answer to the same question', async () => {
  const { servers, id, ran, isDone } = await twoServers(2);
  const answers = servers.map(({ service }) =>
    service.tasks.submit(id, { type: 'approve', tool_call_id: 'c1' }),
  );
  await Promise.all(answers);
  await isDone();
  expect(ran).toHaveLength(1);
});
