import {
  type Fact,
  type ItemId,
  itemId,
  type LogRecord,
  sessionId,
  toolCallId,
} from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { branchSession } from '../branch/branch-session.ts';
import type { ApproveOptions, Run } from '../contract/run.ts';
import type { ApprovalDecision } from '../contract/settings.ts';
import type { CheckedToolCall } from '../contract/tool.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { submitCommand } from '../input/submit-command.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { call } from '../testing/model-script.ts';
import { useTestServer } from '../testing/test-server.ts';
import { flushPendingWork, runToEnd, VirtualClock } from '../testing/virtual-time.ts';
import { defineTool } from '../tool/define-tool.ts';

const session = sessionId('s');
const input = z.object({ path: z.string() });
const execute = async ({ path }: z.infer<typeof input>) => `did ${path}`;
const write = defineTool({ name: 'write', description: 'Writes', input, execute });
const look = defineTool({ name: 'look', description: 'Looks', effects: 'none', input, execute });

/** Asks about every call. The rule is the tool and the folder. */
function byFolder({ tool, input: given }: CheckedToolCall): ApprovalDecision {
  const [folder] = (given as z.infer<typeof input>).path.split('/');
  return { decision: 'ask', reason: 'it touches files', rule: `${tool.name} ${folder}` };
}

const calls = (...all: readonly (readonly [string, string, string?])[]): ScriptEntry => ({
  content: { parts: all.map(([id, path, tool = 'write']) => call(id, tool, { path })) },
});

/** An agent on virtual time. `asked` lists the calls that needed an approval. */
function agentOf(script: readonly ScriptEntry[], options: Partial<AgentOptions> = {}) {
  const clock = new VirtualClock();
  const log = options.log ?? memoryLog({ clock });
  const told: LogRecord[] = [];
  const agent = createAgent({
    ...{ provider: scriptedProvider(script, { clock }), log, clock, tools: [write, look] },
    ...{ approve: byFolder, observers: [(record) => void told.push(record)], ...options },
  });
  const ids = (type: 'approval_asked' | 'tool_execution_started') =>
    told.flatMap(({ fact }) => (fact?.type === type ? (fact.toolCallId as string) : []));
  return {
    ...{ agent, clock, log, told, asked: () => ids('approval_asked') },
    ran: () => ids('tool_execution_started'),
    end: (run: Run) => runToEnd(clock, run.result),
    /** Approves a call as soon as it is asked about. */
    async approve(run: Run, id: string, how?: ApproveOptions) {
      while (!ids('approval_asked').includes(id)) {
        await flushPendingWork();
        clock.advance(10);
      }
      await run.approve(toolCallId(id), how);
    },
  };
}

const answersIn = (records: readonly LogRecord[]) =>
  records.flatMap(({ fact }) => (fact?.type === 'approval_answered' ? fact : []));

