import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { a2a } from '@millrace/providers/a2a';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../../create-server.ts';
import { serveRemoteA2a } from '../../testing/a2a/remote-a2a-agent.ts';
import { agUiClient, runAgUi, say, shownOf } from '../../testing/ag-ui/ag-ui-client.ts';

test('18.1369: attack: a remote agent replaces an answer of many pieces, and the client gets the list of messages for each piece', async () => {
  const pieces = 400;
  const { url } = await serveRemoteA2a(async (turn) => {
    turn.status('SUBMITTED');
    for (let count = 0; count < pieces; count++) turn.write('a', 'x', count > 0, true);
    turn.write('a', 'another text', false, true);
    turn.status('COMPLETED');
  });
  const log = memoryLog();
  const agent = createAgent({ provider: a2a({ url }), log });
  const server = createServer({
    ...{ tokens: 'none', log, agents: [{ type: 'loop', name: 'helper', agent }] },
  });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const client = agUiClient((await server.listen({ port: 0 })).url);
  say(client, 'Go');
  const { events, error } = await runAgUi(client);
  expect(error).toBeUndefined();
  expect(events.filter(({ type }) => type === 'TEXT_MESSAGE_END').length).toBeGreaterThan(pieces);
  const lists = events.filter(({ type }) => type === 'MESSAGES_SNAPSHOT');
  expect(lists.length).toBeLessThan(20);
  expect(shownOf(client.messages)).toEqual(['user: Go', 'assistant: another text']);
});
