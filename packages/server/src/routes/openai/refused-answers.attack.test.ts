import { outputGuardrail } from '@millrace/agent';
import { toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { serveOpenAi } from '../../testing/openai-client.ts';
import type { Json } from '../../testing/scope-requests.ts';
import { testToken } from '../../testing/servers/test-server.ts';

// A guardrail asks a person about an answer, and the person refuses it. A client wants the answer back with a fork.

const guardrail = outputGuardrail({
  name: 'no-secret',
  check: ({ text }) => (text.includes('secret') ? { verdict: 'ask', reason: 'secret' } : 'pass'),
});

const weather = { type: 'function', name: 'weather', parameters: {}, strict: null } as const;

/** Serves an agent, and sends requests of users as JSON. */
async function serve(
  script: Parameters<typeof serveOpenAi>[0],
  whileAsking: 'park' | 'wait',
  checked = guardrail,
  more: Parameters<typeof serveOpenAi>[1] = {},
) {
  const agent = { guardrails: [checked], whileAsking };
  const { url, log, server } = await serveOpenAi(script, { agent, ...more });
  const send = async (path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' };
    const init = body && { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(new URL(path, url), init);
    const json = (await response.json()) as Json;
    return { status: response.status, json };
  };
  const respond = (more: object) => send('/v1/responses', { model: 'helper', ...more });
  const sessions = async () => (await log.list()).map(({ session }) => session);
  return { url, log, server, send, respond, sessions };
}

test.each(['park', 'wait'] as const)(
  '18.807: attack: a fork brings an answer back that a person refused (%s)',
  async (whileAsking) => {
    const { log, send, respond, sessions } = await serve(['a secret', 'fine'], whileAsking);
    const { json: first } = await respond({ input: 'Hi' });
    const { records } = await log.read(first.conversation.id);
    const asked = records.find(({ fact }) => fact?.type === 'approval_asked')?.fact;
    const call = asked?.type === 'approval_asked' ? asked.toolCallId : '';
    const deny = { type: 'deny', tool_call_id: call };
    await send(`/tasks/${first.conversation.id}/commands`, deny);
    const isBlocked = async () => {
      const page = await log.read(first.conversation.id);
      return page.records.some(({ fact }) => fact?.type === 'attempt_superseded');
    };
    await expect.poll(isBlocked).toBe(true);
    await respond({ conversation: first.conversation.id, input: 'Next' });
    const output = { type: 'function_call_output', call_id: call, output: 'x' };
    for (const input of [[output], [output, { role: 'user', content: 'Go on' }], 'Go on'])
      expect((await respond({ previous_response_id: first.id, input })).status).toBe(400);
    expect(await sessions()).toEqual([first.conversation.id]);
  },
);

/** Reads a text from the server, for example a stream up to its end. */
const textOf = async (url: string, path: string) => (await fetch(new URL(path, url))).text();

/** Returns the events of a stream. */
const eventsIn = (text: string): Json[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data));

const verdicts = ['stop', 'ask', 'change'] as const;

test.each(verdicts)(
  '18.1602: attack: the stream of an ended response repeats a refused answer (%s)',
  async (verdict) => {
    const check = outputGuardrail({
      name: 'no-zebra',
      check: ({ text }) => {
        if (!text.includes('zebra')) return 'pass';
        return verdict === 'change'
          ? { verdict, to: 'A horse is here.' }
          : { verdict, reason: 'no zebra' };
      },
    });
    const served = await serve(['A zebra is here.', 'fine'], 'park', check);
    const { url, respond, send } = served;
    const { json: first } = await respond({ input: 'Hi' });
    const ids = [first.id];
    if (verdict === 'ask') {
      const { id: approval_request_id } = first.output.at(-1);
      const answer = { type: 'mcp_approval_response', approve: false, approval_request_id };
      const { json } = await respond({ previous_response_id: first.id, input: [answer] });
      ids.push(json.id);
    }
    for (const id of ids) {
      const path = `/v1/responses/${id}`;
      const { json: stored } = await send(path);
      const whole = eventsIn(await textOf(url, `${path}?stream=true`));
      expect(whole.at(-1).response).toEqual(stored);
      // A client that has received a part of the answer gets no more of it.
      for (const after of ['', '&starting_after=0', ...resumes(whole)])
        expect(await textOf(url, `${path}?stream=true${after}`)).not.toMatch(/zebra|mcpr_/);
      expect(await textOf(url, `${path}/input_items`)).not.toContain('zebra');
      // The items that remain have the indexes that they have in the response.
      const added = whole.filter(({ type }) => type === 'response.output_item.added');
      const placed = added.map(({ item, output_index }) => [output_index, item.id]);
      expect(placed).toEqual(stored.output.map((item: Json, at: number) => [at, item.id]));
    }
  },
);

test('18.1603: a client that saw a refused item gets later items at the same indexes as before', async () => {
  const check = outputGuardrail({
    name: 'no-zebra',
    check: ({ text }) => (text.includes('zebra') ? { verdict: 'change', to: 'A horse.' } : 'pass'),
  });
  const { url, respond } = await serve(['A zebra is here.'], 'park', check);
  const response = await fetch(new URL('/v1/responses', url), {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ model: 'helper', input: 'Hi', stream: true }),
  });
  const live = eventsIn(await response.text());
  const [refused, shown] = live.filter(({ type }) => type === 'response.output_item.added');
  expect([refused.output_index, shown.output_index]).toEqual([0, 1]);
  const path = `/v1/responses/${live[0].response.id}?stream=true`;
  const resumed = eventsIn(await textOf(url, `${path}&starting_after=${refused.sequence_number}`));
  const from = live.findIndex(({ sequence_number: n }) => n === shown.sequence_number);
  expect(resumed).toEqual(live.slice(from));
  const whole = eventsIn(await textOf(url, path));
  expect(whole.filter(({ output_index }) => output_index > 0)).toEqual([]);
  expect((await respond({ input: 'Again' })).status).toBe(200);
});

