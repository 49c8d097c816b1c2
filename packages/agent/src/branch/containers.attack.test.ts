import { type JsonObject, type JsonValue, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { anthropic, openaiResponses, type Provider } from '@millrace/providers';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.ts';
import { defineTool } from '../tool/define-tool.ts';

// A copy of a session must not reach the provider's code container of its original.

type Body = JsonObject & { readonly input: JsonObject[]; readonly messages: JsonObject[] };

/** A fake fetch that answers each request with the events that `answer` returns. */
function server(answer: (body: Body) => readonly JsonObject[]) {
  const bodies: Body[] = [];
  const fake: typeof fetch = async (_url, init) => {
    const body = JSON.parse(String(init?.body)) as Body;
    bodies.push(body);
    const events = answer(body).map((event) => `data: ${JSON.stringify(event)}\n\n`);
    return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } });
  };
  return { bodies, fetch: fake };
}

/** The files of the containers. Each run of code appends a line to the file of its container. */
class Containers {
  readonly #files = new Map<string, string[]>();

  run(given: JsonValue | undefined, line: string): { readonly id: string; readonly file: string } {
    const id = typeof given === 'string' ? given : `cntr_${this.#files.size + 1}`;
    const file = [...(this.#files.get(id) ?? []), line];
    this.#files.set(id, file);
    return { id, file: file.join(' | ') };
  }
}

/** An API that continues the container of the last call in its input, or of the response that continues. */
function openaiApi(itemOf: (container_id: string, k: number) => readonly JsonObject[]) {
  const containers = new Containers();
  const stored = new Map<JsonValue | undefined, string>();
  let count = 0;
  return server(({ input, previous_response_id: previous }) => {
    const named = JSON.stringify(input).match(/.*"container_id":"(\w+)"/)?.[1];
    const said = JSON.stringify(input.findLast(({ role }) => role === 'user')?.['content']);
    const line = /"text":"([^"]*)"/.exec(said)?.[1] ?? '';
    const { id, file } = containers.run(named ?? stored.get(previous), line);
    const k = ++count;
    stored.set(`resp_${k}`, id);
    const content = [{ type: 'output_text', text: `Notes: ${file}`, annotations: [] }];
    const message = { type: 'message', id: `msg_${k}`, role: 'assistant', content };
    const output = [...itemOf(id, k), { ...message, status: 'completed' }];
    const response = { id: `resp_${k}`, status: 'completed', output };
    return [{ type: 'response.completed', response }];
  });
}

