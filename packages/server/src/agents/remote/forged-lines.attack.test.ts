import { expect, test } from 'vitest';
import { acknowledge, startRemoteAgent } from '../../testing/servers/remote-agent.ts';
import { createTaskHarness } from '../../testing/servers/task-harness.ts';

// A remote agent answers with an error whose message looks like more lines of the server's log.

const forged = '2026-11-17T00:00:00.000Z DELETE /tokens/forged 200 1 ms 10.0.0.1 000001';
const message = `x\n${forged}\n\u001b[2J\u001b]0;title\u0007\u009b31m\r\u2028\u202eend`;

test('18.200: attack: the message of a remote agent adds no line to the diagnostics', async () => {
  const remote = await startRemoteAgent((call, response) => {
    if (!/^task\/(?:interrupt|cancel)$/.test(call.method)) return acknowledge(response, call);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id: call.id, error: { code: 1, message } }));
  });
  const { service, newTask, diagnostics } = await createTaskHarness([]);
  await service.agents.register({
    ...{ name: 'far', description: 'Far away', acp_url: remote.url, acp_type: 'async' },
  });
  const { id } = await newTask('far');
  await service.tasks.change(id, 'interrupt');
  await service.tasks.change(id, 'cancel');
  await expect.poll(() => diagnostics.join('\n')).toContain('forged');
  for (const line of diagnostics) expect(line).toMatch(/^Task [^\p{Cc}\u2028\u202e]*$/u);
});
