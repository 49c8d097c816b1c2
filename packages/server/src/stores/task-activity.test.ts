import { createAgent } from '@millrace/agent';
import { type Log, systemClock } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import type { ServedAgent } from '../contract/served-agent.ts';
import {
  agentText,
  createTaskHarness,
  eventually,
  userText,
} from '../testing/servers/task-harness.ts';

const agents = {
  sync: () => [{ type: 'sync', name: 'agent', onMessage: async () => agentText('Yes') }],
  async: () => [{ type: 'async', name: 'agent', onEvent: async () => {} }],
  loop: (log: Log) => {
    const provider = scriptedProvider(Array.from({ length: 20 }, () => 'Yes'));
    return [{ type: 'loop', name: 'agent', agent: createAgent({ log, provider }) }];
  },
} satisfies Record<string, (log: Log) => readonly ServedAgent[]>;

describe.each(['sync', 'async', 'loop'] as const)('21: tasks of an agent of type %s', (type) => {
  test('are listed in the order of their last message', async () => {
    let time = 1_000_000;
    const clock = { ...systemClock, now: () => ++time };
    const harness = await createTaskHarness(agents[type], { clock });
    const { service, log, newTask, idOf } = harness;
    const agentId = await idOf('agent');
    const say = async (task_id: string) => {
      time += 10_000;
      const body = { task_id, content: userText('Is it there?') };
      if (type === 'async') await service.tasks.sendEvent(agentId, body);
      else await (await service.tasks.sendMessage(agentId, body)).messages();
      await eventually(async () => (await log.info(task_id))?.hasWork === false);
    };
    const listed = async () => {
      const page = { limit: 10, pageNumber: 1, orderBy: 'updated_at', direction: 'desc' } as const;
      const { data } = await service.tasks.list(page);
      return data.map(({ id }) => id);
    };
    const [first, second] = [(await newTask('agent')).id, (await newTask('agent')).id];
    for (const id of [first, second, first]) await say(id);
    expect(await listed()).toEqual([first, second]);
    await say(second);
    expect(await listed()).toEqual([second, first]);
    const before = (await harness.task(first)).updated_at;
    await service.tasks.update(first, { merge_metadata: { title: 'Keys' } });
    expect((await harness.task(first)).updated_at).toBe(before);
    await Promise.all(Array.from({ length: 5 }, () => say(first)));
    expect(await listed()).toEqual([first, second]);
  });
});
