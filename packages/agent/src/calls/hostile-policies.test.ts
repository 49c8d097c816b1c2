import { toolCallId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { watchRejections } from '../../../providers/src/testing/watch-rejections.ts';
import type { ApprovalDecision } from '../contract/settings.ts';
import type { CheckedToolCall, Tool } from '../contract/tool.ts';
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
} from '../testing/test-agent.ts';
import { flushPendingWork, VirtualClock } from '../testing/virtual-time.ts';

watchRejections();

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

describe('a policy', () => {
  test('that allows a call after an abort starts nothing', async () => {
    const { ran, tools } = dangerous();
    const ruling = Promise.withResolvers<ApprovalDecision>();
    const approve = () => ruling.promise;
    const stage = createTestAgent([answer(rm('c1'))], { tools, approve });
    const run = stage.agent.run('Go', { session });
    await stage.until('response_finished');
    await run.abort();
    ruling.resolve('allow');
    expect((await stage.end(run)).stop.reason).toBe('aborted');
    expect(ran).toEqual([]);
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('that throws denies only that call, and the error goes only to onDiagnostic', async () => {
    const clock = new VirtualClock();
    const { ran, tools } = dangerous();
    const slow = tool('slow', async () => {
      await pause(clock, 300);
      return 'slowly';
    });
    for (const thrown of [new Error('key=sk-secret'), Object.create(null)]) {
      const approve = ({ tool: { name } }: CheckedToolCall) => {
        if (name === 'rm') throw thrown;
        return 'allow' as const;
      };
      const calls = answer(call('c1', 'slow', {}), rm('c2'));
      const stage = createTestAgent([calls, 'Done.'], { clock, tools: [slow, ...tools], approve });
      const result = await stage.end(stage.agent.run('Go', { session }));
      expect(resultTexts(result.items)[0]).toBe('slowly');
      expect(resultTexts(result.items)[1]).toMatch(/^It was not allowed/);
      expect(JSON.stringify([result, stage.records])).not.toContain('sk-secret');
      expect(stage.diagnostics).toHaveLength(1);
      expect(await problemsLeftIn(stage.log)).toEqual([]);
    }
    expect(ran).toEqual([]);
  });

  const said = async (said: unknown) => {
    const { ran, tools } = dangerous();
    const approve = () => said as never;
    const { agent, end } = createTestAgent([answer(rm('c1')), 'Done.'], {
      whileAsking: 'park',
      tools,
      approve,
    });
    const { stop } = await end(agent.run('Go', { session }));
    return [stop.reason === 'stop' || stop.reason === 'parked', ran.length];
  };

  test.each<unknown>([true, 'maybe', { decision: 'maybe' }])(
    'that returns %o runs nothing, and the run continues or waits',
    async (word) => expect(await said(word)).toEqual([true, 0]),
  );

  test.each<unknown>([
    undefined,
    null,
    { decision: 'ask', reason: 5 },
    { decision: 'ask', rule: 5 },
  ])('that returns %o runs nothing, and the run continues or waits', async (word) =>
    expect(await said(word)).toEqual([true, 0]),
  );

  test('that throws has no other effect, even if onDiagnostic throws too', async () => {
    const { ran, tools } = dangerous();
    const fail = () => expect.fail('no');
    const options = { tools, approve: fail, onDiagnostic: fail };
    const { agent, end } = createTestAgent([answer(rm('c1')), 'Done.'], options);
    expect((await end(agent.run('Go'))).text).toBe('Done.');
    expect(ran).toEqual([]);
  });

  test('is called once per call, and once more after an answer', async () => {
    for (const said of ['allow', 'ask', 'deny'] as const) {
      let asked = 0;
      const look = tool('rm', async () => 'seen', { effects: 'none' });
      const approve = () => {
        asked++;
        return said;
      };
      const stage = createTestAgent([answer(rm('c1')), 'Done.'], { tools: [look], approve });
      const run = stage.agent.run('Go');
      if (said === 'ask')
        await stage.until('approval_asked').then(() => run.approve(toolCallId('c1')));
      expect((await stage.end(run)).text).toBe('Done.');
      expect(asked, said).toBe(said === 'ask' ? 2 : 1);
    }
  });

  test('that never settles does not block an abort', async () => {
    const hanging = z.unknown().refine(never);
    const unchecked = tool('rm', never, { input: hanging as never });
    for (const options of [{ tools: dangerous().tools, approve: never }, { tools: [unchecked] }]) {
      const stage = createTestAgent([answer(rm('c1'), rm('c2'))], options);
      const run = stage.agent.run('Go', { session });
      await stage.until('response_finished');
      await flushPendingWork();
      await run.abort();
      expect((await stage.end(run)).stop.reason).toBe('aborted');
      expect(await problemsLeftIn(stage.log)).toEqual([]);
    }
  });
});

describe('18.771: attack: a call waits for a free slot, and the policy changes', () => {
  /** Runs two calls of which the second waits for the first. The decision on the second changes meanwhile. */
  function waiting(next: ApprovalDecision, own: Partial<Tool> = {}) {
    const first = Promise.withResolvers<void>();
    const ran: unknown[] = [];
    const slow = tool('slow', async () => {
      await first.promise;
      return 'slowly';
    });
    const rm = tool('rm', async (_input, { judged }) => {
      ran.push(judged);
      return 'deleted';
    });
    let now: ApprovalDecision = { decision: 'allow', judged: 'the old file' };
    const stage = createTestAgent([answer(call('c1', 'slow', {}), call('c2', 'rm', {})), 'Done.'], {
      tools: [
        { ...slow, ...own },
        { ...rm, ...own },
      ],
      approve: ({ name }) => (name === 'rm' ? now : 'allow'),
      limits: { maxParallelTools: 1 },
    });
    const run = stage.agent.run('Go', { session });
    const change = async () => {
      await stage.until('tool_execution_started');
      await flushPendingWork();
      now = next;
      first.resolve();
    };
    return { stage, run, ran, change };
  }

  test('a policy that now denies the call', async () => {
    const { stage, run, ran, change } = waiting({ decision: 'deny', reason: 'plan mode' });
    await change();
    expect(resultTexts((await stage.end(run)).items)).toEqual([
      'slowly',
      'It was not allowed: plan mode',
    ]);
    expect(ran).toEqual([]);
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('a policy that now asks', async () => {
    const { stage, run, ran, change } = waiting({ decision: 'ask', judged: 'the new file' });
    await change();
    await stage.until('approval_asked');
    expect(ran).toEqual([]);
    await run.approve(toolCallId('c2'));
    await stage.end(run);
    expect(ran).toEqual(['the new file']);
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('a policy that now allows something else', async () => {
    const { stage, run, ran, change } = waiting({ decision: 'allow', judged: 'the new file' });
    await change();
    await stage.end(run);
    expect(ran).toEqual(['the new file']);
  });

  test('a policy that now denies a call that starts early', async () => {
    const next = { decision: 'deny', reason: 'plan mode' } as const;
    const { stage, run, ran, change } = waiting(next, { effects: 'none' });
    await change();
    expect(resultTexts((await stage.end(run)).items)).toContain('It was not allowed: plan mode');
    expect(ran).toEqual([]);
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('a policy that now denies a call that the user has approved', async () => {
    const first = Promise.withResolvers<void>();
    const { ran, tools } = dangerous();
    const slow = tool('slow', async () => {
      await first.promise;
      return 'slowly';
    });
    let isPlanning = false;
    const approve: TestAgentOptions['approve'] = ({ name }, { isAnswered }) => {
      if (name === 'slow') return 'allow';
      return isAnswered && isPlanning ? 'deny' : 'ask';
    };
    const script = [answer(call('c1', 'slow', {}), rm('c2')), 'Done.'];
    const limits = { maxParallelTools: 1 };
    const stage = createTestAgent(script, { tools: [slow, ...tools], approve, limits });
    const run = stage.agent.run('Go', { session });
    await stage.until('approval_asked');
    await run.approve(toolCallId('c2'));
    await flushPendingWork();
    isPlanning = true;
    first.resolve();
    expect(resultTexts((await stage.end(run)).items)).toEqual(['slowly', 'It was not allowed.']);
    expect(ran).toEqual([]);
  });
});
