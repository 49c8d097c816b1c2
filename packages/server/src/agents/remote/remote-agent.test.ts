import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { sessionId, spanIdOf } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../../providers/src/testing/virtual-clock.ts';
import type { RegisterAgent } from '../../contract/request-bodies.ts';
import {
  acknowledge,
  type RemoteCall,
  resultLine,
  startRemoteAgent,
} from '../../testing/servers/remote-agent.ts';
import {
  agentText,
  createTaskHarness,
  eventually,
  type TaskHarness,
  type TaskHarnessOptions,
  textDelta,
  textsOf,
  userText,
} from '../../testing/servers/task-harness.ts';

const described = { name: 'far', description: 'Far away' };

function register(
  harness: TaskHarness,
  acp_url: string,
  acp_type: RegisterAgent['acp_type'] = 'sync',
) {
  return harness.service.agents.register({ ...described, acp_url, acp_type });
}

/** Creates a server with a remote agent that responds in this way, and a task of this agent. */
async function remoteHarness(
  answer: (call: RemoteCall, response: ServerResponse) => void | Promise<void>,
  acp_type: RegisterAgent['acp_type'] = 'sync',
  options: TaskHarnessOptions = {},
) {
  const remote = await startRemoteAgent(answer);
  const harness = await createTaskHarness([], options);
  const agent = await register(harness, remote.url, acp_type);
  const task = await harness.newTask('far');
  return { ...harness, harness, remote, agent, id: task.id };
}