/** Accepts each request, so that a request without a socket is accepted too. */
const anyone = () => ({ user: 'ann' });

test('18.1604: attack: a slow reader keeps a refused answer in memory for new readers', async () => {
  const text = `A secret ${'and more '.repeat(50_000)}`;
  const { url, respond, server } = await serve([text, 'fine'], 'park', guardrail, {
    ...{ pieces: 'whole', server: { tokens: [testToken('operator')], authorize: anyone } },
  });
  const { json: first } = await respond({ input: 'Hi' });
  const path = `/v1/responses/${first.id}?stream=true`;
  // Nobody reads the rest of this stream.
  const slow = await server.fetch(new Request(new URL(path, url)));
  const reader = slow.body?.getReader();
  await reader?.read();
  expect(await textOf(url, path)).toContain('secret');
  const { id: approval_request_id } = first.output.at(-1);
  const answer = { type: 'mcp_approval_response', approve: false, approval_request_id };
  await respond({ previous_response_id: first.id, input: [answer] });
  expect(await textOf(url, path)).not.toMatch(/secret|mcpr_/);
  await reader?.cancel();
});

/** Returns the queries of clients that have received a part of the events. */
function resumes(events: readonly Json[]): readonly string[] {
  const last = events.at(-1).sequence_number;
  return Array.from(
    { length: 12 },
    (_, part) => `&starting_after=${Math.floor((last * part) / 12)}`,
  );
}

test('18.807: outputs for calls that do not wait leave no task and no message', async () => {
  const { log, respond, sessions } = await serve([toolCall('weather', {}, 'c1'), 'one'], 'park');
  const { json: first } = await respond({ input: 'Hi', tools: [weather] });
  await respond({
    previous_response_id: first.id,
    input: [{ type: 'function_call_output', call_id: 'c1', output: 'sun' }],
  });
  const before = (await log.info(first.conversation.id))?.through;
  const outputs = ['c1', 'c2'].map((call_id) => ({
    ...{ type: 'function_call_output', call_id, output: 'rain' },
  }));
  const input = [...outputs, { role: 'user', content: 'Go on' }];
  expect((await respond({ previous_response_id: first.id, input })).status).not.toBe(200);
  expect((await log.info(first.conversation.id))?.through).toBe(before);
  expect(await sessions()).toHaveLength(1);
});
