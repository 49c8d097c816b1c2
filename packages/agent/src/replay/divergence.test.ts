import { itemId, type LogRecord, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.ts';
import {
  compaction,
  fails,
  go,
  handOffScenario,
  looks,
  lookTool,
  output,
  type ReplayScenario,
  record,
  replayInert,
  session,
  singleAgent,
  usage,
  value,
} from '../testing/replay-scenarios.ts';
import { handOff } from '../tool/agent-tools.ts';
import { defineTool } from '../tool/define-tool.ts';

/** Runs timers as soon as nothing else happens, so that the test does not wait for them. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    let isDone = false;
    const done = work().finally(() => {
      isDone = true;
    });
    done.catch(() => {});
    while (!isDone) {
      for (let round = 0; round < 100; round++) await new Promise((next) => setImmediate(next));
      vi.advanceTimersByTime(1000);
    }
    return await done;
  } finally {
    vi.useRealTimers();
  }
}

describe('an agent that would act differently', () => {
  const script = [looks('a'), 'There.'];
  const offsetOf = (records: readonly LogRecord[], type: string) =>
    records.find(({ fact }) => fact?.type === type)?.offset ?? -1;

  /** Records one agent and replays the session with another. */
  async function diverging(was: ReplayScenario, now: ReplayScenario) {
    const { log, records } = await record(was);
    const before = await log.read(session);
    const replayed = await replayInert(now.buildAgent, log);
    const { divergence } = replayed;
    if (divergence === undefined) return expect.fail('it does the same');
    const { offset } = divergence;
    expect(divergence.expected).toEqual(records.find((record) => record.offset === offset));
    expect(replayed.records).toEqual(records.filter((record) => record.offset < offset));
    expect(replayed.state.through).toBe(offset - 1);
    expect(divergence.message).toContain(`Record ${offset} is `);
    expect(await log.read(session)).toEqual(before);
    return { ...divergence, records };
  }

  test('with another schema: the call is rejected', async () => {
    const input = z.object({ at: z.string(), deep: z.boolean() });
    const now = defineTool({
      ...{ name: 'look', description: 'Looks', input, execute: async () => 'no' },
    });
    const { offset, records, message, found } = await diverging(
      singleAgent(script),
      singleAgent(script, { tools: [now] }),
    );
    expect(offset).toBe(offsetOf(records, 'tool_execution_started'));
    expect(found[0]?.fact).toMatchObject({ type: 'tool_call_rejected', code: 'invalid' });
    expect(message).toContain('tool_execution_started of look (turn 1, attempt 1)');
    expect(message).toContain('tool_call_rejected of look (turn 1, attempt 1)');
  });

  test('without a tool', async () => {
    const { offset, records, found } = await diverging(
      singleAgent(script),
      singleAgent(script, { tools: [] }),
    );
    expect(offset).toBe(offsetOf(records, 'tool_execution_started'));
    expect(found[0]?.fact).toMatchObject({ type: 'tool_call_rejected', code: 'unknown' });
  });

  test('with an additional tool: its call would need a decision', async () => {
    const found = patiently(() =>
      diverging(singleAgent(script, { tools: [] }), singleAgent(script)),
    );
    const { offset, records, message } = await found;
    expect(offset).toBe(offsetOf(records, 'tool_call_rejected'));
    expect(message).toContain('tool_call_rejected of look');
  });

  const renamed = lookTool({ summarize: ({ at }) => `look at ${at}` });

  test('with another summary', async () => {
    const { offset, records, found } = await diverging(
      singleAgent(script),
      singleAgent(script, { tools: [renamed] }),
    );
    expect(offset).toBe(offsetOf(records, 'tool_execution_started'));
    expect(found[0]?.fact).toMatchObject({ summary: 'look at a' });
  });

  // Regression: if both records had the same type, the message did not say what differs.
  test('the message names the fields that differ', async () => {
    const { message } = await diverging(
      singleAgent(script),
      singleAgent(script, { tools: [renamed] }),
    );
    expect(message).toContain('summary');
  });

  // Regression: the first record of a batch was reported, whichever record differed.
  test('the divergence is the record that differs, not the start of its batch', async () => {
    const handing = (reason: string): ReplayScenario => ({
      buildAgent: ({ log, provider, tool }) => {
        const to = createAgent({ name: 'two', provider: provider(['Hello.']) });
        const hands = handOff({ to, description: 'To two', name: 'look' });
        const why = { to: () => to, reason: () => reason };
        const tools = [tool({ ...hands, handsOff: why })];
        return createAgent({ name: 'one', log, provider: provider([looks('a')]), tools });
      },
      run: go,
    });
    const found = patiently(() => diverging(handing('one'), handing('another')));
    const { offset, records } = await found;
    expect(offset).toBe(offsetOf(records, 'handed_off'));
  });

  test('with other limits', async () => {
    const long = singleAgent([looks('a'), looks('b'), 'Both.']);
    const short = singleAgent([looks('a'), looks('b'), 'Both.'], { limits: { maxTurns: 1 } });
    const less = await diverging(long, short);
    expect(less.found[0]?.fact).toMatchObject({ type: 'run_finished', stop: { reason: 'limit' } });
    expect(less.expected).toMatchObject({ turn: 2, fact: { type: 'turn_started' } });
    expect(less.message).toContain('turn_started (turn 2, attempt 0)');
    const more = await diverging(short, long);
    expect(more.expected.fact).toMatchObject({ type: 'run_finished', stop: { cause: '1 turns' } });
    expect(more.found[0]?.fact?.type).toBe('turn_started');
  });

  test('with fewer retries', async () => {
    const retries = singleAgent([fails('overloaded'), 'There.']);
    const gives = singleAgent([], { retry: { maxAttempts: 1, baseDelayMs: 1 } });
    const { expected, found } = await diverging(retries, gives);
    expect(expected.fact?.type).toBe('usage_reported');
    expect(found[0]?.fact).toMatchObject({ type: 'error_reported', error: { code: 'overloaded' } });
  });

  test('with another output schema', async () => {
    const strict = z.object({ n: z.number().max(0) });
    const { expected, found } = await diverging(
      singleAgent([value(1)], { output }),
      singleAgent([], { output: strict }),
    );
    expect(expected.fact?.type).toBe('run_finished');
    expect(found[0]?.fact).toMatchObject({ type: 'item_started', kind: 'developer' });
  });

  test('with earlier compaction', async () => {
    const long = [{ ...looks('a'), usage }, 'Done.'];
    const { expected, found } = await diverging(
      singleAgent(long),
      singleAgent(long, { compaction: { ...compaction, summarize: false } }),
    );
    expect(expected.fact?.type).toBe('turn_started');
    expect(found[0]?.fact?.type).toBe('compacted');
  });

  test('in a later run is found there', async () => {
    const twice: ReplayScenario['run'] = async (agent) => {
      await go(agent);
      await go(agent);
    };
    const { expected } = await diverging(
      singleAgent(['One.', ...script], {}, twice),
      singleAgent([], { tools: [] }),
    );
    expect(expected).toMatchObject({ turn: 2, fact: { type: 'tool_execution_started' } });
  });

  test('without the agent of a hand-off: the loop writes nothing', async () => {
    const { message } = await patiently(() =>
      diverging(handOffScenario(true), singleAgent([], { tools: [] })),
    );
    expect(message).toContain('transfer_to_two');
  });

  test('observers receive no record after the divergence', async () => {
    const { log, records } = await record(singleAgent(script));
    const { divergence, told } = await replayInert(singleAgent([], { tools: [] }).buildAgent, log);
    expect(told).toEqual(records.filter(({ offset }) => offset < (divergence?.offset ?? 0)));
  });
});

