import { createAgent } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import type { ServedAgent } from '../contract/served-agent.ts';
import {
  agentText,
  createTaskHarness,
  eventually,
  textsOf,
  userText,
} from '../testing/servers/task-harness.ts';

const foreign = { type: 'teleport', to: 'mars' };

const kinds: Readonly<Record<string, (log: Log) => ServedAgent>> = {
  loop: (log) => ({
    ...{ type: 'loop', name: 'agent' },
    agent: createAgent({ provider: scriptedProvider(['Hello']), log }),
  }),
  sync: () => ({ type: 'sync', name: 'agent', onMessage: async () => agentText('Hello') }),
  async: () => ({
    ...{ type: 'async', name: 'agent' },
    onEvent: async (_event, { messages }) => void (await messages.create(agentText('Hello'))),
  }),
};

/** Returns the errors with which commands were consumed. */
async function refusals(log: Log, id: string) {
  const { records } = await log.read(sessionId(id), { maxBytes: Number.POSITIVE_INFINITY });
  return records.flatMap(({ fact }) =>
    fact?.type === 'command_consumed' && fact.key === 'foreign' ? (fact.error ?? 'no error') : [],
  );
}

describe('21.L: a command of an unknown type', () => {
  test.for(Object.entries(kinds))('21.L: does not wait for ever (%s agent)', async ([, kind]) => {
    const harness = await createTaskHarness((log) => [kind(log)], { watchMs: 5, idleMs: 5 });
    const { log, service } = harness;
    const { id } = await harness.newTask('agent');
    await log.submit(sessionId(id), foreign, 'foreign');
    await eventually(async () => (await log.info(sessionId(id)))?.hasWork === false);
    const message = expect.stringContaining('no command of the type "teleport"');
    await eventually(async () => (await refusals(log, id)).length > 0);
    expect(await refusals(log, id)).toEqual([{ code: 'unknown_command', message }]);
    // An agent loop reports the problem to its own `onDiagnostic`.
    if (kind(log).type !== 'loop') expect(harness.diagnostics.join()).toContain('teleport');
    expect((await harness.task(id)).status).toBe('RUNNING');
    const { through } = (await log.info(sessionId(id))) ?? {};
    const agentId = await harness.idOf('agent');
    const body = { task_id: id, content: userText('Hi') };
    if (kind(log).type === 'async') await service.tasks.sendEvent(agentId, body);
    else await (await service.tasks.sendMessage(agentId, body)).messages();
    await eventually(async () => textsOf(await harness.messages(id)).includes('Hello'));
    expect(through).toBeLessThan(10);
  });
});
