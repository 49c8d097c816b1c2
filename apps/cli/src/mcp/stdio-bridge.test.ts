import { createAgent } from '@millrace/agent';
import { isJsonObject, parseJson } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer, createToken } from '@millrace/server';
import { expect, test } from 'vitest';
import { StdioBridge } from './stdio-bridge.ts';

test('24.4: a client on standard input hears about changes of a session that it follows', async () => {
  const [log, token] = [memoryLog(), createToken()];
  const agent = createAgent({ provider: scriptedProvider(['One.', 'Two.']), log });
  const agents = [{ type: 'loop', name: 'helper', agent } as const];
  const server = createServer({ tokens: [token], log, agents });
  const lines: string[] = [];
  const bridge = new StdioBridge({
    ...{ fetch: server.fetch, token, adopt: async () => {} },
    write: async (line) => void lines.push(line),
  });
  const send = async (id: number, method: string, params: object) => {
    await bridge.handle(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    const isAnswer = (line: string) => {
      const read = parseJson(line);
      return read.ok && isJsonObject(read.value) && read.value['id'] === id;
    };
    await expect.poll(() => lines.find(isAnswer)).toBeDefined();
    return lines.find(isAnswer) ?? '';
  };
  const version = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} };
  await send(1, 'initialize', version);
  const said = await send(2, 'tools/call', { name: 'helper', arguments: { message: 'Hi' } });
  const [, session = ''] = /"session_id":"(\w+)"/.exec(said) ?? [];
  const uri = `millrace://sessions/${session}`;
  await send(3, 'resources/subscribe', { uri });
  await send(4, 'tools/call', {
    ...{ name: 'helper', arguments: { message: 'More', session_id: session } },
  });
  const updated = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } };
  await expect.poll(() => lines).toContain(JSON.stringify(updated));
  await server.close();
  await bridge.settled();
  await log.close();
});
