import { createAgent } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import type { LoopAgent } from '../contract/served-agent.ts';
import { createTaskHarness, eventually, textsOf } from '../testing/servers/task-harness.ts';

const fails: ScriptEntry = {
  content: { parts: ['It'] },
  fault: { type: 'error', after: 0, error: 'auth' },
};

const item = { id: 'late', kind: 'user', parts: [{ kind: 'text', text: 'Sure?' }] };

async function failedTask(script: readonly ScriptEntry[]) {
  const provider = scriptedProvider(script);
  const harness = await createTaskHarness((log: Log): readonly LoopAgent[] => [
    { type: 'loop', name: 'looper', agent: createAgent({ log, provider }) },
  ]);
  const { id } = await harness.newTask('looper');
  await (await harness.send('looper', id, 'Will it rain?')).messages().catch(() => {});
  const isIdle = async () => (await harness.log.info(sessionId(id)))?.hasWork === false;
  await eventually(isIdle);
  const retry = () => harness.service.tasks.submit(id, { type: 'retry' });
  return { harness, id, provider, isIdle, retry };
}

test('22.9: a failed run can be retried in place, without a second message', async () => {
  const { harness, id, provider, isIdle, retry } = await failedTask([fails, 'It will.']);
  await Promise.all([retry(), retry()]);
  await eventually(async () => provider.requests.length === 2 && (await isIdle()));
  expect(textsOf(await harness.messages(id))).toEqual(['Will it rain?', 'It will.']);
  const [first, second] = provider.requests.map(({ request }) => request.items);
  expect(second).toEqual(first);
  await expect(retry()).rejects.toMatchObject({ code: 'bad_state' });
  expect(provider.requests).toHaveLength(2);
});

test('22.9: a retry answers messages that wait for the agent, once', async () => {
  const { harness, id, provider, isIdle, retry } = await failedTask([fails, 'Yes.', 'Too much']);
  // A stopped task does not read the message yet.
  await harness.service.tasks.change(id, 'interrupt');
  const message = { type: 'message', when: 'follow_up', items: [item] };
  await harness.log.submit(sessionId(id), message as never, 'late');
  await retry();
  await eventually(async () => provider.requests.length > 1 && (await isIdle()));
  const texts = textsOf(await harness.messages(id));
  expect(texts).toEqual(['Will it rain?', 'Sure?', 'Yes.']);
});

test('22.9: a retry that fails can be retried again', async () => {
  const { harness, id, provider, isIdle, retry } = await failedTask([fails, fails, 'It will.']);
  for (let count = 2; count <= 3; count++) {
    await retry();
    await eventually(async () => provider.requests.length === count && (await isIdle()));
  }
  expect(textsOf(await harness.messages(id))).toEqual(['Will it rain?', 'It will.']);
});
