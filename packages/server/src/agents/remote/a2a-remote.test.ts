import { createAgent } from '@millrace/agent';
import { sessionId, toArray } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { a2a } from '@millrace/providers/a2a';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../../create-server.ts';
import { A2aTranscript, a2aClient, sent, transcriptOf } from '../../testing/a2a/a2a-client.ts';
import { type RemoteTurn, serveRemoteA2a } from '../../testing/a2a/remote-a2a-agent.ts';
import { CuttingProxy } from '../../testing/cutting-proxy.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { testToken } from '../../testing/servers/test-server.ts';

/** Serves a remote agent of A2A as an agent of our own, and returns a client for it. */
async function serveProxy(options: Parameters<typeof a2a>[0]) {
  const log = memoryLog();
  const agent = createAgent({ provider: a2a(options), log, retry: { baseDelayMs: 0 } });
  const server = createServer({
    ...{ tokens: 'none', log, limits: { closeTimeoutMs: 200 } },
    agents: [{ type: 'loop', name: 'helper', agent }],
  });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const client = await a2aClient(url);
  const say = async (text: string, contextId = 'talk') =>
    transcriptOf(await client.sendMessage(sent(text, { contextId })));
  /** The parts of the assistant on our log, as short texts. */
  const parts = async (): Promise<readonly string[]> => {
    const [{ session } = expect.fail()] = await log.list();
    const { items } = await snapshot(log, sessionId(session));
    return toArray(items).flatMap((item) =>
      item.kind !== 'assistant'
        ? []
        : item.parts.flatMap(({ part }) => {
            if (part?.kind === 'custom' && part.name === 'a2a_task') return [];
            return part === undefined
              ? []
              : `${part.kind}: ${JSON.stringify('text' in part ? part.text : part)}`;
          }),
    );
  };
  return { url, log, client, say, parts };
}

async function answer(turn: RemoteTurn): Promise<void> {
  turn.status('SUBMITTED');
  turn.status('WORKING', 'Let me think.', { metadata: { kind: 'reasoning' } });
  turn.write('a', 'You said ');
  turn.write('a', `${turn.text}.`, true, true);
  turn.status('COMPLETED');
}

test.each([
  { binding: 'JSONRPC' },
  { binding: 'HTTP+JSON' },
  { binding: 'JSONRPC', streaming: false },
  { binding: 'HTTP+JSON', streaming: false },
] as const)('24.5: a remote agent of A2A answers in our log with %j', async (options) => {
  const contexts: string[] = [];
  const { url } = await serveRemoteA2a(async (turn) => {
    contexts.push(turn.contextId);
    await answer(turn);
  }, options);
  const { say, parts } = await serveProxy({ url });
  expect((await say('Hi')).texts).toEqual(['You said Hi.']);
  expect(await parts()).toEqual(['reasoning: "Let me think."', 'text: "You said Hi."']);
  expect((await say('More')).texts).toEqual(['You said More.']);
  // The context of the remote agent continues, because the log has its id.
  expect([contexts.length, new Set(contexts).size]).toEqual([2, 1]);
});

test('24.5: a question of a remote agent ends the answer, and the next message answers it', async () => {
  const { url } = await serveRemoteA2a(async (turn) => {
    if (turn.earlier === 0) {
      turn.status('SUBMITTED');
      turn.write('a', 'I start. ', false, true);
      turn.status('INPUT_REQUIRED', 'Which town?');
      return;
    }
    // The task contains what the session already has.
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'I start. ' }] }];
    turn.publish({ task: { status: { state: 'TASK_STATE_WORKING' }, artifacts } });
    turn.write('b', `Sunny in ${turn.text}.`, false, true);
    turn.status('COMPLETED');
  });
  const { say, parts } = await serveProxy({ url });
  expect((await say('Weather?')).texts).toEqual(['I start. ', 'Which town?']);
  expect((await say('Bath')).texts).toEqual(['Sunny in Bath.']);
  expect(await parts()).toEqual([
    ...['text: "I start. "', 'text: "Which town?"', 'text: "Sunny in Bath."'],
  ]);
});

