import { toolCallId } from '@millrace/core';
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
