import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { serveOpenAi } from '../testing/openai-client.ts';

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