test('24.5: a message, files and data of a remote agent are on our log', async () => {
  const { url } = await serveRemoteA2a(async (turn) => {
    if (turn.text === 'Hi') {
      const parts = [{ text: 'Hello.' }];
      turn.publish({ message: { messageId: 'm', role: 'ROLE_AGENT', parts } });
      return;
    }
    turn.status('SUBMITTED');
    const parts = [
      { raw: 'cG5n', mediaType: 'image/png' },
      { url: 'https://files.example/a.pdf', mediaType: 'application/pdf', filename: 'a.pdf' },
      { data: { sun: true } },
    ];
    turn.publish({ artifactUpdate: { artifact: { artifactId: 'f', parts }, lastChunk: true } });
    turn.status('COMPLETED', 'Done.');
  });
  const { say, parts } = await serveProxy({ url });
  expect((await say('Hi')).texts).toEqual(['Hello.']);
  await say('Files');
  expect(await parts()).toEqual([
    'text: "Hello."',
    expect.stringMatching(/^media.*image\/png/),
    expect.stringMatching(/^file.*a\.pdf/),
    expect.stringMatching(/^structured.*"sun":true/),
    'text: "Done."',
  ]);
});

test('24.5: a stop cancels the task of the remote agent', async () => {
  const started = Promise.withResolvers<RemoteTurn>();
  const { url } = await serveRemoteA2a(async (turn) => {
    turn.status('SUBMITTED');
    turn.write('a', 'One two three');
    started.resolve(turn);
    await turn.cancelled();
  });
  const { client } = await serveProxy({ url });
  const live = new A2aTranscript();
  const events = client.sendMessageStream(sent('Count'))[Symbol.asyncIterator]();
  while (live.texts.length === 0) live.add((await events.next()).value ?? expect.fail());
  const turn = await started.promise;
  const stopped = await client.cancelTask({ tenant: '', id: live.id, metadata: undefined });
  expect(transcriptOf(stopped).state).toBe('TASK_STATE_CANCELED');
  await expect.poll(() => turn.isCancelled()).toBe(true);
  await events.return?.(undefined);
});

test('24.5: a failed remote task is a failed run with its reason, and is not repeated', async () => {
  let count = 0;
  const { url } = await serveRemoteA2a(async (turn) => {
    count++;
    turn.status('SUBMITTED');
    turn.write('a', 'Half of ');
    turn.status('FAILED', 'The disk is full');
  });
  const { client, say } = await serveProxy({ url });
  const { state, id } = await say('Go');
  expect([state, count]).toEqual(['TASK_STATE_FAILED', 1]);
  const { status } = await client.getTask({ tenant: '', id });
  expect(JSON.stringify(status)).toContain('The disk is full');
});

test('24.5: an agent at another origin than its card does not get the headers', async () => {
  const other = await serveRemoteA2a(answer);
  const { url } = await serveRemoteA2a(answer, { origin: other.url });
  const { client, say } = await serveProxy({ url, headers: { authorization: 'Bearer secret' } });
  const { state, id } = await say('Hi');
  expect(state).toBe('TASK_STATE_FAILED');
  const { status } = await client.getTask({ tenant: '', id });
  expect(JSON.stringify(status)).toContain('another origin');
});

const cuts = [700, 1200, 1500, 1800, 2100, 2400];

test('24.5: connections to the remote agent can be cut, and our log has the same text', async () => {
  const token = testToken('operator');
  const words = 'One two three four five six seven eight nine ten eleven twelve.';
  const remote = await serveOpenAi(
    cuts.map(() => words),
    { server: { tokens: [token] } },
  );
  const proxy = await CuttingProxy.before(Number(new URL(remote.url).port));
  onTestFinished(() => proxy.close());
  const headers = { authorization: `Bearer ${token}`, connection: 'close' };
  const through = `http://127.0.0.1:${proxy.port}/agents/name/helper/a2a`;
  const { say } = await serveProxy({ url: through, headers });
  for (const cut of cuts) {
    proxy.cutNext(cut);
    const { state, texts } = await say('Count', `cut at ${cut}`);
    expect([cut, state, texts]).toEqual([cut, 'TASK_STATE_COMPLETED', [words]]);
  }
  expect(proxy.passed.length).toBeGreaterThan(cuts.length + 3);
});
