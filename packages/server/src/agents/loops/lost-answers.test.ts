import { createAgent } from '@millrace/agent';
import { type Log, LogError, memoryLog } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { withAppends, withMethods } from '../../../../agent/src/testing/test-doubles.ts';
import type { LoopAgent } from '../../contract/served-agent.ts';
import { memoryRows } from '../../rows/memory-rows.ts';
import {
  createTaskHarness,
  eventually,
  type TaskHarness,
  textsOf,
} from '../../testing/servers/task-harness.ts';

/** Creates a log whose reads, or whose writes by drivers, can be made to fail. */
function breakable() {
  const broken = { writes: false, reads: false };
  const fail = async (): Promise<never> => {
    throw new LogError('storage', 'Cannot write: the disk is full');
  };
  const stored = memoryLog();
  const read: Log['read'] = (...which) => (broken.reads ? fail() : stored.read(...which));
  const log = withAppends(withMethods(stored, { read }), (append) =>
    broken.writes ? fail() : append(),
  );
  return { log, broken };
}

/** Creates a provider that streams the first half of its answer, and the rest after it is released. */
function gated(script: Parameters<typeof scriptedProvider>[0], released: Promise<void>): Provider {
  const provider = scriptedProvider(script, { pieces: 'token' });
  return {
    ...provider,
    stream: async function* (request, context) {
      let steps = 0;
      for await (const step of provider.stream(request, context)) {
        if (steps++ === 3) await released;
        yield step;
      }
    },
  };
}

const hasSpoken = async (harness: TaskHarness, id: string) =>
  (await harness.messages(id)).length === 2;

describe('a client that waits for the answer of a failed run', () => {
  test.each(['writes', 'reads'] as const)('gets an error when the log fails: %s', async (what) => {
    const { log, broken } = breakable();
    const gate = Promise.withResolvers<void>();
    const provider = gated(['One two three four', 'Back'], gate.promise);
    const served: LoopAgent = {
      ...{ type: 'loop', name: 'looper', agent: createAgent({ provider, log }) },
    };
    const harness = await createTaskHarness([served], { log, rows: memoryRows() });
    const { id } = await harness.newTask('looper');
    const answer = await harness.send('looper', id, 'Hi');
    const messages = answer.messages();
    messages.catch(() => {});
    await eventually(() => hasSpoken(harness, id));
    broken.writes = true;
    broken.reads = what === 'reads';
    gate.resolve();
    await expect(messages).rejects.toMatchObject({ place: { task: id } });
    broken.writes = false;
    broken.reads = false;
    await harness.service.close();
  });
});

test('a message that is withdrawn before the agent reads it has no answer, and its client gets an error', async () => {
  const gate = Promise.withResolvers<void>();
  const harness = await createTaskHarness((log) => {
    const provider = gated(['One two three four', 'Another'], gate.promise);
    return [{ type: 'loop', name: 'looper', agent: createAgent({ provider, log }) }];
  });
  const { id } = await harness.newTask('looper');
  const agentId = await harness.idOf('looper');
  const first = await harness.send('looper', id, 'Hi');
  await eventually(() => hasSpoken(harness, id));
  const content = (await harness.messages(id))[0]?.content ?? expect.fail();
  const waits = await harness.service.tasks.sendMessage(
    agentId,
    { task_id: id, content },
    { key: 'k' },
  );
  const answered = waits.messages();
  answered.catch(() => {});
  await harness.service.tasks.submit(id, { type: 'withdraw', key: 'k' });
  gate.resolve();
  expect(textsOf(await first.messages())).toEqual(['One two three four']);
  await expect(answered).rejects.toMatchObject({ code: 'bad_state' });
  const again = await harness.service.tasks.sendMessage(
    agentId,
    { task_id: id, content },
    { key: 'k' },
  );
  await expect(again.messages()).rejects.toMatchObject({ code: 'bad_state' });
});
