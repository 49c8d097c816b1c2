import { createAgent, defineTool } from '@millrace/agent';
import { agUiAgent } from '@millrace/agent/remote';
import { sessionId, toArray } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createServer } from '../../create-server.ts';
import { agUiClient, runAgUi, say, shownOf } from '../../testing/ag-ui/ag-ui-client.ts';
import { serveRemoteAgUi } from '../../testing/ag-ui/remote-ag-ui-agent.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';

/** Serves an agent of AG-UI as an agent of our own. */
async function serveProxy(url: string) {
  const log = memoryLog();
  const agent = agUiAgent({ url, log });
  const server = createServer({
    ...{ tokens: 'none', log, limits: { closeTimeoutMs: 200 } },
    agents: [{ type: 'loop', name: 'helper', agent }],
  });
  const { url: own } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const ask = async (...texts: readonly string[]) => {
    const client = agUiClient(own);
    const ends: unknown[] = [];
    for (const text of texts) {
      say(client, text);
      ends.push((await runAgUi(client)).events.at(-1));
    }
    return { client, ends, shown: shownOf(client.messages) };
  };
  return { log, agent, url: own, ask };
}

const stateOf = async (log: ReturnType<typeof memoryLog>) => {
  const [{ session } = expect.fail()] = await log.list();
  return snapshot(log, sessionId(session));
};

test('24.2: an agent of AG-UI answers in our log, with its reasoning, calls and results', async () => {
  const { url, inputs } = await serveRemoteAgUi(async ({ input, send }) => {
    const { threadId, runId } = input;
    const at = input.messages.length;
    send('REASONING_MESSAGE_CONTENT', { messageId: `r${at}`, delta: 'Let me think.' });
    send('TEXT_MESSAGE_START', { messageId: `a${at}`, role: 'assistant' });
    for (const delta of ['I look', ' it up.'])
      send('TEXT_MESSAGE_CONTENT', { messageId: `a${at}`, delta });
    send('TEXT_MESSAGE_END', { messageId: `a${at}` });
    for (const town of ['Bath', 'York']) {
      const toolCallId = `${town}-${at}`;
      send('TOOL_CALL_START', { toolCallId, toolCallName: 'get_weather' });
      send('TOOL_CALL_ARGS', { toolCallId, delta: '{"town":' });
      send('TOOL_CALL_ARGS', { toolCallId, delta: `"${town}"}` });
      send('TOOL_CALL_END', { toolCallId });
    }
    for (const town of ['York', 'Bath'])
      send('TOOL_CALL_RESULT', {
        ...{ messageId: `t-${town}-${at}`, toolCallId: `${town}-${at}`, content: `${town}: sun` },
      });
    send('TEXT_MESSAGE_CHUNK', {
      messageId: `b${at}`,
      role: 'assistant',
      delta: 'Sun everywhere.',
    });
    send('RUN_FINISHED', { threadId, runId, outcome: { type: 'success' } });
  });
  const { ask, log } = await serveProxy(url);
  const { shown } = await ask('Weather?', 'Again?');
  const answer = [
    'reasoning: Let me think.',
    'assistant: I look it up. get_weather{"town":"Bath"} get_weather{"town":"York"}',
    ...['tool: Bath: sun', 'tool: York: sun'],
    'assistant: Sun everywhere.',
  ];
  expect(shown).toEqual(['user: Weather?', ...answer, 'user: Again?', ...answer]);
  // The second run contains the history, with the ids of the remote agent.
  const [, second = expect.fail()] = inputs;
  expect(second.messages.map(({ role }) => role)).toEqual([
    ...['user', 'assistant', 'tool', 'tool', 'assistant', 'user'],
  ]);
  expect(second.messages.filter(({ role }) => role === 'assistant').map(({ id }) => id)).toEqual([
    ...['a1', 'b1'],
  ]);
  expect(second.threadId).toBe(inputs[0]?.threadId);
  expect((await stateOf(log)).asked).toEqual([]);
});

