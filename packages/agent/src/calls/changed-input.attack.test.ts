import { toolCallId } from '@millrace/core';
import { openaiResponses } from '@millrace/providers';
import { sseReply } from '@millrace/providers/scripted-server';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ApprovalDecision } from '../contract/settings.ts';
import type { CheckedToolCall } from '../contract/tool.ts';
import { createAgent } from '../create-agent.ts';
import { toolGuardrail } from '../guardrails/define-guardrail.ts';
import { submitCommand } from '../input/submit-command.ts';
import { call } from '../testing/model-script.ts';
import {
  answer,
  createTestAgent,
  problemsLeftIn,
  resultTexts,
  session,
  tool,
} from '../testing/test-agent.ts';
import { useTestServer } from '../testing/test-server.ts';
import { defineTool } from '../tool/define-tool.ts';
import { mcpApprovalTool } from '../tool/mcp-approval.ts';

// A client approves a harmless call, with an input that makes another call of it.

const server = useTestServer();
const c1 = toolCallId('c1');

function denySecrets({ input }: CheckedToolCall): ApprovalDecision {
  const { path } = input as { readonly path: string };
  return path === '.env' ? { decision: 'deny', reason: 'it is secret' } : 'ask';
}

function setUp() {
  const ran: unknown[] = [];
  const read = tool('read', async (input) => {
    ran.push(input);
    return 'KEY=1';
  });
  const script = [answer(call('c1', 'read', { path: 'a.txt' })), 'Done.'];
  return { ran, script, options: { tools: [read], approve: denySecrets } };
}

test('attack: a changed input that the policy denies does not run', async () => {
  const { ran, script, options } = setUp();
  const stage = createTestAgent(script, options);
  const run = stage.agent.run('Go', { session });
  await stage.until('approval_asked');
  await run.approve(c1, { input: { path: '.env' } });
  expect(resultTexts((await stage.end(run)).items)).toEqual(['It was not allowed: it is secret']);
  expect(ran).toEqual([]);
  expect(await problemsLeftIn(stage.log)).toEqual([]);
});

test('attack: a run that was parked does not run a denied input either', async () => {
  const { ran, script, options } = setUp();
  const stage = createTestAgent(script, { ...options, whileAsking: 'park' });
  const parked = stage.agent.run('Go', { session });
  expect((await stage.end(parked)).stop.reason).toBe('parked');
  const run = stage.agent.resume(session);
  await run.approve(c1, { input: { path: '.env' } });
  await stage.end(run);
  await stage.end(stage.agent.resume(session));
  expect(ran).toEqual([]);
});

test('a changed input that the policy asks about runs, because it was approved', async () => {
  const { ran, script, options } = setUp();
  const stage = createTestAgent(script, options);
  const run = stage.agent.run('Go', { session });
  await stage.until('approval_asked');
  await run.approve(c1, { input: { path: 'b.txt' } });
  await stage.end(run);
  expect(ran).toEqual([{ path: 'b.txt' }]);
});

test.each(['b.txt', 'a.txt'])(
  '18.1141: attack: a changed input leads to a file that no question showed: %s',
  async (path) => {
    const { ran, script, options } = setUp();
    // `link` is set when a program replaces the file `a.txt` by a link, while the question is open.
    const link = new Map<string, string>();
    const stage = createTestAgent(script, {
      ...options,
      approve: ({ input }) => {
        const { path: given } = input as { readonly path: string };
        return { decision: 'ask', judged: `/folder/${link.get(given) ?? given}` };
      },
    });
    const run = stage.agent.run('Go', { session });
    await stage.until('approval_asked');
    link.set('a.txt', '../outside.txt');
    await run.approve(c1, { input: { path, content: 'x' } });
    expect(resultTexts((await stage.end(run)).items)).toEqual([
      expect.stringMatching(/changed the input.*about \/folder\/a\.txt.*Make the call again/),
    ]);
    expect(ran).toEqual([]);
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  },
);

test('18.1141: a changed input for the file of the question runs', async () => {
  const { ran, script, options } = setUp();
  const approve = () => ({ decision: 'ask', judged: '/folder/a.txt' }) as const;
  const stage = createTestAgent(script, { ...options, approve });
  const run = stage.agent.run('Go', { session });
  await stage.until('approval_asked');
  await run.approve(c1, { input: { path: './a.txt' } });
  await stage.end(run);
  expect(ran).toEqual([{ path: './a.txt' }]);
});

/** Each call has its own rule, as with exact rules of a policy. */
function setUpRules() {
  const ran: unknown[] = [];
  const shell = tool('shell', async (input) => ran.push(input));
  const remove = { command: 'rm -r data' };
  const script = [
    answer(call('c1', 'shell', remove)),
    answer(call('c2', 'shell', remove)),
    'Done.',
  ];
  const approve = ({ input }: CheckedToolCall) =>
    ({ decision: 'ask', rule: JSON.stringify(input) }) as const;
  return { ran, stage: createTestAgent(script, { tools: [shell], approve }) };
}

const list = { command: 'ls data' };

