import { LogError, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { createAgent } from '../create-agent.ts';
import { withAppends } from '../testing/test-doubles.ts';

test('21.H: a run whose log is full says what is stored, and continues when there is room', async () => {
  const disk = { isFull: false };
  const inner = memoryLog();
  const log = withAppends(inner, async (append, drafts) => {
    disk.isFull ||= drafts.some(({ fact }) => fact?.type === 'response_finished');
    if (disk.isFull) throw new LogError('storage_full', 'Cannot use the log at /secret: full');
    return append();
  });
  const provider = scriptedProvider(['It is sunny.', 'It is still sunny.']);
  const options = { provider, onInterrupted: 'retry' } as const;
  const { stop, error } = await createAgent({ ...options, log }).run('Weather?', { session: 's' })
    .result;
  const { through } = (await inner.info('s')) ?? {};
  expect(stop).toEqual({ reason: 'error', cause: 'storage_full' });
  expect(error?.message).toContain(`Its records up to offset ${through} are stored`);
  expect(error?.message).not.toContain('/secret');
  const { reason, text } = await createAgent({ ...options, log: inner }).resume('s').result;
  expect([reason, text]).toEqual(['stop', 'It is still sunny.']);
});
