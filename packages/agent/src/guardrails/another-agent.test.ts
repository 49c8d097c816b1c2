import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Guardrail } from '../contract/guardrail.ts';
import { createAgent } from '../create-agent.ts';
import { defineTool } from '../tool/define-tool.ts';
import { inputGuardrail, outputGuardrail, toolGuardrail } from './define-guardrail.ts';

// docs/guides/guardrails.md states what happens if an agent without guardrails continues the session of an agent with
// guardrails.

const session = 's';
const input = 'hello';

function twoAgents(guardrail: Guardrail, script: readonly ScriptEntry[] = ['An answer.']) {
  const log = memoryLog();
  const paid: string[] = [];
  const agentOf = (name: string, entries: readonly ScriptEntry[], guardrails: Guardrail[]) => {
    const pay = defineTool({
      ...{ name: 'pay', description: 'Pays', input: z.object({ euros: z.number() }) },
      execute: async ({ euros }) => {
        paid.push(`${name} ${euros}`);
        return 'paid';
      },
    });
    const provider = scriptedProvider(entries);
    const settings = { name, log, provider, guardrails, tools: [pay], onDiagnostic: () => {} };
    return { agent: createAgent({ ...settings, whileAsking: 'park' }), provider };
  };
  const { agent: a } = agentOf('a', script, [guardrail]);
  const { agent: b, provider } = agentOf('b', ['B is done.', 'B again.'], []);
  const sent = () => JSON.stringify(provider.requests.map(({ request }) => request.items));
  return { a, b, sent, paid };
}

const verdicts = {
  stop: { verdict: 'stop', reason: 'no' },
  change: { verdict: 'change', to: 'hidden', reason: 'no' },
  ask: { verdict: 'ask', reason: 'see' },
} as const;

test.each(['stop', 'change'] as const)('a verdict %s holds for another agent', async (verdict) => {
  const check = () => verdicts[verdict];
  const { a, b, sent } = twoAgents(inputGuardrail({ name: 'check', check }));
  await a.run(input, { session }).result;
  expect((await b.run('Go on.', { session }).result).reason).toBe('stop');
  expect(sent()).not.toContain(input);
});

test('another agent answers an input whose check failed, or that has an open question', async () => {
  const fail = (): never => {
    throw new Error('down');
  };
  for (const check of [fail, () => verdicts.ask]) {
    const { a, b, sent } = twoAgents(inputGuardrail({ name: 'check', check }));
    expect(['error', 'parked']).toContain((await a.run(input, { session }).result).reason);
    expect((await b.resume(session).result).text).toBe('B is done.');
    expect(sent()).toContain(input);
    expect(await a.pendingApprovals(session)).toEqual([]);
  }
});

test('another agent keeps an answer that has an open question', async () => {
  const { a, b, sent } = twoAgents(outputGuardrail({ name: 'check', check: () => verdicts.ask }));
  expect((await a.run(input, { session }).result).reason).toBe('parked');
  expect((await b.resume(session).result).reason).toBe('stop');
  expect(await a.pendingApprovals(session)).toEqual([]);
  await b.run('Go on.', { session }).result;
  expect(sent()).toContain('An answer.');
});

test('another agent waits for the answer about a call, and runs it with its own tool and guardrails', async () => {
  let checks = 0;
  const check = () => (++checks === 1 ? verdicts.ask : verdicts.stop);
  const script = [toolCall('pay', { euros: 1 }), 'A is done.'];
  const { a, b, paid } = twoAgents(toolGuardrail({ name: 'check', check }), script);
  expect((await a.run(input, { session }).result).reason).toBe('parked');
  expect((await b.resume(session).result).reason).toBe('parked');
  const [call] = await b.pendingApprovals(session);
  if (call === undefined) throw new Error('No question');
  await b.approve(session, call, { input: { euros: 100 } });
  await b.resume(session).result;
  expect([paid, checks]).toEqual([['b 100'], 1]);
});
