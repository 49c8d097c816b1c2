import { type LogRecord, toolCallId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { watchRejections } from '../../../providers/src/testing/watch-rejections.ts';
import type { ApprovalDecision } from '../contract/settings.ts';
import type { CheckedToolCall } from '../contract/tool.ts';
import { call } from '../testing/model-script.ts';
import {
  answer,
  createTestAgent,
  never,
  pause,
  problemsLeftIn,
  resultTexts,
  session,
  type TestAgentOptions,
  tool,
  types,
} from '../testing/test-agent.ts';
import { flushPendingWork, VirtualClock } from '../testing/virtual-time.ts';
import { subAgent } from '../tool/agent-tools.ts';

watchRejections();

const [c1, c2] = [toolCallId('c1'), toolCallId('c2')];
const asking: TestAgentOptions = { approve: () => 'ask' };
const parking: TestAgentOptions = { ...asking, whileAsking: 'park' };

/** A tool that must not run. Records its inputs. */
function dangerous() {
  const ran: unknown[] = [];
  const rm = tool('rm', async (input) => {
    ran.push(input);
    return 'deleted';
  });
  return { ran, tools: [rm] };
}

const rm = (id: string, input: unknown = {}) => call(id, 'rm', JSON.stringify(input));
const askedIn = (records: readonly LogRecord[]) =>
  records.flatMap(({ fact }) => (fact?.type === 'approval_asked' ? fact.toolCallId : []));

describe('a denial', () => {
  test('wins if it came first, and loses if it came second', async () => {
    for (const isDeniedFirst of [true, false]) {
      const { ran, tools } = dangerous();
      const stage = createTestAgent([answer(rm('c1')), 'Done.'], { ...asking, tools });
      const run = stage.agent.run('Go', { session });
      await stage.until('approval_asked');
      const [deny, approve] = [() => run.deny(c1), () => run.approve(c1)];
      const [first, second] = isDeniedFirst ? [deny, approve] : [approve, deny];
      await Promise.all([first(), second()]);
      await stage.end(run);
      expect(ran).toHaveLength(isDeniedFirst ? 0 : 1);
      expect(types(stage.records).filter((type) => type === 'approval_answered')).toHaveLength(1);
      expect(await problemsLeftIn(stage.log)).toEqual([]);
    }
  });

  test('wins for a parked call, whatever approval comes later', async () => {
    const { ran, tools } = dangerous();
    const approve = () => ({ decision: 'ask', rule: 'rm' }) as const;
    const script = [answer(rm('c1')), answer(rm('c2'))];
    const { agent, end, log, records } = createTestAgent(script, { ...parking, tools, approve });
    await end(agent.run('Go', { session }));
    await log.submit(session, { type: 'deny', toolCallId: 'c1' }, 'k1');
    await log.submit(session, { type: 'approve', toolCallId: 'c1', until: 'session' }, 'k2');
    expect((await end(agent.resume(session))).stop.reason).toBe('parked');
    expect([ran, askedIn(records)]).toEqual([[], ['c1', 'c2']]);
  });

  test('wins while the policy is still running, even if the policy then allows the call', async () => {
    const { ran, tools } = dangerous();
    const ruling = Promise.withResolvers<ApprovalDecision>();
    const approve = () => ruling.promise;
    const stage = createTestAgent([answer(rm('c1')), 'Done.'], { tools, approve });
    const run = stage.agent.run('Go');
    await stage.until('response_finished');
    await flushPendingWork();
    await run.deny(c1, { reason: 'no' });
    ruling.resolve('allow');
    expect(resultTexts((await stage.end(run)).items)).toEqual(['It was not allowed: no']);
    expect(ran).toEqual([]);
  });

  test('wins for a call that waits for a free slot', async () => {
    const clock = new VirtualClock();
    const { ran, tools } = dangerous();
    const slow = tool('slow', () => pause(clock, 100));
    const stage = createTestAgent([answer(call('c1', 'slow', {}), rm('c2')), 'Done.'], {
      ...{ clock, tools: [slow, ...tools], limits: { maxParallelTools: 1 } },
    });
    const run = stage.agent.run('Go', { session });
    await stage.until('tool_execution_started');
    await run.deny(c2, { reason: 'no' });
    expect(resultTexts((await stage.end(run)).items)).toEqual(['Done.', 'It was not allowed: no']);
    expect(ran).toEqual([]);
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('wins for a complete call while the response still streams', async () => {
    const { ran, tools } = dangerous();
    const script = [{ ...answer(rm('c1'), 'And so on.'), stop: 'tool_use' as const }, 'Done.'];
    const stage = createTestAgent(script, { tools }, { pauseMs: 100 });
    const run = stage.agent.run('Go');
    await stage.until('commit_part', 2);
    expect(types(stage.records)).not.toContain('response_finished');
    await run.deny(c1, { reason: 'no' });
    await stage.end(run);
    expect(ran).toEqual([]);
  });
});

describe('an approval', () => {
  test('applies to one of two calls, even if the model gave both the same id', async () => {
    const { ran, tools } = dangerous();
    const stage = createTestAgent([answer(rm('c1', 1), rm('c1', 2)), 'Done.'], {
      ...asking,
      tools,
    });
    const run = stage.agent.run('Go', { session });
    await stage.until('approval_asked', 2);
    const [one, other] = askedIn(stage.records);
    expect(one).not.toBe(other);
    await run.approve(one ?? c1);
    await stage.until('tool_execution_finished');
    expect(ran).toEqual([1]);
    await run.deny(other ?? c1);
    expect(resultTexts((await stage.end(run)).items)).toEqual(['deleted', 'It was not allowed.']);
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('that is given twice does not apply to a later call with the same id', async () => {
    const { ran, tools } = dangerous();
    const stage = createTestAgent([answer(rm('c1', 1)), answer(rm('c1', 2)), 'Done.'], {
      ...{ ...asking, tools },
    });
    const run = stage.agent.run('Go');
    await stage.until('approval_asked');
    await run.approve(c1);
    await stage.until('approval_asked', 2);
    await expect(run.approve(c1)).rejects.toMatchObject({ code: 'already_decided' });
    await stage.log.submit(run.session, { type: 'approve', toolCallId: 'c1' }, 'again');
    await flushPendingWork();
    stage.clock.advance(100);
    await flushPendingWork();
    expect(ran).toEqual([1]);
    await run.abort();
    expect((await stage.end(run)).stop.reason).toBe('aborted');
  });

  test('of an unknown call is rejected, also for a call inside a sub-agent', async () => {
    const clock = new VirtualClock();
    const { ran, tools } = dangerous();
    const child = createTestAgent([answer(rm('c2'))], { ...asking, clock, tools });
    const helper = subAgent({ name: 'helper', description: 'Helps', agent: child.agent });
    const calls = answer(call('c1', 'helper', { task: 'Help' }));
    const stage = createTestAgent([calls], { clock, tools: [helper] });
    const run = stage.agent.run('Go');
    await child.until('approval_asked');
    for (const id of [c2, toolCallId('none')])
      await expect(run.approve(id)).rejects.toMatchObject({ code: 'no_such_call' });
    await run.abort();
    expect([(await stage.end(run)).stop.reason, ran]).toEqual(['aborted', []]);
  });

  test('with null as input passes null to the tool', async () => {
    const { ran, tools } = dangerous();
    const stage = createTestAgent([answer(rm('c1', { a: 1 })), 'Done.'], { ...asking, tools });
    const run = stage.agent.run('Go');
    await stage.until('approval_asked');
    await run.approve(c1, { input: null });
    await stage.end(run);
    expect(ran).toEqual([null]);
  });

  test('with an input whose validation never ends does not block an abort', async () => {
    const hanging = z.unknown().refine((input) => input === 'first' || never());
    const unchecked = tool('rm', async () => 'deleted', { input: hanging as never });
    const stage = createTestAgent([answer(rm('c1', 'first'))], { ...asking, tools: [unchecked] });
    const run = stage.agent.run('Go');
    await stage.until('approval_asked');
    const approved = run.approve(c1, { input: 'second' }).catch((error: unknown) => error);
    await flushPendingWork();
    await run.abort();
    expect((await stage.end(run)).stop.reason).toBe('aborted');
    expect(await approved).toMatchObject({ name: 'AgentError', code: 'run_over' });
  });

  test('that is pending ends with an abort, even if other calls have parked the run', async () => {
    const clock = new VirtualClock();
    const { ran, tools } = dangerous();
    const slow = tool('slow', (_input, { signal }) => pause(clock, 1e6, signal));
    const approve = ({ tool: { name } }: CheckedToolCall) => (name === 'rm' ? 'ask' : 'allow');
    const script = [answer(call('c1', 'slow', {}), rm('c2')), 'Welcome back.'];
    const options = { ...parking, clock, tools: [slow, ...tools], approve } as const;
    const { agent, end, until, log } = createTestAgent(script, options);
    const run = agent.run('Go', { session });
    await until('approval_asked');
    await until('tool_execution_started');
    await run.abort();
    expect((await end(run)).stop.reason).toBe('aborted');
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await end(agent.run('And now?', { session }))).text).toBe('Welcome back.');
    expect(ran).toEqual([]);
  });

  test('that arrives while another call runs does not leave the run parked', async () => {
    const clock = new VirtualClock();
    const { ran, tools } = dangerous();
    const slow = tool('slow', async (_input, { signal }) => {
      await pause(clock, 1000, signal);
      return 'slept';
    });
    const approve = ({ tool: { name } }: CheckedToolCall) => (name === 'rm' ? 'ask' : 'allow');
    const script = [answer(call('c1', 'slow', {}), rm('c2')), 'Done.'];
    const options = { ...parking, clock, tools: [slow, ...tools], approve } as const;
    const { agent, end, until, log } = createTestAgent(script, options);
    const run = agent.run('Go', { session });
    await until('approval_asked');
    await until('tool_execution_started');
    await run.approve(c2);
    expect(await end(run)).toMatchObject({ text: 'Done.', stop: { reason: 'stop' } });
    expect(ran).toHaveLength(1);
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('that arrives later keeps the results in call order', async () => {
    const echo = tool('rm', async (input) => `result ${input}`);
    const approve = ({ call: { toolCallId: id } }: CheckedToolCall) =>
      id === c1 ? 'ask' : 'allow';
    const script = [answer(rm('c1', 1), rm('c2', 2)), 'Done.'];
    const { agent, end, log, provider } = createTestAgent(script, {
      ...parking,
      tools: [echo],
      approve,
    });
    await end(agent.run('Go', { session }));
    await log.submit(session, { type: 'approve', toolCallId: 'c1' }, 'k');
    await end(agent.resume(session));
    const sent = provider.requests[1]?.request.items ?? [];
    expect(resultTexts(sent)).toEqual(['result 1', 'result 2']);
    expect(await problemsLeftIn(log)).toEqual([]);
  });
});