test('attack: an approval with another input does not allow the call that the user corrected', async () => {
  const { ran, stage } = setUpRules();
  const run = stage.agent.run('Go', { session });
  await stage.until('approval_asked');
  // Another process writes it to the log, where nobody checks it.
  const command = { type: 'approve', toolCallId: 'c1', input: list, until: 'session' } as const;
  await stage.log.submit(session, command, 'k');
  await stage.until('approval_asked', 2);
  expect(ran).toEqual([list]);
  await run.abort();
  await stage.end(run);
});

test('an approval with another input that lasts is refused, and the question stays open', async () => {
  const { ran, stage } = setUpRules();
  const run = stage.agent.run('Go', { session });
  await stage.until('approval_asked');
  const both = { input: list, until: 'session' } as const;
  await expect(run.approve(c1, both)).rejects.toMatchObject({ code: 'bad_option' });
  const command = { type: 'approve', toolCallId: c1, ...both } as const;
  await expect(submitCommand(stage.log, session, command)).rejects.toMatchObject({
    ...{ code: 'bad_option', message: expect.stringContaining('Omit `until`') },
  });
  expect(ran).toEqual([]);
  await run.abort();
  await stage.end(run);
});

const request = {
  ...{ type: 'mcp_approval_request', id: 'mcpr_1', name: 'refund', server_label: 'shop' },
  arguments: '{"amount":1000}',
};

/** Answers the provider's question and returns the answer that it gets. */
async function answerTo(item: typeof request, input?: { readonly [key: string]: unknown }) {
  for (const output of [[item], []]) {
    const end = { type: 'response.completed', response: { status: 'completed', output } };
    server.reply(sseReply([{ data: JSON.stringify(end) }]));
  }
  const provider = openaiResponses({
    ...{ model: 'gpt-5.1', preset: 'openai', baseUrl: server.url(), apiKey: 'key' },
  });
  const run = createAgent({ provider, tools: [mcpApprovalTool()] }).run('Refund.');
  const inputs: unknown[] = [];
  for await (const event of run.events) {
    if (event.type === 'tool_call_ready') inputs.push(event.input);
    if (event.type !== 'approval_asked') continue;
    await run.approve(event.toolCallId, input && { input: input as never });
  }
  const body = server.requests().at(-1)?.body;
  const sent = (typeof body === 'string' ? JSON.parse(body) : body) as { input: object[] };
  return { inputs, answer: sent.input.at(-1) };
}

const about = { server_label: 'shop', name: 'refund' };

test('attack: a provider that asks is refused if the user changed the call', async () => {
  const { answer: given } = await answerTo(request, { ...about, arguments: { amount: 10 } });
  expect(given).toMatchObject({ approve: false, reason: expect.stringContaining('changed') });
});

test('a provider that asks gets the approval of the same call', async () => {
  const same = { ...about, arguments: { amount: 1000 } };
  expect(await answerTo(request, same)).toMatchObject({ answer: { approve: true } });
});

test.for([
  ['no JSON', 'delete everything'],
  ['a list', '["--all"]'],
  ['a repeated key', '{"amount":1000,"amount":1}'],
  ['a repeated key deep inside', '{"a":[{"b":1,"b":2}]}'],
  ['a number that a double rounds', '{"order":9007199254740993}'],
] as const)('attack: the user sees arguments that are %s', async ([, text]) => {
  const { inputs } = await answerTo({ ...request, arguments: text });
  expect(inputs).toEqual([expect.objectContaining({ arguments_text: text })]);
});

test.for(['{"a": {"b": [1, 2.50, 1e2, "x:\\"y\\":"]}, "c": -0}', '{}', ''])(
  'arguments that are shown exactly are not shown twice (%s)',
  async (text) => {
    const { inputs, answer: given } = await answerTo({ ...request, arguments: text });
    expect(inputs).toEqual([expect.not.objectContaining({ arguments_text: expect.anything() })]);
    expect(given).toMatchObject({ approve: true });
  },
);

test('18.945: attack: an input that is valid only after the guardrails looked at it runs unchecked', async () => {
  let isValid = false;
  const ran: unknown[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays an amount',
    // The validation reads something that changes, such as a file.
    input: z.object({ amount: z.number() }).refine(() => isValid, 'unknown account'),
    execute: async (input) => {
      ran.push(input);
      return 'Paid.';
    },
  });
  const noPayments = toolGuardrail({
    name: 'no-payments',
    tools: [pay],
    check: () => ({ verdict: 'stop', reason: 'no payments' }),
  });
  const other = tool('other', async () => 'ok');
  const look = toolGuardrail({
    name: 'look',
    tools: [other],
    check: () => {
      isValid = true;
      return 'pass';
    },
  });
  const script = [answer(call('c1', 'pay', { amount: 5 }), call('c2', 'other', {})), 'Done.'];
  const { agent, end, log } = createTestAgent(script, {
    tools: [pay, other],
    guardrails: [noPayments, look],
  });
  const result = await end(agent.run('Go', { session }));
  expect(isValid).toBe(true);
  expect(ran).toEqual([]);
  expect(resultTexts(result.items)[0]).toContain('The arguments did not fit when');
  expect(await problemsLeftIn(log)).toEqual([]);
});