test('24.2: interrupts of a remote agent are questions of our session, and the answers resume it', async () => {
  const { url, inputs } = await serveRemoteAgUi(async ({ input, send }) => {
    const { threadId, runId, resume } = input;
    if (resume === undefined) {
      send('TOOL_CALL_START', { toolCallId: 'c1', toolCallName: 'refund' });
      send('TOOL_CALL_ARGS', { toolCallId: 'c1', delta: '{"order":7}' });
      send('TOOL_CALL_END', { toolCallId: 'c1' });
      const approved = { type: 'boolean' };
      const responseSchema = { type: 'object', properties: { approved }, required: ['approved'] };
      const interrupts = [
        { id: 'i1', reason: 'tool_call', message: 'Refund?', toolCallId: 'c1', responseSchema },
        { id: 'i2', reason: 'input', message: 'Which account?' },
      ];
      return send('RUN_FINISHED', { threadId, runId, outcome: { type: 'interrupt', interrupts } });
    }
    send('TOOL_CALL_RESULT', { messageId: 't1', toolCallId: 'c1', content: 'refunded' });
    send('TEXT_MESSAGE_CHUNK', { messageId: 'a1', role: 'assistant', delta: 'Done.' });
    send('RUN_FINISHED', { threadId, runId, outcome: { type: 'success' } });
  });
  const { log, agent } = await serveProxy(url);
  const session = sessionId('s1');
  const run = agent.run('Refund order 7', { session });
  const questions = async () => (await snapshot(log, session)).asked;
  await expect.poll(async () => (await questions()).length).toBe(1);
  const [first = expect.fail()] = await questions();
  expect([first.from?.form?.message, first.name]).toEqual([
    `The remote agent ${new URL(url).host} asks:\n\nRefund?\nrefund {"order":7}`,
    'refund',
  ]);
  await agent.approve(session, first.toolCallId, { input: { approved: true } });
  await expect
    .poll(async () => (await questions())[0]?.from?.form?.message)
    .toMatch(/\nWhich account\?$/);
  const [second = expect.fail()] = await questions();
  await agent.approve(session, second.toolCallId, { input: { answer: 'savings' } });
  expect((await run.result).text).toBe('Done.');
  expect(inputs[1]?.resume).toEqual([
    { interruptId: 'i1', status: 'resolved', payload: { approved: true } },
    { interruptId: 'i2', status: 'resolved', payload: 'savings' },
  ]);
  const results = toArray((await snapshot(log, session)).items).filter(
    ({ kind }) => kind === 'tool',
  );
  expect(results.flatMap(({ parts }) => parts.map(({ part }) => part))).toMatchObject([
    { name: 'refund', text: 'refunded', isError: false },
  ]);
});

test('24.8: a call that is sent again after an answer is one call, and later runs have the ids of the agent', async () => {
  const { url, inputs } = await serveRemoteAgUi(async ({ input, send }) => {
    const { threadId, runId, resume, messages } = input;
    if (messages.length > 4) {
      send('TEXT_MESSAGE_CHUNK', { messageId: 'a2', role: 'assistant', delta: 'Bye.' });
      return send('RUN_FINISHED', { threadId, runId });
    }
    // LangGraph sends the call again when the answer resumes the run.
    const parentMessageId = resume === undefined ? 'p1' : undefined;
    send('TOOL_CALL_START', { toolCallId: 'c1', toolCallName: 'refund', parentMessageId });
    send('TOOL_CALL_ARGS', { toolCallId: 'c1', delta: '{"order":7}' });
    send('TOOL_CALL_END', { toolCallId: 'c1' });
    if (resume === undefined) {
      const interrupts = [{ id: 'i1', reason: 'tool_call', message: 'Refund?' }];
      return send('RUN_FINISHED', { threadId, runId, outcome: { type: 'interrupt', interrupts } });
    }
    send('TOOL_CALL_RESULT', { messageId: 'other', toolCallId: 'c1', content: 'refunded' });
    send('TEXT_MESSAGE_CHUNK', { messageId: 'a1', role: 'assistant', delta: 'Done.' });
    const call = { name: 'refund', arguments: '{"order":7}' };
    const toolCalls = [{ id: 'c1', type: 'function', function: call }];
    send('MESSAGES_SNAPSHOT', {
      messages: [
        ...messages.filter(({ role }) => role === 'user'),
        { id: 'p1', role: 'assistant', content: '', toolCalls },
        { id: 't1', role: 'tool', toolCallId: 'c1', content: 'refunded' },
        { id: 'a1', role: 'assistant', content: 'Done.' },
      ],
    });
    send('RUN_FINISHED', { threadId, runId });
  });
  const { log, agent } = await serveProxy(url);
  const session = sessionId('s1');
  const run = agent.run('Refund order 7', { session });
  const questions = async () => (await snapshot(log, session)).asked;
  await expect.poll(async () => (await questions()).length).toBe(1);
  const [asked = expect.fail()] = await questions();
  await agent.approve(session, asked.toolCallId, { input: { answer: 'yes' } });
  expect((await run.result).text).toBe('Done.');
  expect((await agent.run('Thanks', { session }).result).text).toBe('Bye.');
  const idsOf = (index: number) => inputs[index]?.messages.map(({ id }) => id).slice(1);
  expect(idsOf(1)).toEqual(['p1']);
  expect(idsOf(2)?.slice(0, -1)).toEqual(['p1', 't1', 'a1']);
});

