import { type Item, type ItemId, itemId, sessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { isFull } from '../../../core/src/testing/runs.ts';
import type { Agent } from '../contract/agent.ts';
import type { AgentOptions } from '../create-agent.ts';
import { pinSession } from '../recorded/pin-session.ts';
import { testRecordings } from '../recorded/test-recordings.ts';
import { call } from '../testing/model-script.ts';
import {
  byDrivers,
  child,
  compaction,
  fails,
  fallbackScenario,
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
  subAgentScenario,
  usage,
  value,
} from '../testing/replay-scenarios.ts';
import { runSchedule } from '../testing/schedules.ts';
import { flushPendingWork } from '../testing/virtual-time.ts';
import { defineTool } from '../tool/define-tool.ts';
import { readOutputTool } from '../tool/read-output.ts';

const approving: Partial<AgentOptions> = {
  approve: () => ({ decision: 'ask', rule: 'looking', reason: 'who knows' }),
  whileAsking: 'park',
};
const answered =
  (
    ...commands: readonly { readonly type: string; readonly until?: string }[]
  ): ReplayScenario['run'] =>
  async (agent, log) => {
    await go(agent);
    for (const [at, command] of commands.entries()) {
      await log.submit(session, { ...command, toolCallId: 'a' }, `k${at}`);
      await agent.resume(session).result;
    }
  };

/** A policy that asks first and denies after that. */
function denyingLater() {
  let isAsked = false;
  return () => {
    const decision = isAsked ? ('deny' as const) : ('ask' as const);
    isAsked = true;
    return { decision, reason: 'no longer' };
  };
}

/** A tool that fails twice. */
function flaky() {
  let failures = 2;
  return lookTool({
    retries: 2,
    execute: async () => {
      if (failures-- > 0) throw new Error('not yet');
      return 'at last';
    },
  });
}
const breaking = lookTool({
  retries: 1,
  execute: async () => {
    throw new Error('it is broken');
  },
});
const wordy = lookTool({ maxOutputLength: 100, execute: async () => 'word '.repeat(1000) });
async function said(agent: Agent, log: Log, kind: Item['kind']) {
  await go(agent);
  const items = transcript(await snapshot(log, session));
  return items.filter((item) => item.kind === kind).map(({ id }) => id);
}

const pieces: Readonly<Record<string, ReplayScenario>> = {
  'a hand-off': handOffScenario(true),
  'a clipped output': singleAgent([looks('a'), 'Long.'], { tools: [wordy] }),
  'a clipped output that is read on': singleAgent(
    [
      looks('a'),
      ({ items }) => {
        const [, id] = /output ([0-9a-f]{64})/.exec(JSON.stringify(items)) ?? [];
        return { content: { parts: [call('r', 'read_output', { output: id, start: 100 })] } };
      },
      'Long.',
    ],
    { tools: [wordy, readOutputTool()] },
  ),
  'a tool that was tried again': singleAgent([looks('a'), 'At last.'], { tools: [flaky()] }),
  'a tool that was tried again in vain': singleAgent([looks('a'), 'Oh.'], { tools: [breaking] }),
  'several calls, one of them tried again': singleAgent(
    [{ content: { parts: [call('a', 'look', { at: 'a' }), call('b', 'fine', {})] } }, 'Both.'],
    {
      tools: [
        flaky(),
        defineTool({
          ...{ name: 'fine', description: 'Fine', input: z.object({}), effects: 'none' as const },
          execute: async () => 'fine',
        }),
      ],
    },
  ),
  fallbacks: fallbackScenario(
    {},
    ['one', 'two', 'three'],
    [looks('a'), fails('auth')],
    [looks('b'), fails('quota', 3)],
    [looks('c'), 'All.'],
  ),
  'retries, and then fallbacks': fallbackScenario(
    { retry: { baseDelayMs: 0, maxAttempts: 2 } },
    ['one', 'two'],
    [fails('overloaded', 2), fails('server')],
    [fails('network'), looks('a'), 'There.'],
  ),
  'a history that was refused': singleAgent([looks('a'), fails('history_rejected'), 'There.']),
  'an error that stays': singleAgent([looks('a'), fails('auth', 2)]),
  compaction: singleAgent([{ ...looks('a'), usage }, 'A is there.', 'Done.'], { compaction }),
  'compaction without a word': singleAgent([{ ...looks('a'), usage }, 'Done.'], {
    compaction: { ...compaction, summarize: false },
  }),
  'compaction that failed': singleAgent([{ ...looks('a'), usage }, fails('auth'), 'Done.'], {
    compaction,
  }),
  'compaction with a call instead of a summary': singleAgent(
    [{ ...looks('a'), usage }, looks('b'), 'Done.'],
    { compaction },
  ),
  'structured output': singleAgent([looks('a'), value(1)], { output }),
  'structured output that was asked for again': singleAgent([value('one'), 'One.', value(1)], {
    output,
  }),
  'structured output that never fitted': singleAgent([value('a'), value('b'), value('c')], {
    output,
  }),
  'a parked call that was approved': singleAgent(
    [looks('a'), 'There.'],
    approving,
    answered({ type: 'approve' }),
  ),
  'a parked call that was denied': singleAgent(
    [looks('a'), 'Not there.'],
    approving,
    answered({ type: 'deny' }),
  ),
  'a parked call that was approved, and that the policy denies by then': singleAgent(
    [looks('a'), 'Not there.'],
    { approve: denyingLater(), whileAsking: 'park' },
    answered({ type: 'approve' }),
  ),
  'a parked call, something else said, and an approval': singleAgent(
    [looks('a'), 'There.', 'And more.'],
    approving,
    async (agent, log) => {
      await go(agent);
      await agent.run('And more?', { session }).result;
      await log.submit(session, { type: 'approve', toolCallId: 'a' }, 'k');
      await agent.resume(session).result;
    },
  ),
  'an approval that lasts': singleAgent(
    [looks('a'), looks('b'), 'Both.'],
    approving,
    answered({ type: 'approve', until: 'session' }),
  ),
  'an approval that lasts, for what waits already': singleAgent(
    [
      { content: { parts: [call('a', 'look', { at: 'a' }), call('b', 'look', { at: 'b' })] } },
      'Both.',
    ],
    approving,
    answered({ type: 'approve', until: 'session' }),
  ),
  'several runs': singleAgent(['One.', looks('a'), 'Two.', 'Three.'], {}, async (agent) => {
    for (const text of ['First', 'Second', 'Third']) await agent.run(text, { session }).result;
  }),
  'several items at once, and a resume of what is done': singleAgent(
    ['One.'],
    {},
    async (agent) => {
      const parts = [{ kind: 'text', text: 'Go' }] as const;
      const items = ['u1', 'u2'].map((id) => ({ id: itemId(id), kind: 'user' as const, parts }));
      await agent.run(items, { session }).result;
      await agent.resume(session).result;
    },
  ),
  'a run that failed, and was resumed': singleAgent([fails('auth'), 'Well.'], {}, async (agent) => {
    await go(agent);
    await agent.resume(session).result;
  }),
  'what followed': singleAgent(['One.', 'Two.', 'Three.'], {}, async (agent) => {
    const run = agent.run('Go', { session });
    await Promise.all([run.followUp('And?'), run.followUp('And then?')]);
    await run.result;
  }),
  'ids of calls that a model used again': singleAgent([
    looks('a'),
    looks('a'),
    looks('a', 'b'),
    'All.',
  ]),
  'a limit': singleAgent([looks('a'), looks('b'), 'No.'], { limits: { maxTurns: 2 } }),
  'an answer that was made anew': {
    ...singleAgent(['One.', looks('a'), 'Two.'], {}, async (agent) => {
      await go(agent);
      await agent.regenerate(session, { into: sessionId('fork') }).result;
    }),
    session: sessionId('fork'),
  },
  'something that was said otherwise': {
    ...singleAgent(['One.', 'Two.', looks('a'), 'Another two.'], {}, async (agent, log) => {
      await go(agent);
      const [, second] = await said(agent, log, 'user');
      await agent.edit(session, second as ItemId, 'Else', { into: sessionId('fork') }).result;
    }),
    session: sessionId('fork'),
  },
};

async function assertSame(piece: ReplayScenario) {
  const { log, records, agent } = await record(piece);
  // The policies of some scenarios change their decisions with time.
  const recording = await pinSession(agent, piece.session ?? session, { policy: 'recorded' });
  const { groups } = await testRecordings(agent, [{ name: 'piece', recording }], {
    policy: 'recorded',
  });
  expect(groups).toEqual([]);
  const replayed = await replayInert(piece.buildAgent, log, piece.session);
  expect(replayed.divergence).toBeUndefined();
  expect(byDrivers(replayed.told)).toEqual(byDrivers(records));
  expect(replayed.records).toEqual(records);
  return records;
}

describe('a session with', () => {
  test.each(Object.entries(pieces))(
    '%s is replayed to the same log, and nothing is executed',
    async (_name, piece) => {
      const records = await assertSame(piece);
      expect(records.length).toBeGreaterThan(5);
    },
  );

  test.each([
    ['that had begun while the model spoke', 'look', 'well'],
    ['that came to its end all the same', 'do', 'ignores the signal'],
  ] as const)(
    'a tool %s, stopped at any moment, is replayed to the same log',
    async (_which, tool, ends) => {
      const call = { tool, ms: 120, ends, updates: 0 };
      const seen = new Set<string>();
      // The tool runs for 120 ms, so some moment is always during its call.
      for (let atMs = 0; atMs < 3500; atMs += isFull ? 50 : 100) {
        const { agent, records } = await runSchedule({
          responses: [{ text: '', calls: [call], fault: 'none', after: 0 }],
          events: [{ atMs, what: 'abort' }],
        });
        const types = records.flatMap(({ fact }) => fact?.type ?? []);
        const order = types.filter((type) => /^(aborted|tool_execution)/.test(type));
        seen.add(order.join(' '));
        expect((await agent.replay(session)).divergence, order.join(' ')).toBeUndefined();
      }
      expect([...seen]).toContain('tool_execution_started aborted tool_execution_finished');
    },
  );

  test('a tool with several progress texts is replayed to the same log', async () => {
    const talks = lookTool({
      async *execute() {
        for (const word of ['one ', 'two ', 'three ', 'four ']) {
          yield word;
          await flushPendingWork();
        }
        return 'done';
      },
    });
    await assertSame(singleAgent([looks('a'), 'There.'], { tools: [talks] }));
  });

  // Regression: a sub-agent reports its text as progress while it streams.
  test('a sub-agent is replayed to the same log', async () => {
    await assertSame(subAgentScenario);
  });

  // Regression: all agents of a drive got one list of providers.
  test('a hand-off to another provider is replayed to the same log', async () => {
    await assertSame(handOffScenario(false));
  });

  // Regression: providers were identified by id and model only, so two equal ones shared their
  // attempts.
  test('a fallback to the same model of another provider is replayed to the same log', async () => {
    const busy = [fails('overloaded'), fails('overloaded')];
    const retry = { baseDelayMs: 0, maxAttempts: 2 };
    await assertSame(
      fallbackScenario({ retry }, ['one', 'one'], busy, [fails('overloaded'), 'There.']),
    );
  });

  // Regression: a repair item right after a resume was taken for the run's input.
  test('a repaired answer after a resume is replayed to the same log', async () => {
    const piece = singleAgent(
      [value('one'), value(1), value(1)],
      { output },
      async (agent, log) => {
        await go(agent);
        const { records } = await log.read(session);
        const at = records.find(({ fact }) => fact?.type === 'turn_finished')?.offset ?? 0;
        await log.fork(session, { into: sessionId('cut'), through: at });
        await agent.resume(sessionId('cut')).result;
      },
    );
    await assertSame({ ...piece, session: sessionId('cut') });
  });

  test('a sub-agent has its own session, which its agent replays', async () => {
    const { log, records } = await record(subAgentScenario);
    const [own] = records.flatMap(({ fact }) =>
      fact?.type === 'tool_execution_started' ? (fact.child ?? []) : [],
    );
    if (own === undefined) return expect.fail('there is none');
    const replayed = await replayInert(child, log, own);
    expect(replayed.divergence).toBeUndefined();
    expect(replayed.told).toEqual((await log.read(own)).records);
  });
});
