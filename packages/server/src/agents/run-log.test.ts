import { createAgent, defineTool } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { patientMs } from '../../../core/src/testing/runs.ts';
import type { ServedAgent } from '../contract/served-agent.ts';
import { createServer } from '../create-server.ts';
import { runLogObserver } from './run-log.ts';

const secret = 'my card is 4111 1111 1111 1111';

const pay = defineTool({
  ...{ name: 'pay', description: 'Pays', input: z.object({}) },
  execute: async () => {
    throw new TypeError(`Cannot pay: ${secret}`);
  },
});

const rateLimit = {
  content: { parts: ['Wait'] },
  fault: { type: 'error', after: 0, error: 'rate_limit' },
} as const;

async function serve() {
  const log = memoryLog();
  const provider = scriptedProvider([rateLimit, toolCall('pay', {}), rateLimit, rateLimit]);
  const retry = { baseDelayMs: 1, maxAttempts: 2 };
  const loop = createAgent({ provider, log, tools: [pay], retry });
  const fail = async () => {
    throw new RangeError(secret);
  };
  const agents: readonly ServedAgent[] = [
    { type: 'loop', name: 'loop', agent: loop },
    { type: 'sync', name: 'sync', onMessage: fail },
    { type: 'async', name: 'async', onEvent: fail },
  ];
  const lines: string[] = [];
  const write = (line: string) => lines.push(line);
  const requestLog = { format: 'json', write } as const;
  const server = createServer({ tokens: 'none', log, agents, requestLog });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const send = async (agent: string, method: string, params: object) => {
    const body = JSON.stringify({ id: 1, method, params });
    const headers = { 'content-type': 'application/json' };
    const path = `${url}/agents/name/${agent}/rpc`;
    const response = await fetch(path, { method: 'POST', headers, body });
    return (await response.json()) as { readonly result: { readonly id: string } };
  };
  const events = () =>
    lines
      .map((line) => JSON.parse(line) as { readonly kind: string })
      .filter(({ kind }) => kind !== 'request');
  return { send, events, lines };
}

test('22.8: the log has failed runs, failed tools and retries, without content', async () => {
  const { send, events, lines } = await serve();
  const content = { type: 'text', author: 'user', content: secret };
  const ids: string[] = [];
  for (const agent of ['loop', 'sync', 'async']) {
    const { result } = await send(agent, 'task/create', {});
    ids.push(result.id);
    const method = agent === 'sync' ? 'message/send' : 'event/send';
    await send(agent, method, { task_id: result.id, content });
  }
  await vi.waitFor(() => expect(events()).toHaveLength(6), patientMs(10_000));
  const of = (id: string | undefined) =>
    events().filter((event) => 'task' in event && event.task === id);
  const [loop, sync, async] = ids;
  expect(of(loop)).toMatchObject([
    { kind: 'retry', agent: 'loop', turn: 1, attempt: 1, code: 'rate_limit' },
    { kind: 'tool_failed', agent: 'loop', turn: 1, tool: 'pay' },
    { kind: 'retry', agent: 'loop', turn: 2, code: 'rate_limit' },
    { kind: 'run_failed', agent: 'loop', reason: 'error', code: 'rate_limit' },
  ]);
  expect(of(sync)).toMatchObject([{ kind: 'run_failed', agent: 'sync', name: 'RangeError' }]);
  expect(of(async)).toMatchObject([{ kind: 'run_failed', agent: 'async', name: 'RangeError' }]);
  expect(lines.join('\n')).not.toContain('4111');
});

test('22.8: the log costs a streamed text nothing', async () => {
  let calls = 0;
  const counted = runLogObserver(() => {}, 'task', 'agent');
  const observer = Object.assign(
    (...given: Parameters<typeof counted>) => {
      expect(given[0].delta).toBeUndefined();
      calls++;
      counted(...given);
    },
    { ignoresDeltas: counted.ignoresDeltas },
  );
  const provider = scriptedProvider(['one two three four'], { pieces: 'token' });
  await createAgent({ provider, observers: [observer] }).run('Count').result;
  expect(calls).toBeGreaterThan(0);
});
