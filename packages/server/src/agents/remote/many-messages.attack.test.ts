import { expect, test } from 'vitest';
import { resultLine, startRemoteAgent } from '../../testing/servers/remote-agent.ts';
import { agentText, createTaskHarness } from '../../testing/servers/task-harness.ts';

test('18.1365: attack: a remote agent sends many messages at once, and the server converts all of them in one turn', async () => {
  const lines = Array.from({ length: 900 }, (_, index) =>
    resultLine({ type: 'full', index, content: agentText(`message ${index}`) }),
  );
  const remote = await startRemoteAgent((_, response) => {
    response.setHeader('content-type', 'application/x-ndjson');
    response.end(lines.join(''));
  });
  const { service, newTask, send } = await createTaskHarness([]);
  await service.agents.register({
    ...{ name: 'far', description: 'Far away', acp_url: remote.url, acp_type: 'sync' },
  });
  const { id } = await newTask('far');
  const answer = await send('far', id, 'go');
  let turn = 0;
  const countTurns = () => {
    turn += 1;
    timer = setImmediate(countTurns);
  };
  let timer = setImmediate(countTurns);
  const updates = new Map<number, number>();
  for await (const _ of answer.updates()) updates.set(turn, (updates.get(turn) ?? 0) + 1);
  clearImmediate(timer);
  expect([...updates.values()].reduce((sum, count) => sum + count)).toBe(lines.length);
  expect(Math.max(...updates.values())).toBeLessThanOrEqual(64);
});