describe('a replay is refused', () => {
  test('for a settled session', async () => {
    const { log, agent } = await record(singleAgent([looks('a'), 'There.']));
    expect(await log.settle(session, 1)).toBe(true);
    const refused = expect.objectContaining({ name: 'AgentError', code: 'not_replayable' });
    await expect(agent.replay(session)).rejects.toEqual(refused);
    await expect(agent.replay(session)).rejects.toThrow('snapshot');
  });

  test('for a redacted session', async () => {
    const { log, agent } = await record(singleAgent([looks('a'), 'There.']));
    const [{ id } = { id: itemId('none') }] = transcript(await snapshot(log, session));
    await log.redact(session, id, 'a secret');
    const refused = expect.objectContaining({ name: 'AgentError', code: 'not_replayable' });
    await expect(agent.replay(session)).rejects.toEqual(refused);
  });

  test('for an unknown session', async () => {
    const agent = singleAgent([]).buildAgent({
      ...{ log: memoryLog(), tool: (tool) => tool, hook: (hook) => hook },
      provider: () => scriptedProvider([]),
    });
    await expect(agent.replay(session)).rejects.toMatchObject({ code: 'no_session' });
  });

  test('but not for an empty session', async () => {
    const { log, agent } = await record(
      singleAgent([], {}, async (_agent, own) => {
        await (await own.open(session)).release();
      }),
    );
    expect(await agent.replay(session)).toMatchObject({ records: [] });
    expect(await log.read(session)).toMatchObject({ records: [] });
  });
});

test('a replay does not take the session, and does not wait for its driver', async () => {
  const { log, agent } = await record(singleAgent([looks('a'), 'There.']));
  const driver = await log.open(session);
  const before = await log.read(session);
  expect((await agent.replay(session)).divergence).toBeUndefined();
  expect(await log.read(session)).toEqual(before);
  await driver.append([]);
  await driver.release();
});