describe('an approval for the session', () => {
  test('allows later calls with the same rule, in this run and the next', async () => {
    const script = [
      calls(['c1', 'a/1']),
      calls(['c2', 'a/2']),
      'One.',
      calls(['c3', 'a/3']),
      'Two.',
    ];
    const { agent, end, approve, asked, ran, log } = agentOf(script);
    const run = agent.run('Go', { session });
    await approve(run, 'c1', { until: 'session', by: 'ada' });
    expect((await end(run)).text).toBe('One.');
    expect((await end(agent.run('Again', { session }))).text).toBe('Two.');
    expect([asked(), ran()]).toEqual([['c1'], ['c1', 'c2', 'c3']]);
    const { records } = await log.read(session);
    expect(answersIn(records)).toMatchObject([
      { toolCallId: 'c1', decision: 'allow', until: 'session', by: 'ada' },
    ]);
    expect(findLogProblems(session, records)).toEqual([]);
  });

  test('18.1203: also counts for a process that drives the session under its own name', async () => {
    const first = agentOf([calls(['c1', 'a/1']), 'One.'], { name: 'terminal (process 1)' });
    const run = first.agent.run('Go', { session });
    await first.approve(run, 'c1', { until: 'session' });
    await first.end(run);
    const options = { log: first.log, name: 'daemon (process 2)' };
    const next = agentOf([calls(['c2', 'a/2']), 'Two.'], options);
    expect((await next.end(next.agent.run('Again', { session }))).text).toBe('Two.');
    expect([next.asked(), next.ran()]).toEqual([[], ['c2']]);
  });

  test('names its rule in the approval request', async () => {
    const { agent, end, approve, told } = agentOf([calls(['c1', 'a/1']), 'Done.']);
    const run = agent.run('Go', { session });
    await approve(run, 'c1');
    await end(run);
    const asked = told.flatMap(({ fact }) => (fact?.type === 'approval_asked' ? fact : []));
    expect(asked).toMatchObject([{ rule: 'write a', reason: 'it touches files' }]);
    expectTypeOf<Extract<Fact, { type: 'approval_asked' }>['rule']>().toEqualTypeOf<
      string | undefined
    >();
  });

  test.each(['branch', 'regenerate'] as const)(
    '18.419: attack: a revoked approval does not come back in a fork: %s',
    async (kind) => {
      const script = [
        ['c1', 'One.'],
        ['c2', 'Two.'],
        ['c3', 'Three.'],
      ].flatMap(([id = '', text = '']) => [calls([id, `a/${id}`]), text]);
      const { agent, end, approve, asked, ran, log } = agentOf(script);
      const run = agent.run('Go', { session });
      await approve(run, 'c1', { until: 'session' });
      await end(run);
      await end(agent.run('More', { session }));
      const { through = 0 } = (await log.info(session)) ?? {};
      await submitCommand(log, session, { type: 'revoke', rule: 'write a' });
      const fork =
        kind === 'branch'
          ? branchSession(agent, session, { at: through, into: 'f', input: 'Again' })
          : agent.regenerate(session, { into: 'f' });
      await approve(fork, 'c3');
      await end(fork);
      expect([asked(), ran()]).toEqual([
        ['c1', 'c3'],
        ['c1', 'c2', 'c3'],
      ]);
    },
  );

  test('applies only to its rule', async () => {
    const script = [
      calls(['c1', 'a/1']),
      calls(['c2', 'b/1']),
      calls(['c3', 'a/2', 'look']),
      'Done.',
    ];
    const { agent, end, approve, asked } = agentOf(script);
    const run = agent.run('Go', { session });
    await approve(run, 'c1', { until: 'session' });
    await approve(run, 'c2');
    await approve(run, 'c3');
    await end(run);
    expect(asked()).toEqual(['c1', 'c2', 'c3']);
  });

  test('applies only to one call if the policy names no rule', async () => {
    const script = [calls(['c1', 'a/1']), calls(['c2', 'a/1']), 'Done.'];
    const { agent, end, approve, asked } = agentOf(script, { approve: () => 'ask' });
    const run = agent.run('Go', { session });
    await approve(run, 'c1', { until: 'session' });
    await approve(run, 'c2');
    await end(run);
    expect(asked()).toEqual(['c1', 'c2']);
  });

  test('allows waiting calls with the same rule, and no others', async () => {
    const three = calls(['c1', 'a/1'], ['c2', 'a/2'], ['c3', 'b/3']);
    const { agent, end, approve, asked, ran, log } = agentOf([three, 'Done.']);
    const run = agent.run('Go', { session });
    while (asked().length < 3) await flushPendingWork();
    await approve(run, 'c1', { until: 'session', by: 'ada' });
    while (ran().length < 2) await flushPendingWork();
    expect(ran()).toEqual(['c1', 'c2']);
    await approve(run, 'c3');
    await end(run);
    const { records } = await log.read(session);
    expect(answersIn(records)).toMatchObject([
      { toolCallId: 'c1', until: 'session' },
      { toolCallId: 'c2', decision: 'allow' },
      { toolCallId: 'c3', decision: 'allow' },
    ]);
    expect(findLogProblems(session, records)).toEqual([]);
  });

  test('allows a waiting call in a parked session', async () => {
    const two = calls(['c1', 'a/1'], ['c2', 'a/2']);
    const { agent, end, log, ran } = agentOf([two, 'Done.'], { whileAsking: 'park' });
    expect((await end(agent.run('Go', { session }))).stop.reason).toBe('parked');
    await log.submit(session, { type: 'approve', toolCallId: 'c2', until: 'session' }, 'k');
    expect((await end(agent.resume(session))).stop.reason).toBe('stop');
    expect(ran()).toHaveLength(2);
  });

  test('allows a call whose approval request is being written', async () => {
    const gate = Promise.withResolvers<void>();
    const { agent, end, approve, ran } = agentOf([calls(['c1', 'a/1'], ['c2', 'a/2']), 'Done.'], {
      approve: async (pending) => {
        if (pending.call.toolCallId === 'c2') await gate.promise;
        return byFolder(pending);
      },
    });
    const run = agent.run('Go', { session });
    const first = approve(run, 'c1', { until: 'session' });
    gate.resolve();
    await first;
    await end(run);
    expect(ran()).toEqual(['c1', 'c2']);
  });

  test('does not change a call that was denied while it waited', async () => {
    const { agent, end, asked, ran, approve } = agentOf([
      calls(['c1', 'a/1'], ['c2', 'a/2']),
      'Done.',
    ]);
    const run = agent.run('Go', { session });
    while (asked().length < 2) await flushPendingWork();
    await run.deny(toolCallId('c2'));
    await approve(run, 'c1', { until: 'session' });
    await end(run);
    expect(ran()).toEqual(['c1']);
  });

  test('can be revoked in this or another process, and given again', async () => {
    const script = [
      calls(['c1', 'a/1']),
      'One.',
      calls(['c2', 'a/2']),
      'Two.',
      calls(['c3', 'a/3']),
      'Three.',
    ];
    const { agent, end, approve, asked, ran, log } = agentOf(script);
    const first = agent.run('Go', { session });
    await approve(first, 'c1', { until: 'session' });
    await end(first);
    await log.submit(session, { type: 'revoke', rule: 'write a' }, 'k1');
    await log.submit(session, { type: 'revoke' }, 'k2');
    const second = agent.run('Again', { session });
    await approve(second, 'c2', { until: 'session' });
    await end(second);
    await end(agent.run('And again', { session }));
    expect([asked(), ran()]).toEqual([
      ['c1', 'c2'],
      ['c1', 'c2', 'c3'],
    ]);
    expect((await log.info(session))?.hasWork).toBe(false);
  });

  test('applies only to its session', async () => {
    const script = [calls(['c1', 'a/1']), 'One.', calls(['c2', 'a/2']), 'Two.'];
    const { agent, end, approve, asked } = agentOf(script);
    const first = agent.run('Go', { session });
    await approve(first, 'c1', { until: 'session' });
    await end(first);
    const second = agent.run('Go', { session: sessionId('other') });
    await approve(second, 'c2');
    await end(second);
    expect(asked()).toEqual(['c1', 'c2']);
  });

  test('lets a call without effects start while the response streams', async () => {
    const speaking = {
      content: { parts: [call('c2', 'look', { path: 'a/2' }), 'And so on.'] },
      stop: 'tool_use',
      pauseMs: 10,
    } as const;
    const { agent, end, approve, told } = agentOf([
      calls(['c1', 'a/1', 'look']),
      speaking,
      'Done.',
    ]);
    const run = agent.run('Go', { session });
    await approve(run, 'c1', { until: 'session' });
    await end(run);
    const at = (type: string) =>
      told.findIndex(({ fact, turn }) => turn === 2 && fact?.type === type);
    expect(at('tool_execution_started')).toBeGreaterThan(0);
    expect(at('tool_execution_started')).toBeLessThan(at('response_finished'));
  });

  test('does not override a policy that denies', async () => {
    const { agent, end, approve, ran } = agentOf(
      [calls(['c1', 'a/1']), calls(['c2', 'a/2']), 'Done.'],
      { approve: () => ({ decision: ran().length === 0 ? 'ask' : 'deny', rule: 'all' }) },
    );
    const run = agent.run('Go', { session });
    await approve(run, 'c1', { until: 'session' });
    await end(run);
    expect(ran()).toEqual(['c1']);
  });

  test('is not created by a denial', async () => {
    const { agent, end, approve, asked, ran, log } = agentOf([
      calls(['c1', 'a/1']),
      calls(['c2', 'a/2']),
      'Done.',
    ]);
    const run = agent.run('Go', { session });
    const deny = { type: 'deny', toolCallId: 'c1', until: 'session' };
    while (asked().length === 0) await flushPendingWork();
    await log.submit(session, deny, 'k');
    await approve(run, 'c2');
    await end(run);
    expect([asked(), ran()]).toEqual([['c1', 'c2'], ['c2']]);
  });
});

