import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { sessionStates } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { compaction, wordModel } from '../../../agent/src/testing/message-cost-law.ts';
import { createServer } from '../create-server.ts';
import { sqliteRows } from '../rows/sqlite/sqlite-rows.ts';

/** Starts a server on the files of a folder. Several servers can use the same files. */
async function serve(folder: string) {
  const log = sqliteLog({ path: join(folder, 'log.db') });
  sessionStates(log, { recordsPerSnapshot: 60 });
  const rows = sqliteRows({ path: join(folder, 'rows.db') });
  const agent = createAgent({ log, provider: wordModel, compaction });
  const agents = [{ type: 'loop', name: 'words', agent }] as const;
  const server = createServer({ log, rows, agents, tokens: 'none' });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await rows.close();
    await log.close();
  });
  return async (path: string, method: string, body?: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    expect(answer.status, text).toBeLessThan(300);
    return JSON.parse(text);
  };
}

test('21.F: a long task continues on all servers after an old message was edited', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-edit-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const servers = [await serve(folder), await serve(folder)] as const;
  const [first, second] = servers;
  const rpc = (server: typeof first, method: string, params: object) =>
    server('/agents/name/words/rpc', 'POST', { jsonrpc: '2.0', id: 1, method, params });
  const { id: task_id } = (await rpc(first, 'task/create', {})).result;
  const content = { type: 'text', author: 'user', content: 'How is the weather?' };
  const send = async (server: typeof first) => {
    const { result, error } = await rpc(server, 'message/send', { task_id, content });
    expect(error).toBeNull();
    return result;
  };
  // Both servers keep a state without the old items.
  for (let message = 0; message < 70; message++) await send(first);
  await send(second);
  await send(first);
  const oldest = await first(`/messages?task_id=${task_id}&limit=1&order_direction=asc`, 'GET');
  const { id } = oldest[0];
  const edited = { ...content, content: 'How is the sea?' };
  await first(`/messages/${id}`, 'PUT', { task_id, content: edited });
  for (const server of [second, first, second]) await send(server);
  for (const server of servers) {
    const { content: now } = await server(`/messages/${id}`, 'GET');
    expect(now.content).toBe('How is the sea?');
  }
});
