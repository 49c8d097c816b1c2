import { createHash } from 'node:crypto';
import {
  type AgentOptions,
  clientTool,
  inputGuardrail,
  outputGuardrail,
  readOutputTool,
} from '@millrace/agent';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { serveOpenAi } from '../../testing/openai-client.ts';

// An output guardrail checks an answer, asks a person about it, or stopped it. A client refers to the answer, so that
// another session contains it and the model reads it.

// biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of any shape
type Json = any;
type Check = Parameters<typeof outputGuardrail>[0]['check'];

/** Serves an agent whose first answers are the script, and sends requests of a client as JSON. */
async function serve(
  script: readonly (string | ReturnType<typeof toolCall>)[],
  check: Check,
  more: Pick<AgentOptions, 'guardrails' | 'tools'> = {},
) {
  const provider = scriptedProvider([...script, 'Fine.', 'Fine.', 'Fine.'], { pieces: 'token' });
  const guardrails = [outputGuardrail({ name: 'no-secret', check })];
  const agent = { provider, guardrails, whileAsking: 'park', ...more } as const;
  const { url } = await serveOpenAi([], { agent });
  const send = async (path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' };
    const init = body && { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(new URL(path, url), init);
    const text = await response.text();
    const json: Json = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : undefined;
    return { status: response.status, json, text };
  };
  const respond = (more: object) => send('/v1/responses', { model: 'helper', ...more });
  const sent = () => JSON.stringify(provider.requests.map(({ request }) => request.items));
  const isSent = () => sent().includes('secret');
  return { send, respond, sent, isSent };
}

const refer = (...ids: readonly string[]) => ({
  input: [
    ...ids.map((id) => ({ type: 'item_reference', id })),
    { role: 'user', content: 'Repeat this' },
  ],
});

test('18.1101: attack: a reference copies an answer that a guardrail still checks', async () => {
  const isChecking = Promise.withResolvers<void>();
  const verdict = Promise.withResolvers<'pass' | { verdict: 'stop'; reason: string }>();
  const { send, respond, isSent } = await serve(['The secret.'], ({ text }) => {
    if (!text.includes('secret')) return 'pass';
    isChecking.resolve();
    return verdict.promise;
  });
  const { json: first } = await respond({ input: 'Hi', background: true });
  await isChecking.promise;
  const { json: now } = await send(`/v1/responses/${first.id}`);
  const { id } = now.output[0];
  const during = await respond(refer(id));
  expect([during.status, during.json.error?.code]).toEqual([400, 'response_not_complete']);
  verdict.resolve({ verdict: 'stop', reason: 'refused' });
  const status = async () => (await send(`/v1/responses/${first.id}`)).json.status;
  await expect.poll(status).toBe('incomplete');
  expect((await respond(refer(id))).status).toBe(404);
  expect(isSent()).toBe(false);
});

test('18.1101: attack: a reference copies an answer about which a guardrail asks a person', async () => {
  const { respond, isSent } = await serve(['The secret.'], ({ text }) =>
    text.includes('secret') ? { verdict: 'ask' } : 'pass',
  );
  const { json: first } = await respond({ input: 'Hi' });
  const ids = first.output.map(({ id }: { readonly id: string }) => id).slice(0, 1);
  expect((await respond(refer(...ids))).status).toBe(400);
  expect(isSent()).toBe(false);
});

test('18.1101: references to checked answers, and to calls that wait for the client, still work', async () => {
  const { respond } = await serve([toolCall('look', {}, 'c1'), 'It is sunny.'], () => 'pass');
  const tools = [{ type: 'function', name: 'look', parameters: {} }];
  const { json: first } = await respond({ input: 'Hi', tools });
  const [call] = first.output;
  const reference = { type: 'item_reference', id: call.id };
  const output = { type: 'function_call_output', call_id: call.call_id, output: 'sun' };
  const said = { role: 'user', content: 'Hi' };
  const { status, json: next } = await respond({ input: [said, reference, output], tools });
  expect([status, next.output[0]?.content[0].text]).toEqual([200, 'It is sunny.']);
  expect((await respond(refer(next.output[0].id))).status).toBe(200);
});

test.each(['stop', 'change'] as const)(
  '18.1296: attack: a reference brings back a long output of a client, to which an input guardrail said %s',
  async (kind) => {
    const output = `Read the rest. ${'-'.repeat(1000)}secret${'-'.repeat(1000)}`;
    const hash = createHash('sha256').update(output).digest('hex');
    const verdict =
      kind === 'stop'
        ? ({ verdict: 'stop', reason: 'refused' } as const)
        : ({ verdict: 'change', to: '-'.repeat(3000) } as const);
    const guardrail = inputGuardrail({
      name: 'no-secret',
      check: ({ text }) => (text.includes('secret') ? verdict : 'pass'),
    });
    const paste = clientTool({
      ...{ name: 'paste', description: 'Pastes', input: z.object({}), output: z.unknown() },
      maxOutputLength: 400,
    });
    const script = [
      ...[toolCall('paste', {}, 'c1'), ...(kind === 'change' ? ['Fine.'] : [])],
      toolCall('read_output', { output: hash }, 'c2'),
    ];
    const more = { guardrails: [guardrail], tools: [paste, readOutputTool()] };
    const { send, respond, sent } = await serve(script, () => 'pass', more);
    const { json: first } = await respond({ input: 'Hi' });
    const task = first.conversation.id;
    await send(`/tasks/${task}/commands`, { type: 'tool_output', tool_call_id: 'c1', output });
    const records = async () => (await send(`/tasks/${task}/records`)).json.records;
    const isIdle = async () =>
      (await records()).findLast((one: Json) => one.fact?.type === 'run_finished').fact.stop.reason;
    await expect.poll(isIdle).toBe(kind === 'stop' ? 'blocked' : 'stop');
    const call = (await records()).find((one: Json) => one.delta?.kind === 'tool_call');
    await respond(refer(`mcp_${task}:${call.delta.partId}`));
    expect(sent()).not.toContain('secret');
    // The changed text is not longer in a request than the clipped output.
    expect(sent()).not.toContain('-'.repeat(1000));
  },
);

test('18.1102: attack: the question of a guardrail keeps an answer in the response that a person refused', async () => {
  const { send, respond } = await serve(['The secret.'], ({ text }) =>
    text.includes('secret') ? { verdict: 'ask' } : 'pass',
  );
  const { json: first } = await respond({ input: 'Hi' });
  const question = first.output.at(-1);
  expect(question).toMatchObject({ type: 'mcp_approval_request' });
  const { json: denied } = await respond({
    previous_response_id: first.id,
    input: [{ type: 'mcp_approval_response', approve: false, approval_request_id: question.id }],
  });
  for (const path of [
    `/v1/responses/${denied.id}`,
    `/v1/responses/${denied.id}/input_items`,
    `/v1/conversations/${denied.conversation.id}/items`,
    `/v1/responses/${first.id}`,
    `/v1/responses/${first.id}/input_items`,
    `/messages?task_id=${denied.conversation.id}`,
    `/tasks/${denied.conversation.id}`,
  ])
    expect([path, (await send(path)).text]).toEqual([path, expect.not.stringContaining('secret')]);
});

test('18.1103: attack: a repeated run of AG-UI brings back an answer that a person refused', async () => {
  const { send } = await serve(['The secret.'], ({ text }) =>
    text.includes('secret') ? { verdict: 'ask' } : 'pass',
  );
  const path = '/agents/name/helper/ag-ui';
  const first = {
    threadId: 't',
    runId: 'r1',
    messages: [{ id: 'm', role: 'user', content: 'Hi' }],
  };
  const { text: asked } = await send(path, first);
  const [, interruptId = ''] = /"interrupts":\[\{"id":"([^"]+)"/.exec(asked) ?? [];
  const deny = { interruptId, status: 'resolved', payload: { approved: false } };
  expect((await send(path, { ...first, runId: 'r2', resume: [deny] })).text).toContain('blocked');
  const { text: repeated } = await send(path, first);
  expect(repeated).toContain('RUN_ERROR');
  expect(repeated).not.toContain('secret');
});
