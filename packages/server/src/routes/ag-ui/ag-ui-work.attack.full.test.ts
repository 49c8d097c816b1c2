import { defineTool } from '@millrace/agent';
import { toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { agUiClient, runAgUi, say } from '../../testing/ag-ui/ag-ui-client.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { stepsOf } from '../../testing/servers/steps-of.ts';

// A client of AG-UI wants one small request to cost the server much time or memory.

const headers = { 'content-type': 'application/json' };

async function postRun(url: string, body: object): Promise<{ status: number; text: string }> {
  const response = await fetch(`${url}/agents/name/helper/ag-ui`, {
    ...{ method: 'POST', headers, body: JSON.stringify({ runId: 'r1', ...body }) },
  });
  return { status: response.status, text: await response.text() };
}

const many = <T>(count: number, of: (at: number) => T) =>
  Array.from({ length: count }, (_, at) => of(at));

/** A state whose changes all have a long path. */
const longState = (value: number) => ({
  ['k'.repeat(10_000)]: Object.fromEntries(many(2000, (at) => [`a${at}`, value])),
});

/** Serves an agent with a tool that changes the state of the thread. */
async function serveStates(next: object) {
  const change = defineTool({
    ...{ name: 'change', description: 'Changes the state', input: z.object({}) },
    execute: async () => {
      const [stored] = (await (await fetch(`${url}/states`)).json()) as { id: string }[];
      const body = JSON.stringify({ state: next });
      await fetch(`${url}/states/${stored?.id}`, { method: 'PUT', headers, body });
      return 'changed';
    },
  });
  const { url } = await serveOpenAi([toolCall('change'), 'Done.', 'Again.'], {
    agent: { tools: [change] },
  });
  return url;
}

test('18.308: attack: a patch of the state is larger than the state', async () => {
  const url = await serveStates(longState(2));
  const agent = agUiClient(url, { initialState: longState(1) });
  say(agent, 'Hi');
  const { events } = await runAgUi(agent);
  const reports = events.filter(({ type }) => type.startsWith('STATE_'));
  expect(reports.map(({ type }) => type)).toEqual(['STATE_SNAPSHOT']);
  expect(JSON.stringify(reports).length).toBeLessThan(1.1 * JSON.stringify(longState(2)).length);
  expect(agent.state).toEqual(longState(2));
});

test('18.308: many short changes are a snapshot too, and few changes stay a patch', async () => {
  const flat = (value: number) => Object.fromEntries(many(1000, (at) => [`a${at}`, value]));
  const sent = async (next: object) => {
    const agent = agUiClient(await serveStates(next), { initialState: flat(1) });
    say(agent, 'Hi');
    const { events } = await runAgUi(agent);
    expect(agent.state).toEqual(next);
    return events.flatMap(({ type }) => (type.startsWith('STATE_') ? type : []));
  };
  expect(await sent(flat(2))).toEqual(['STATE_SNAPSHOT']);
  expect(await sent({ ...flat(1), a7: 2, more: {} })).toEqual(['STATE_DELTA']);
  expect(await sent({ ...flat(1) })).toEqual([]);
});

test('18.308: attack: the comparison of two states builds a path for each value', async () => {
  const { url } = await serveOpenAi(['One.', 'Two.']);
  const run = (runId: string, state: object) =>
    postRun(url, {
      threadId: 't',
      runId,
      state,
      messages: [{ id: runId, role: 'user', content: 'Hi' }],
    });
  await run('r1', longState(1));
  const { replaceAll } = String.prototype;
  let escapes = 0;
  String.prototype.replaceAll = function (this: string, ...args: never) {
    if (args[0] === '~') escapes += 1;
    return replaceAll.apply(this, args);
  } as typeof replaceAll;
  try {
    expect((await run('r2', longState(2))).text).toContain('RUN_FINISHED');
    expect((await run('r2', longState(1))).text).toContain('STATE_SNAPSHOT');
  } finally {
    String.prototype.replaceAll = replaceAll;
  }
  expect(escapes).toBe(0);
});

const calls = (prefix: string, count: number) =>
  many(count, (at) => ({
    ...{ id: `${prefix}c${at}`, type: 'function', function: { name: 'f', arguments: '{}' } },
  }));

test('18.309: attack: a request has more parts than the other endpoints accept', async () => {
  const { url } = await serveOpenAi([]);
  const called = many(7, (at) => ({
    ...{ id: `a${at}`, role: 'assistant', toolCalls: calls(`${at}`, 1000) },
  }));
  const shown = many(3, (at) => ({
    ...{ id: `u${at}`, role: 'user', content: Array(7000).fill({ type: 'text', text: 'a' }) },
  }));
  // 20,000 calls have more keys than a body can have, so the first request has texts too.
  for (const messages of [[...called, ...shown.slice(1)], shown]) {
    const { status, text } = await postRun(url, { threadId: 't', messages });
    expect([status, text]).toEqual([422, expect.stringContaining('more than 20000 parts')]);
  }
  // A refused request creates no thread.
  expect((await fetch(`${url}/tasks/name/t`)).status).toBe(404);
});

test('18.309: attack: the work for an input grows with the square of its length', async () => {
  const { url } = await serveOpenAi([]);
  const post = async (count: number) => {
    const results = many(count, (at) => ({
      ...{ id: `t${at}`, role: 'tool', toolCallId: `c${at}`, content: 'ok' },
    }));
    const messages = [
      ...[{ id: 'a', role: 'assistant', toolCalls: calls('', count) }, ...results],
      // The request is refused, so the steps are those of the input alone.
      { id: 'last', role: 'tool', toolCallId: 'unknown', content: 'ok' },
    ];
    expect((await postRun(url, { threadId: 't', messages })).status).toBe(422);
  };
  const few = await stepsOf(() => post(500));
  expect(await stepsOf(() => post(1000))).toBeLessThan(2.5 * few);
});

test('18.309: attack: the work for a message grows with the square of its calls', async () => {
  const read = async (count: number) => {
    const { url } = await serveOpenAi(['One.']);
    const messages = [
      { id: 'a', role: 'assistant', toolCalls: calls('', count) },
      { id: 'u', role: 'user', content: 'Hi' },
    ];
    expect((await postRun(url, { threadId: 't', messages })).text).toContain('RUN_FINISHED');
    return stepsOf(async () => {
      const { text } = await postRun(url, { threadId: 't', messages: [] });
      expect(text).toContain(`c${count - 1}"`);
    });
  };
  // The fold of the log copies the list of parts for each part. The messages add no further copies.
  expect(await read(800)).toBeLessThan(800 * 800);
});
