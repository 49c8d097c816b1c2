import { type LogRecord, sessionId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import type { ScriptEntry } from '@millrace/providers/scripted';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.ts';
import { toolGuardrail } from '../guardrails/define-guardrail.ts';
import { submitCommand } from '../input/submit-command.ts';
import { call } from '../testing/model-script.ts';
import {
  answer,
  createTestAgent,
  problemsLeftIn,
  session,
  tool,
  types,
} from '../testing/test-agent.ts';
import { clientTool } from './client-tool.ts';

const askAddress = clientTool({
  name: 'ask_address',
  description: 'Shows a form and returns the address',
  input: z.object({ country: z.string() }),
  output: z.object({ town: z.string(), zip: z.string().optional() }),
});
const oslo = { town: 'Oslo' };
const asks = call('c1', 'ask_address', { country: 'NO' });

async function recordsOf(log: Log, of: string = session): Promise<readonly LogRecord[]> {
  return (await log.read(of, { maxBytes: Number.POSITIVE_INFINITY })).records;
}

describe('a tool that a client runs', () => {
  test('waits for its output, which is typed and checked', async () => {
    const { agent, end, until, log, provider, records } = createTestAgent(
      [answer(asks, call('c2', 'look', {})), 'It goes to Oslo.'],
      { tools: [askAddress, tool('look', () => 'seen')] },
    );
    const run = agent.run('Send it', { session });
    await until('tool_output_asked');
    expect(await agent.pendingToolCalls(session)).toEqual([
      { toolCallId: 'c1', name: 'ask_address', input: { country: 'NO' } },
    ]);
    await expect(run.provideToolResult('c1', { output: { town: 7 } })).rejects.toMatchObject({
      ...{ code: 'bad_input', place: { toolCallId: 'c1', tool: 'ask_address' } },
    });
    await expect(run.provideToolResult('c9', { output: oslo })).rejects.toMatchObject({
      code: 'no_such_call',
    });
    await run.provideToolResult('c1', { output: oslo, by: 'page' });
    const result = await end(run);
    expect([result.reason, result.text]).toEqual(['stop', 'It goes to Oslo.']);
    expect(result.toolCalls[0]).toMatchObject({ ok: true, value: oslo });
    expect(JSON.stringify(provider.requests[1]?.request.items)).toContain('Oslo');
    const own = records.flatMap(({ fact }) => (fact && 'toolCallId' in fact ? [fact] : []));
    expect(own.filter((fact) => fact.toolCallId === 'c1').map(({ type }) => type)).toEqual([
      ...['tool_output_asked', 'tool_execution_started', 'tool_execution_finished'],
    ]);
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('parks, and continues in another process', async () => {
    const log = memoryLog();
    const script: ScriptEntry[] = [answer(asks), 'It goes to Oslo.'];
    const options = { tools: [askAddress], whileAsking: 'park', log } as const;
    const first = createTestAgent(script, options);
    const parked = await first.end(first.agent.run('Send it', { session }));
    expect(parked.stop).toEqual({ reason: 'parked', cause: 'tool_output' });
    expect(parked.pendingToolCalls).toMatchObject([{ toolCallId: 'c1' }]);
    const second = createTestAgent(script.slice(1), options);
    expect((await second.end(second.agent.resume(session))).reason).toBe('parked');
    await second.agent.provideToolResult(session, 'c1', { output: oslo });
    expect((await second.end(second.agent.resume(session))).text).toBe('It goes to Oslo.');
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await second.agent.replay(session)).divergence).toBeUndefined();
  });

  test('has one output: the same again is accepted, another one is refused', async () => {
    const { agent, end } = createTestAgent([answer(asks), 'Done.'], {
      ...{ tools: [askAddress], whileAsking: 'park' },
    });
    await end(agent.run('Send it', { session }));
    const provide = (output: unknown) =>
      agent.provideToolResult(session, 'c1', { output: output as never });
    await provide({ town: 'Oslo', zip: '1' });
    await provide({ zip: '1', town: 'Oslo' });
    await expect(provide(oslo)).rejects.toMatchObject({ code: 'already_answered' });
    const { toolCalls } = await end(agent.resume(session));
    expect(toolCalls[0]?.value).toEqual({ town: 'Oslo', zip: '1' });
    // Also after the run has used it.
    await provide({ town: 'Oslo', zip: '1' });
    await expect(provide(oslo)).rejects.toMatchObject({ code: 'already_answered' });
  });

  test('can fail, be denied, and be aborted', async () => {
    const failing = createTestAgent([answer(asks), 'I see.'], {
      ...{ tools: [askAddress], whileAsking: 'park' },
    });
    await failing.end(failing.agent.run('Go', { session }));
    await failing.agent.provideToolResult(session, 'c1', { error: 'The user closed the form' });
    const { toolCalls } = await failing.end(failing.agent.resume(session));
    expect(toolCalls).toMatchObject([{ ok: false, text: 'The user closed the form' }]);

    const denied = createTestAgent([answer(asks), 'I see.'], {
      ...{ tools: [askAddress], approve: () => 'deny' },
    });
    await denied.end(denied.agent.run('Go', { session }));
    expect(types(denied.records)).not.toContain('tool_output_asked');

    const aborted = createTestAgent([answer(asks), 'I see.'], { tools: [askAddress] });
    const run = aborted.agent.run('Go', { session });
    await aborted.until('tool_output_asked');
    await run.abort();
    expect((await aborted.end(run)).reason).toBe('aborted');
    await expect(
      aborted.agent.provideToolResult(session, 'c1', { output: oslo }),
    ).rejects.toMatchObject({ code: 'already_answered' });
    expect(await problemsLeftIn(aborted.log)).toEqual([]);
  });

  test('an output that reaches the log unchecked does not answer the call', async () => {
    const { agent, end, until, diagnostics, log } = createTestAgent([answer(asks), 'Done.'], {
      tools: [askAddress],
    });
    const run = agent.run('Go', { session });
    await until('tool_output_asked');
    const bad = { type: 'tool_output', toolCallId: 'c1', output: 7 } as const;
    await submitCommand(log, session, bad);
    await until('command_consumed');
    expect(diagnostics).toMatchObject([expect.stringContaining('does not fit')]);
    await submitCommand(log, session, { ...bad, output: oslo });
    await submitCommand(log, session, { ...bad, output: { town: 'Bergen' } });
    expect((await end(run)).toolCalls).toMatchObject([{ ok: true, value: oslo }]);
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('large outputs are clipped, and the whole is kept', async () => {
    const paste = clientTool({
      ...{ name: 'paste', description: 'The clipboard', input: z.object({}), maxOutputLength: 100 },
      output: z.string(),
    });
    const { agent, end, log } = createTestAgent([answer(call('c1', 'paste', {})), 'Long.'], {
      ...{ tools: [paste], whileAsking: 'park' },
    });
    await end(agent.run('Go', { session }));
    await agent.provideToolResult(session, 'c1', { output: 'x'.repeat(5000) });
    await end(agent.resume(session));
    expect(JSON.stringify(await recordsOf(log))).toContain('characters are left out here');
    expect((await agent.replay(session)).divergence).toBeUndefined();
  });

  test('after a crash at any record, the output is used once', async () => {
    const log = memoryLog();
    const model: ScriptEntry = ({ items }) =>
      items.some(({ kind }) => kind === 'tool') ? 'Done.' : answer(asks);
    const create = () =>
      createTestAgent([model, model, model], {
        ...{ log, tools: [askAddress], whileAsking: 'park', onInterrupted: 'retry' },
      });
    const whole = create();
    await whole.end(whole.agent.run('Go', { session }));
    await whole.agent.provideToolResult(session, 'c1', { output: oslo });
    await whole.end(whole.agent.resume(session));
    const records = await recordsOf(log);
    for (const [index, { offset }] of records.entries()) {
      const before = records.slice(0, index + 1);
      if (!types(before).includes('turn_started')) continue;
      const into = sessionId(`fork-${offset}`);
      await log.fork(session, { into, through: offset });
      const next = create();
      const { reason } = await next.end(next.agent.resume(into));
      if (reason === 'parked') {
        const [pending] = await next.agent.pendingToolCalls(into);
        const id = pending?.toolCallId ?? '';
        await next.agent.provideToolResult(into, id, { output: oslo });
        await next.end(next.agent.resume(into));
      }
      const all = await recordsOf(log, into);
      expect([offset, types(all).filter((type) => type === 'tool_execution_started')]).toEqual([
        ...[offset, ['tool_execution_started']],
      ]);
      expect(await problemsLeftIn(log, into)).toEqual([]);
    }
  });

  test('the client gets the input that a guardrail or the user changed', async () => {
    const guardrails = [
      toolGuardrail({ name: 'home', check: () => ({ verdict: 'change', to: { country: 'SE' } }) }),
    ];
    const guarded = createTestAgent([answer(asks), 'Done.'], {
      ...{ tools: [askAddress], guardrails, whileAsking: 'park' },
    });
    const { pendingToolCalls } = await guarded.end(guarded.agent.run('Go', { session }));
    expect(pendingToolCalls).toMatchObject([{ toolCallId: 'c1', input: { country: 'SE' } }]);

    const asked = createTestAgent([answer(asks), 'Done.'], {
      ...{ tools: [askAddress], approve: () => 'ask', whileAsking: 'park' },
    });
    await asked.end(asked.agent.run('Go', { session }));
    await asked.agent.approve(session, 'c1', { input: { country: 'DK' } });
    const waiting = await asked.end(asked.agent.resume(session));
    expect(waiting.pendingToolCalls).toMatchObject([{ input: { country: 'DK' } }]);
    await asked.agent.provideToolResult(session, 'c1', { output: oslo });
    expect((await asked.end(asked.agent.resume(session))).text).toBe('Done.');
    expect((await asked.agent.replay(session)).divergence).toBeUndefined();
  });

  test('has the types of its schemas', async () => {
    const { provider } = createTestAgent([answer(asks)], {});
    const agent = createAgent({ provider, tools: [askAddress], whileAsking: 'park' });
    const { pendingToolCalls, session: id } = await agent.run('Go').result;
    const [pending] = pendingToolCalls;
    if (pending === undefined) throw new Error('It must wait');
    expectTypeOf(pending.input).toEqualTypeOf<{ country: string }>();
    // @ts-expect-error: the town is a text
    await expect(agent.provideToolResult(id, pending, { output: { town: 7 } })).rejects.toThrow();
    await agent.provideToolResult(id, pending, { output: oslo });
    // @ts-expect-error: a client tool has no execute
    expect(() => clientTool({ ...askAddress, input: z.object({}), execute: 1 })).toThrow();
  });
});