test('24.2: a stop closes the run of the remote agent, and the session continues', async () => {
  const stopped = Promise.withResolvers<void>();
  const { url } = await serveRemoteAgUi(async ({ input, send, signal }) => {
    const { threadId, runId } = input;
    if (input.messages.length === 1) {
      send('TOOL_CALL_START', { toolCallId: 'c1', toolCallName: 'wait' });
      send('TOOL_CALL_END', { toolCallId: 'c1' });
      send('TOOL_CALL_START', { toolCallId: 'c2', toolCallName: 'look' });
      send('TOOL_CALL_RESULT', { messageId: 't2', toolCallId: 'c2', content: 'seen' });
      signal.addEventListener('abort', () => stopped.resolve());
      return stopped.promise;
    }
    send('TEXT_MESSAGE_CHUNK', { messageId: 'a2', role: 'assistant', delta: 'I am here.' });
    send('RUN_FINISHED', { threadId, runId });
  });
  const { agent, log } = await serveProxy(url);
  const session = sessionId('s1');
  const run = agent.run('Wait', { session });
  await expect
    .poll(async () => JSON.stringify(toArray((await snapshot(log, session)).items)))
    .toContain('seen');
  run.abort();
  expect((await run.result).reason).toBe('aborted');
  await stopped.promise;
  expect((await agent.run('Still there?', { session }).result).text).toBe('I am here.');
});

test('24.2: an error of the remote agent, a refusal and a cut stream are failed runs with a reason', async () => {
  const { url } = await serveRemoteAgUi(async ({ input, send }) => {
    const [text] = input.messages.flatMap(({ content }) => content);
    send('TEXT_MESSAGE_CHUNK', { messageId: 'a', role: 'assistant', delta: 'Half' });
    if (text === 'fail') send('RUN_ERROR', { message: 'The disk is full', code: 'disk' });
  });
  const { agent } = await serveProxy(url);
  const failed = await agent.run('fail').result;
  expect([failed.reason, failed.error?.message]).toEqual(['error', 'The disk is full']);
  const cut = await agent.run('cut').result;
  expect(cut.error?.message).toBe('The agent ended the stream before its run');
  const { url: other } = await serveOpenAi(['Hi']);
  const refused = await agUiAgent({ url: `${other}/agents/name/none/ag-ui` }).run('Hi').result;
  expect(refused.error?.message).toContain('HTTP status 404');
});

test('24.2: our own endpoint is a remote agent, with its approvals', async () => {
  const write = defineTool({
    ...{ name: 'write', description: 'Writes', input: z.object({ path: z.string() }) },
    execute: async ({ path }) => `wrote ${path}`,
  });
  const remoteLog = memoryLog();
  const provider = scriptedProvider([['I write. ', toolCall('write', { path: 'a' })], 'Written.']);
  const remote = createAgent({
    ...{ provider, log: remoteLog, tools: [write], approve: () => 'ask', whileAsking: 'park' },
  });
  const server = createServer({
    ...{ tokens: 'none', log: remoteLog },
    agents: [{ type: 'loop', name: 'writer', agent: remote }],
  });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(() => server.close());
  const { agent, log } = await serveProxy(`${url}/agents/name/writer/ag-ui`);
  const session = sessionId('s1');
  const run = agent.run('Write', { session });
  await expect.poll(async () => (await snapshot(log, session)).asked.length).toBe(1);
  const [{ toolCallId } = expect.fail()] = (await snapshot(log, session)).asked;
  await agent.approve(session, toolCallId, { input: { approved: true } });
  expect((await run.result).text).toBe('Written.');
  const parts = toArray((await snapshot(log, session)).items).flatMap(({ parts: all }) =>
    all.flatMap(({ part }) => (part?.kind === 'tool_result' ? [part.text] : [])),
  );
  expect(parts).toEqual(['wrote a']);
});