describe('a remote sync agent', () => {
  test('is called in the wire format, and its lines are the answer', async () => {
    const { send, remote, agent, id, messages } = await remoteHarness((_call, response) => {
      response.setHeader('content-type', 'application/x-ndjson');
      response.write(resultLine(textDelta(0, 'Hel')));
      response.end(resultLine(textDelta(0, 'lö')));
    });
    const answer = await send('far', id, 'Hi');
    expect(textsOf(await answer.messages())).toEqual(['Hellö']);
    expect(textsOf(await messages(id))).toEqual(['Hi', 'Hellö']);
    const [call] = remote.calls;
    expect(call).toMatchObject({
      method: 'message/send',
      params: {
        ...{ stream: true, content: userText('Hi'), task: { id } },
        agent: { id: agent.id, name: 'far', acp_url: remote.url },
      },
    });
    expect(call?.headers['x-agent-api-key']).toBe(agent.agent_api_key);
    expect(call?.headers['x-request-id']).toBe(call?.id);
  });

  test('receives the trace of its answer, with the run as parent', async () => {
    const { harness, remote, id, log } = await remoteHarness((_call, response) => {
      response.end(resultLine(textDelta(0, 'Hello')));
    });
    const received = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
    const trace = { traceparent: received, tracestate: 'a=1' };
    const body = { task_id: id, content: userText('Hi') };
    const agentId = await harness.idOf('far');
    await (await harness.service.tasks.sendMessage(agentId, body, { trace })).messages();
    await (await harness.service.tasks.sendMessage(agentId, body)).messages();
    const { records } = await log.read(sessionId(id));
    const runs = records.flatMap(({ fact }) => (fact?.type === 'run_started' ? [fact] : []));
    expect(runs.map((run) => run.trace)).toEqual([trace, undefined]);
    const own = spanIdOf.run(runs[0]?.runId ?? expect.fail());
    expect(remote.calls.map(({ headers }) => headers['traceparent'])).toEqual([
      `00-${'ab'.repeat(16)}-${own}-01`,
      undefined,
    ]);
    expect(remote.calls[0]?.headers['tracestate']).toBe('a=1');
  });

  test('that crashes during the answer leaves the partial answer, and the task fails as interrupted', async () => {
    const harness = await remoteHarness(async (_call, response) => {
      response.write(resultLine(textDelta(0, 'I was about to ')));
    });
    const { send, remote, id, messages, task } = harness;
    const answer = await send('far', id, 'Hi');
    await eventually(async () => (await messages(id)).length === 2);
    await remote.stop();
    await expect(answer.messages()).rejects.toMatchObject({
      ...{ code: 'agent_failed', details: { reason: 'interrupted' } },
    });
    expect(await task(id)).toMatchObject({ status: 'FAILED' });
    expect((await task(id)).status_reason).toMatch(/^interrupted/);
    expect(textsOf(await messages(id))).toEqual(['Hi', 'I was about to ']);
  });

  test('that cannot be reached fails the task with the reason', async () => {
    const { send, remote, id } = await remoteHarness((_call, response) => void response.end());
    await remote.stop();
    await expect((await send('far', id, 'Hi')).messages()).rejects.toThrow('interrupted');
  });

  test('may send invalid lines: they are skipped and counted', async () => {
    const { send, id, harness } = await remoteHarness((_call, response) => {
      response.write('not json\n\n');
      response.write(resultLine({ type: 'nonsense' }));
      response.end(resultLine(textDelta(0, 'Still here')));
    });
    expect(textsOf(await (await send('far', id, 'Hi')).messages())).toEqual(['Still here']);
    await eventually(async () => harness.diagnostics.length > 0);
    expect(harness.diagnostics[0]).toContain('2 lines that are not updates');
  });

  test('that numbers its lines may repeat one, but must not omit one', async () => {
    const lines = (...numbers: readonly number[]) =>
      numbers.map((seq) => resultLine(textDelta(0, `${seq} `), { seq })).join('');
    const answers = [lines(1, 2, 2, 1, 3), lines(1, 2, 4)];
    const { send, id, messages } = await remoteHarness(
      (_call, response) => void response.end(answers.shift()),
    );
    expect(textsOf(await (await send('far', id, 'Hi')).messages())).toEqual(['1 2 3 ']);
    await expect((await send('far', id, 'Hi')).messages()).rejects.toThrow(
      'line 4 followed line 2',
    );
    expect(textsOf(await messages(id)).at(-1)).toBe('1 2 ');
  });

  test('fails with the error of its last line', async () => {
    const { send, id, task } = await remoteHarness((_call, response) => {
      response.write(resultLine(textDelta(0, 'Hm')));
      response.end(resultLine(null, { error: { code: -32603, message: 'Out of ink' } }));
    });
    await expect((await send('far', id, 'Hi')).messages()).rejects.toThrow('Out of ink');
    expect((await task(id)).status_reason).toContain('Out of ink');
  });

  test.each([301, 307, 404, 500])(
    'that responds with %i is refused, and no other host is called',
    async (status) => {
      const elsewhere = await startRemoteAgent((_call, response) => void response.end());
      const { send, id } = await remoteHarness((_call, response) => {
        response.writeHead(status, { location: `${elsewhere.url}/api` });
        response.end();
      });
      await expect((await send('far', id, 'Hi')).messages()).rejects.toThrow(
        `HTTP status ${status}`,
      );
      expect(elsewhere.calls).toEqual([]);
    },
  );

  test('that sends an endless line is cut off', async () => {
    const { send, id } = await remoteHarness(async (_call, response) => {
      const piece = Buffer.alloc(2 ** 20, 'x');
      for (let sent = 0; sent < 12 && !response.destroyed; sent++) {
        const isFull = !response.write(piece);
        if (isFull) await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    await expect((await send('far', id, 'Hi')).messages()).rejects.toThrow('a line of over');
  });

  test('that sends nothing times out', async () => {
    const clock = new VirtualClock();
    const limits = { answerTimeoutMs: 1000, idleTimeoutMs: 1000, maxBytes: 1000 };
    const { send, id, remote } = await remoteHarness(() => {}, 'sync', {
      ...{ clock, log: memoryLog(), remote: limits },
    });
    const answer = await send('far', id, 'Hi');
    await eventually(async () => remote.calls.length === 1);
    clock.advance(1001);
    await expect(answer.messages()).rejects.toThrow('sent nothing for 1000 ms');
  });

  test('that does not respond to an interrupt does not block the request', async () => {
    const remote = await startRemoteAgent(() => {});
    const harness = await createTaskHarness([]);
    await register(harness, remote.url);
    const { id } = await harness.newTask('far');
    // The interrupt must return immediately. Otherwise the request would wait until the call times out.
    expect((await harness.service.tasks.change(id, 'interrupt')).status).toBe('INTERRUPTED');
    await eventually(async () => remote.calls.at(-1)?.method === 'task/interrupt');
  });

  test('receives an interrupt, and its connection is closed', async () => {
    let isClosed = false;
    const { send, service, id, remote, messages } = await remoteHarness((call, response) => {
      if (call.method === 'task/interrupt') return acknowledge(response, call);
      response.on('close', () => {
        isClosed = true;
      });
      response.write(resultLine(textDelta(0, 'On and on')));
    });
    await send('far', id, 'Hi');
    await eventually(async () => (await messages(id)).length === 2);
    await service.tasks.change(id, 'interrupt');
    await eventually(async () => remote.calls.at(-1)?.method === 'task/interrupt');
    await eventually(async () => isClosed);
  });
});

describe('a remote async agent', () => {
  test('receives its tasks, events and cancels, each with whole objects', async () => {
    const { service, agent, id, remote } = await remoteHarness(
      (call, response) => acknowledge(response, call),
      'async',
    );
    const event = await service.tasks.sendEvent(agent.id, { task_id: id, content: userText('Hi') });
    await eventually(async () => remote.calls.length === 2);
    await service.tasks.change(id, 'cancel');
    await eventually(async () => remote.calls.length === 3);
    const [created, sent, cancelled] = remote.calls;
    expect(created).toMatchObject({ method: 'task/create', params: { task: { id } } });
    expect(sent).toMatchObject({ method: 'event/send', params: { event, request: null } });
    expect(cancelled).toMatchObject({ method: 'task/cancel', params: { agent: { id: agent.id } } });
  });

  test('writes messages back: open first, complete at the end', async () => {
    const { service, id, messages } = await remoteHarness(
      (call, response) => acknowledge(response, call),
      'async',
    );
    const open = await service.messages.create({
      ...{ task_id: id, content: agentText(''), streaming_status: 'IN_PROGRESS' },
    });
    expect((await messages(id))[0]?.streaming_status).toBe('IN_PROGRESS');
    const done = await service.messages.update(open.id ?? '', {
      ...{ task_id: id, content: agentText('All of it'), streaming_status: 'DONE' },
    });
    expect([done.id, done.streaming_status]).toEqual([open.id, 'DONE']);
    expect(textsOf(await messages(id))).toEqual(['All of it']);
  });
});

describe('registering', () => {
  test('again returns the same agent and the same key, which is not stored', async () => {
    const harness = await createTaskHarness([]);
    const first = await register(harness, 'http://127.0.0.1:1/');
    const again = await register(harness, 'http://127.0.0.1:2/');
    expect([again.id, again.agent_api_key]).toEqual([first.id, first.agent_api_key]);
    const tokens = await harness.rows.list('tokens');
    expect(JSON.stringify(tokens)).not.toContain(first.agent_api_key);
    const hash = createHash('sha256').update(first.agent_api_key).digest('hex');
    expect(tokens).toMatchObject([{ id: hash, keys: { agent_id: first.id } }]);
  });

  test.each([
    ...['ftp://127.0.0.1/', 'file:///etc/passwd', 'http://a:b@127.0.0.1/', 'nowhere'],
    // With these URLs, the path of a call would become part of the query.
    ...['http://127.0.0.1/?a=', 'http://127.0.0.1/#', 'http://127.0.0.1/a?'],
    // Addresses at which clouds serve credentials, in several spellings.
    ...['http://169.254.169.254/', 'http://2852039166/', 'http://0xa9.0xfe.0xa9.0xfe/'],
    ...['http://[::ffff:169.254.169.254]/', 'http://[fe80::1]/', 'http://[fd00:ec2::254]/'],
    ...[
      'http://metadata.google.internal/',
      'http://METADATA.google.internal./',
      'http://224.0.0.1/',
    ],
  ])('at %s is refused', async (url) => {
    const harness = await createTaskHarness([]);
    await expect(register(harness, url)).rejects.toMatchObject({ code: 'invalid' });
  });

  test('under the name of an agent of the server is refused', async () => {
    const harness = await createTaskHarness([
      { type: 'sync', name: 'far', onMessage: async () => agentText('Near') },
    ]);
    await expect(register(harness, 'http://127.0.0.1:1/')).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  test('after it was deleted works again', async () => {
    const harness = await createTaskHarness([]);
    const { id } = await register(harness, 'http://127.0.0.1:1/');
    await harness.service.agents.delete(id);
    await expect(harness.service.agents.get({ id })).rejects.toMatchObject({ code: 'not_found' });
    expect((await register(harness, 'http://127.0.0.1:1/')).status).toBe('Ready');
  });
});

test('checks health periodically: an agent that does not respond is unhealthy until it does', async () => {
  const clock = new VirtualClock();
  let isWell = false;
  const remote = await startRemoteAgent(
    () => {},
    (response) => {
      response.statusCode = isWell ? 200 : 503;
      response.end('{"status":"healthy"}');
    },
  );
  const health = { everyMs: 1000, timeoutMs: 500 };
  const harness = await createTaskHarness([], { clock, log: memoryLog(), health, watchMs: 1e9 });
  const { id } = await register(harness, remote.url);
  const agent = () => harness.service.agents.get({ id });
  expect((await agent()).status).toBe('Ready');
  const becomes = async (status: string) => {
    // The three timers are the next health check, the task scanner and the row poller.
    await eventually(async () => clock.pending === 3);
    clock.advance(1000);
    await eventually(async () => (await agent()).status === status);
    return (await agent()).status_reason;
  };
  expect(await becomes('Unhealthy')).toContain('503');
  isWell = true;
  expect(await becomes('Ready')).toBeNull();
  await remote.stop();
  expect(await becomes('Unhealthy')).toContain('cannot be reached');
});
