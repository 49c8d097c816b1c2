import { connect } from 'node:net';
import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { serveOpenAi } from '../testing/openai-client.ts';
import { testToken } from '../testing/servers/test-server.ts';

// A client sends a request and never reads the answer, so that the server keeps the answer in memory.

const doors = {
  '/v1/responses': { model: 'helper', input: 'Hi', stream: true },
  '/agents/name/helper/rpc': {
    method: 'message/send',
    params: { stream: true, content: { type: 'text', author: 'user', content: 'Hi' } },
  },
};

test.each(Object.entries(doors))(
  'attack 18.326: a client that reads nothing keeps its stream of %s open',
  async (path, message) => {
    const lines: string[] = [];
    // The answer is larger than the buffers of the operating system for a connection.
    const answer = Array.from({ length: 16 }, () => 'x'.repeat(2 ** 19));
    const { url } = await serveOpenAi([answer], {
      pieces: 'whole',
      server: {
        streamLimits: { stallTimeoutMs: 200 },
        requestLog: { format: 'text', write: (line) => lines.push(line) },
      },
    });
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    const body = JSON.stringify(message);
    socket.pause();
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await expect.poll(() => lines.join('\n')).toContain(`POST ${path}`);
    expect(lines.join('\n')).not.toContain('run_failed');
  },
);

/** Serves a session with a record of 8 MB to the owner of a share link who never reads. */
async function serveLongSession() {
  const [log, clock] = [memoryLog(), new TestClock()];
  const provider = scriptedProvider(['Hello.', 'Fine.']);
  const agent = createAgent({ log, name: 'helper', provider });
  const lines: string[] = [];
  const server = createServer({
    ...{ log, clock, tokens: [testToken('operator')] },
    agents: [{ type: 'loop', name: 'helper', agent }],
    requestLog: { format: 'text', write: (line) => lines.push(line) },
  });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const { port } = new URL(url);
  const ask = async (path: string, body: object) => {
    const authorization = `Bearer ${testToken('operator')}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const reply = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return JSON.parse(await reply.text());
  };
  const content = { type: 'text', author: 'user', content: 'Hi' };
  const sent = await ask('/agents/name/helper/rpc', {
    method: 'message/send',
    params: { content },
  });
  const id: string = sent.result[0].task_id;
  const { token } = await ask('/tokens', { task_id: id, read_only: true, expires_in: 86_400 });
  const { through } = (await log.info(id)) ?? { through: 0 };
  await agent.run('x'.repeat(2 ** 23), { session: id }).result;
  const { records } = await log.read(id, { from: through });
  const long = records.find(({ delta }) => delta?.type === 'commit_part');
  const path = `/tasks/${id}/records?from=${(long?.offset ?? 0) - 1}`;
  const head = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  return {
    /** Sends the request some times on one connection. */
    neverRead(times: number): void {
      const socket = connect({ host: '127.0.0.1', port: Number(port) });
      onTestFinished(() => void socket.destroy());
      socket.pause();
      socket.on('error', () => {});
      socket.write(head.repeat(times));
    },
    async read(): Promise<number> {
      const reply = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
      await reply.arrayBuffer();
      return reply.status;
    },
    /** Returns the lines of the log about answered requests for the records. */
    answered: () => lines.filter((line) => line.includes(`/tasks/${id}/records`)),
    /** Lets the time pass after which the server disconnects a client that reads nothing. */
    waitForStall: () => clock.advance(60_000),
  };
}

test('attack 18.417: a client sends many requests on a connection and never reads', async () => {
  const { neverRead, read, answered, waitForStall } = await serveLongSession();
  neverRead(50);
  await expect
    .poll(async () => {
      await waitForStall();
      return answered();
    })
    .toHaveLength(1);
  // The server has worked only for the first request, and has forgotten the others with the connection.
  expect(await read()).toBe(200);
});

test('attack 18.417: the owner of a share link opens many connections and never reads', async () => {
  const { neverRead, read, answered, waitForStall } = await serveLongSession();
  for (let connections = 0; connections < 30; connections++) neverRead(1);
  // The first replies wait for their readers. Further requests are refused.
  await expect.poll(() => answered().join('\n')).toContain(' 429 ');
  await waitForStall();
  await expect.poll(read).toBe(200);
});
