import { agUiAgent, type RemotePeer, remoteAgent } from '@millrace/agent/remote';
import { type LogRecord, sessionId } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { expect, test } from 'vitest';
import { serveRemoteAgUi } from '../../testing/ag-ui/remote-ag-ui-agent.ts';

const session = sessionId('s1');

test.each([
  ['results of unknown calls', 'error', false],
  ['calls with results', 'stop', true],
] as const)(
  '18.445: attack: many long %s are bounded together',
  async (_what, reason, hasCalls) => {
    const long = 'x'.repeat(5 * 2 ** 20);
    const written = Array.from({ length: 16 }, () => Promise.withResolvers<void>());
    const onRecord = ({ delta }: LogRecord) => {
      if (delta?.type === 'append_text') written[Number(delta.chunk)]?.resolve();
    };
    const peer: RemotePeer = {
      ...{ protocol: 'test', name: 'test' },
      async *send() {
        for (const [at, { promise }] of written.entries()) {
          if (hasCalls) yield { type: 'call', id: `c${at}`, name: 'bash', input: { at } };
          yield { type: 'result', id: `c${at}`, text: long, isError: false };
          yield { type: 'text', text: String(at), message: `m${at}` };
          // Our log has everything before the next result arrives.
          await promise;
        }
        yield { type: 'end', stop: { reason: 'stop' } };
      },
    };
    const agent = remoteAgent(peer, { log: memoryLog(), observers: [onRecord] });
    const result = await agent.run('Go', { session }).result;
    expect(result.reason).toBe(reason);
    expect(result.error?.message).toBe(
      hasCalls ? undefined : 'The remote agent sent too much while its calls ran',
    );
  },
);

test('18.446: the next message replaces a cancellation that the remote agent does not end', async () => {
  const closed = Promise.withResolvers<void>();
  const { url, inputs } = await serveRemoteAgUi(async ({ input, send, signal }) => {
    const { threadId, runId } = input;
    const interrupts = [{ id: 'i', reason: 'input', message: 'Which color?' }];
    if (inputs.length === 1)
      return send('RUN_FINISHED', { threadId, runId, outcome: { type: 'interrupt', interrupts } });
    if (inputs.length > 2) return send('RUN_FINISHED', { threadId, runId });
    signal.addEventListener('abort', () => closed.resolve());
    await closed.promise;
  });
  const log = memoryLog();
  const agent = agUiAgent({ url, log });
  const run = agent.run('Paint', { session });
  await expect.poll(async () => (await snapshot(log, session)).asked.length).toBe(1);
  run.abort();
  await run.result;
  await expect.poll(() => inputs.length).toBe(2);
  await agent.run('Go on', { session }).result;
  await closed.promise;
  const cancelled = [{ interruptId: 'i', status: 'cancelled' }];
  expect(inputs.map(({ resume }) => resume)).toEqual([undefined, cancelled, cancelled]);
});