describe('an approval until a time', () => {
  const minute = 60_000;

  /** Approves the first call for a minute, and makes the second call `ms` later. */
  async function secondAfter(ms: number) {
    const made = agentOf([calls(['c1', 'a/1']), 'One.', calls(['c2', 'a/2']), 'Two.']);
    const { agent, clock, end, approve, asked } = made;
    const first = agent.run('Go', { session });
    const until = clock.now() + 10 * minute;
    await approve(first, 'c1', { until });
    await end(first);
    clock.advance(until - clock.now() + ms);
    const second = agent.run('Again', { session });
    await flushPendingWork();
    const wasAsked = asked().includes('c2');
    if (wasAsked) await approve(second, 'c2');
    await end(second);
    return wasAsked;
  }

  test.each([
    [-minute, false],
    [-1, false],
    [0, true],
    [minute, true],
  ])('%i ms later, a call needs an approval: %s', async (ms, isAsked) => {
    expect(await secondAfter(ms)).toBe(isAsked);
  });

  test('in the past applies only to the one call', async () => {
    const { agent, clock, end, approve, asked } = agentOf([
      calls(['c1', 'a/1']),
      calls(['c2', 'a/2']),
      'Done.',
    ]);
    const run = agent.run('Go', { session });
    await approve(run, 'c1', { until: clock.now() - 1 });
    await approve(run, 'c2');
    await end(run);
    expect(asked()).toEqual(['c1', 'c2']);
  });

  test.each(['forever', -1, 0.5, null, true])(
    'that is invalid (%s), from another process, applies only to the one call',
    async (until) => {
      const { agent, end, approve, asked, log } = agentOf([
        calls(['c1', 'a/1']),
        calls(['c2', 'a/2']),
        'Done.',
      ]);
      const run = agent.run('Go', { session });
      while (asked().length === 0) await flushPendingWork();
      await log.submit(session, { type: 'approve', toolCallId: 'c1', until }, 'k');
      await approve(run, 'c2');
      await end(run);
      expect(asked()).toEqual(['c1', 'c2']);
    },
  );
});

