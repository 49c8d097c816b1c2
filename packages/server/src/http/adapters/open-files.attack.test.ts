import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { childEnv } from '../../../../core/src/testing/runs.ts';

// Idle connections without a token use up the files that the process can open. The system then refuses new
// connections before the server can replace an old one.

const serve = `
import { createServer } from '@millrace/server';
const agent = { type: 'sync', name: 'a', onMessage: async () => ({ type: 'text', author: 'agent', content: 'Hi' }) };
const server = createServer({ tokens: ['mr_0123456789abcdefghijklmnopqrstuvwxyz'], agents: [agent] });
console.log(new URL((await server.listen({ port: 0 })).url).port);
`;

test.skipIf(process.platform !== 'linux')(
  '18.973: attack: idle connections use up the files that the process can open',
  async () => {
    const run = [process.execPath, '--conditions=@millrace/source', '--input-type=module', '-e'];
    const args = ['-c', 'ulimit -n 700; exec "$@"', 'sh', ...run, serve];
    const child = spawn('sh', args, { env: childEnv(), stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [port] = await once(child.stdout, 'data');
    for (let count = 0; count < 800; count++) {
      const client = connect(Number(port), '127.0.0.1');
      client.on('error', () => {});
      onTestFinished(() => void client.destroy());
      await once(client, 'connect');
    }
    const response = await fetch(`http://127.0.0.1:${Number(port)}/healthz`);
    expect(response.status).toBe(200);
  },
);
