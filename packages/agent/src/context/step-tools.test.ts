import type { LogRecord } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { StepToPrepare } from '../contract/settings.ts';
import type { Tool } from '../contract/tool.ts';
import { createAgent } from '../create-agent.ts';
import { requestAt } from '../history/request-at.ts';
import { call } from '../testing/model-script.ts';
import {
  answer,
  createTestAgent,
  never,
  problemsLeftIn,
  resultTexts,
  session,
  tool,
} from '../testing/test-agent.ts';
import { handOff } from '../tool/agent-tools.ts';
import { defineTool } from '../tool/define-tool.ts';

async function offeredIn(log: Log): Promise<readonly (readonly string[] | undefined)[]> {
  const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
  return records.flatMap(({ fact }: LogRecord) =>
    fact?.type === 'response_started' ? [fact.tools] : [],
  );
}

/** A tool that makes another one available, as an MCP server does. */
function workshop() {
  const ran: string[] = [];
  const extra: Tool[] = [];
  const pay = tool('pay', () => void ran.push('pay'), { summarize: () => 'Pays something' });
  const unlock = tool('unlock', () => {
    extra.push(pay);
    return 'You can pay now.';
  });
  const lock = tool('lock', () => {
    extra.length = 0;
    return 'You cannot pay any more.';
  });
  return { ran, extra, pay, tools: [unlock, lock, () => extra] };
}

describe('tools that come and go', () => {
  test('are offered from the next step on, and are gone after it', async () => {
    const { ran, tools } = workshop();
    const script: ScriptEntry[] = [
      ...[answer(call('c1', 'unlock', {})), answer(call('c2', 'pay', {}), call('c3', 'lock', {}))],
      ...[answer(call('c4', 'pay', {})), 'Done.'],
    ];
    const { agent, end, provider, log } = createTestAgent(script, { tools });
    const result = await end(agent.run('Go', { session }));
    expect([result.text, ran]).toEqual(['Done.', ['pay']]);
    const names = provider.requests.map(({ request }) => request.tools?.map(({ name }) => name));
    const [few, all] = [
      ['unlock', 'lock'],
      ['unlock', 'lock', 'pay'],
    ];
    expect(names).toEqual([few, all, few, few]);
    expect(await offeredIn(log)).toEqual([few, all, few, few]);
    expect(resultTexts(result.items).at(-1)).toContain('There is no tool "pay"');
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
    const past = await requestAt(agent, session, { turn: 1, attempt: 1 });
    expect(JSON.stringify(past?.described)).toContain('unlock');
  });

  test('a call that waits for approval finds its tool in another process', async () => {
    const log = memoryLog();
    const script: ScriptEntry[] = [answer(call('c1', 'pay', {})), 'Done.'];
    const first = workshop();
    first.extra.push(first.pay);
    const asking = { log, approve: (): 'ask' => 'ask', whileAsking: 'park' } as const;
    const one = createTestAgent(script, { ...asking, tools: first.tools });
    expect((await one.end(one.agent.run('Go', { session }))).reason).toBe('parked');
    const second = workshop();
    second.extra.push(second.pay);
    const two = createTestAgent(script.slice(1), { ...asking, tools: second.tools });
    await two.agent.approve(session, 'c1');
    expect((await two.end(two.agent.resume(session))).text).toBe('Done.');
    expect([first.ran, second.ran]).toEqual([[], ['pay']]);
    expect((await two.agent.replay(session)).divergence).toBeUndefined();
  });

  test('a call of a tool that has gone gets a clear error', async () => {
    const log = memoryLog();
    const script: ScriptEntry[] = [answer(call('c1', 'pay', {})), 'Done.'];
    const first = workshop();
    first.extra.push(first.pay);
    const asking = { log, approve: (): 'ask' => 'ask', whileAsking: 'park' } as const;
    const one = createTestAgent(script, { ...asking, tools: first.tools });
    await one.end(one.agent.run('Go', { session }));
    const two = createTestAgent(script.slice(1), { ...asking, tools: workshop().tools });
    await two.agent.approve(session, 'c1');
    const { toolCalls, text } = await two.end(two.agent.resume(session));
    expect(text).toBe('Done.');
    expect(toolCalls).toMatchObject([
      { ok: false, text: 'The tool pay is no longer available. Continue without it.' },
    ]);
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('a function that fails ends the run, and the session can be resumed', async () => {
    let fault: () => readonly Tool[] | Promise<readonly Tool[]> = () => {
      throw new Error('The server is gone');
    };
    const { agent, end } = createTestAgent(['Done.', 'Done.'], { tools: [() => fault()] });
    expect(await end(agent.run('Go', { session }))).toMatchObject({
      ...{ reason: 'error', cause: { message: 'The server is gone' } },
    });
    fault = () => [1] as never;
    const listed = await end(agent.resume(session));
    expect(listed).toMatchObject({ reason: 'error', cause: { code: 'bad_option' } });
    const other = createAgent({ provider: scriptedProvider([]), name: 'other' });
    fault = () => [handOff({ to: other, description: 'To the other' })];
    expect(await end(agent.resume(session))).toMatchObject({ cause: { code: 'bad_option' } });
    const twice = tool('twice', () => '');
    fault = () => [twice, twice];
    expect(await end(agent.resume(session))).toMatchObject({ cause: { code: 'name_taken' } });
    fault = () => [];
    expect((await end(agent.resume(session))).text).toBe('Done.');
  });

  test('an abort does not wait for a function', async () => {
    const { agent, end, until } = createTestAgent(['Done.'], { tools: [() => never()] });
    const run = agent.run('Go', { session });
    await until('turn_started');
    await run.abort();
    expect((await end(run)).reason).toBe('aborted');
  });

  test('have the types of the run', async () => {
    interface Desk {
      readonly level: number;
    }
    const refund = defineTool({
      ...{ name: 'refund', description: 'Refunds', input: z.object({ order: z.string() }) },
      execute: async ({ order }) => ({ refunded: order }),
    });
    const agent = createAgent({
      provider: scriptedProvider([answer(call('c1', 'refund', { order: '7' })), 'Done.']),
      tools: [({ context }: StepToPrepare<Desk>) => (context.level > 1 ? [refund] : [])],
    });
    const { toolCalls } = await agent.run('Go', { context: { level: 2 } }).result;
    const [first] = toolCalls;
    if (first?.ok) expectTypeOf(first.name).toEqualTypeOf<'refund'>();
    expect(first).toMatchObject({ ok: true, value: { refunded: '7' } });
    // @ts-expect-error: the context is required
    expect((await agent.run('Go').result).reason).toBe('error');
  });
});