describe('in another process', () => {
  const stage = useTestServer();

  /** A session that is parked in one process and then approved. */
  async function parked(log: Log, until: number | 'session', now: VirtualClock) {
    const script = [calls(['c1', 'a/1'])];
    const first = agentOf(script, { log, clock: now, whileAsking: 'park' });
    await runToEnd(now, first.agent.run('Go', { session }).result);
    await log.submit(session, { type: 'approve', toolCallId: 'c1', until }, 'from elsewhere');
  }

  async function goOn(log: Log, clock: VirtualClock) {
    const script = [calls(['c2', 'a/2']), 'Done.'];
    const next = agentOf(script, { log, clock, whileAsking: 'park' });
    const { stop } = await runToEnd(clock, next.agent.resume(session).result);
    return { stop: stop.reason, asked: next.asked(), ran: next.ran() };
  }

  test('an approval for the session still applies, also in a third process', async () => {
    const [log, other] = stage.twoLogs();
    const clock = new VirtualClock();
    await parked(log, 'session', clock);
    expect(await goOn(other, clock)).toEqual({ stop: 'stop', asked: [], ran: ['c1', 'c2'] });
    const third = agentOf([calls(['c3', 'a/3']), 'Done.'], { log, clock });
    const { stop } = await runToEnd(clock, third.agent.run('More', { session }).result);
    expect([stop.reason, third.asked(), third.ran()]).toEqual(['stop', [], ['c3']]);
    expect(findLogProblems(session, (await log.read(session)).records)).toEqual([]);
  });

  test('an approval until a time expires', async () => {
    const [log, other] = stage.twoLogs();
    const clock = new VirtualClock();
    const until = clock.now() + 1000;
    await parked(log, until, clock);
    clock.advance(until - clock.now());
    expect(await goOn(other, clock)).toEqual({ stop: 'parked', asked: ['c2'], ran: ['c1'] });
  });

  test('a fork has the approvals from before the fork, and none from after it', async () => {
    const [log] = stage.twoLogs();
    const clock = new VirtualClock();
    await parked(log, 'session', clock);
    await goOn(log, clock);
    const { records } = await log.read(session);
    const answers = records.flatMap(({ fact }) =>
      fact?.type === 'item_started' && fact.kind === 'assistant' ? fact.itemId : [],
    );
    const askedAgain = async (item: ItemId | undefined) => {
      const script = [calls(['d', 'a/4']), 'Done.'];
      const { agent, asked } = agentOf(script, { log, clock, whileAsking: 'park' });
      const run = agent.regenerate(session, { item: item ?? itemId('none') });
      await runToEnd(clock, run.result);
      return asked();
    };
    expect(await askedAgain(answers[0])).toEqual(['d']);
    expect(await askedAgain(answers[1])).toEqual([]);
  });
});