const interpreter = (container_id: string, k: number) => [
  {
    ...{ type: 'code_interpreter_call', id: `ci_${k}`, status: 'completed', container_id },
    ...{ code: 'print(open("notes").read())', outputs: [{ type: 'logs', logs: `log ${k}` }] },
  },
];
const shell = (container_id: string, k: number) => [
  {
    ...{ type: 'shell_call', id: `sh_${k}`, call_id: `call_${k}`, status: 'completed' },
    environment: { type: 'container_reference', container_id },
    action: { commands: ['cat notes'] },
  },
  {
    ...{ type: 'shell_call_output', id: `sho_${k}`, call_id: `call_${k}`, status: 'completed' },
    output: [{ stdout: `log ${k}`, stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
  },
];

/** Says something in a session, then in a copy of it, and then again in both. */
async function sayInBoth(provider: Provider) {
  const log = memoryLog();
  const agent = createAgent({ provider, log });
  const say = async (session: string, text: string) =>
    (await agent.run(text, { session }).result).text;
  await say('original', 'hello');
  const { through = 0 } = (await log.info('original')) ?? {};
  await log.fork('original', { into: 'copy', through });
  await say('original', 'secret');
  const texts = [
    await say('copy', 'what do the notes contain?'),
    await say('original', 'and now?'),
    await say('copy', 'more'),
  ];
  await log.close();
  return texts;
}

test.each([
  ['18.1800', 'code interpreter', interpreter, false],
  ['18.1801', 'shell', shell, false],
  ['18.1802', 'stored response', interpreter, true],
])(
  '%s: attack: a copy of a session continues the container of the original: %s',
  async (...given) => {
    const [, , itemOf, sendsOnlyNew] = given;
    const { bodies, fetch } = openaiApi(itemOf);
    const model = { model: 'gpt-5', apiKey: 'sk-test', sendsOnlyNew, store: true, fetch };
    const texts = await sayInBoth(openaiResponses(model));
    expect(texts).toEqual([
      'Notes: what do the notes contain?',
      'Notes: hello | secret | and now?',
      'Notes: what do the notes contain? | more',
    ]);
    // The copy still has the code and its output, as text, and no container of the original.
    const first = JSON.stringify(bodies[2]?.input);
    expect(first).toContain('log 1');
    expect(first).toContain('notes');
    expect(first).not.toMatch(/container_id|shell_call|code_interpreter_call/);
    expect(bodies[2]).not.toHaveProperty('previous_response_id');
    // A session sends its own items unchanged, or continues its own response.
    const own = itemOf('cntr_1', 1);
    if (sendsOnlyNew) expect(bodies[3]?.['previous_response_id']).toBe('resp_2');
    else expect(bodies[3]?.input.slice(1, 1 + own.length)).toEqual(own);
  },
);

const caller = { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' };
const codeCall = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: {} };
const answer = (content: readonly JsonObject[], stop_reason: string, id: string) => [
  { type: 'message_start', message: { id: 'msg_1', content, usage: {} } },
  { type: 'message_delta', delta: { stop_reason, container: { id, expires_at: '2027-01-01' } } },
  { type: 'message_stop' },
];

test('18.1803: attack: a copy answers the code that waits in the container of the original', async () => {
  const containers = new Containers();
  const { bodies, fetch } = server(({ container, messages }) => {
    const sent = JSON.stringify(messages.at(-1)?.['content']);
    const { id, file } = containers.run(container, /found \w+/.exec(sent)?.[0] ?? 'start');
    if (sent.includes('tool_result')) return answer([{ type: 'text', text: file }], 'end_turn', id);
    const use = { type: 'tool_use', id: 'toolu_1', name: 'lookup', input: { q: 'x' }, caller };
    return answer([codeCall, use], 'tool_use', id);
  });
  const lookup = defineTool({
    ...{ name: 'lookup', description: 'Finds', input: z.object({ q: z.string() }) },
    execute: async (_input, { session }) => `found ${session}`,
  });
  const log = memoryLog();
  const provider = anthropic({ model: 'claude-opus-4-5', apiKey: 'k', fetch });
  const agent = createAgent({
    ...{ provider, log, tools: [lookup] },
    ...{ approve: () => 'ask', whileAsking: 'park' },
  });
  await agent.run('Run the code', { session: 'original' }).result;
  const { through = 0 } = (await log.info('original')) ?? {};
  await log.fork('original', { into: 'copy', through });
  const approve = async (session: string) => {
    const run = agent.resume(session);
    await run.approve(toolCallId('toolu_1'));
    return (await run.result).text;
  };
  expect(await approve('original')).toBe('start | found original');
  expect(await approve('copy')).toBe('found copy');
  expect(bodies.map(({ container }) => container)).toEqual([undefined, 'cntr_1', undefined]);
  const [own, foreign] = [bodies[1]?.messages[1], bodies[2]?.messages[1]];
  expect(own).toMatchObject({ content: [codeCall, { type: 'tool_use', caller }] });
  const { caller: _code, ...direct } = { type: 'tool_use', id: 'toolu_1', name: 'lookup', caller };
  expect(foreign).toEqual({ role: 'assistant', content: [{ ...direct, input: { q: 'x' } }] });
  await log.close();
});

test('18.1804: attack: a copy continues a paused answer in the container of the original', async () => {
  const { bodies, fetch } = server(({ container }) =>
    container === undefined && bodies.length === 1
      ? answer([{ type: 'text', text: 'I run it.' }, codeCall], 'pause_turn', 'cntr_1')
      : answer([{ type: 'text', text: 'Done.' }], 'end_turn', 'cntr_2'),
  );
  const model = anthropic({ model: 'claude-opus-4-5', apiKey: 'k', fetch });
  const user = { id: 'u1', kind: 'user', parts: [{ kind: 'text', text: 'Go' }] };
  const { item } = await model.complete({ items: [user as never] }, { session: 'original' });
  const items = [user as never, item];
  for (const session of ['original', 'copy', undefined])
    await model.complete({ items }, { session });
  expect(bodies.map(({ container }) => container)).toEqual([
    ...[undefined, 'cntr_1', undefined, undefined],
  ]);
  expect(bodies[1]?.messages[1]?.['content']).toMatchObject([{}, codeCall]);
  expect(JSON.stringify(bodies[2]?.messages)).not.toContain('server_tool_use');
  expect(model.describe?.({ items }, { session: 'original' }).body['container']).toBe('cntr_1');
});
