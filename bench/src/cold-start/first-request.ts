import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { itemId } from '@millrace/core';
import { estimateTokens } from '@millrace/providers';
import { requestPrograms } from './program.ts';
import { makeHome } from './start.ts';

const timeoutMs = 60_000;

/**
 * Prints the size of the first request of each program with nothing configured but a model: the
 * instructions, the tools and a message of one word. All programs send it to the same server.
 */
export async function compareFirstRequests(folder: string): Promise<void> {
  console.log('\nFirst request with nothing configured, for the message "Hi"');
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    request.setEncoding('utf8');
    let body = '';
    for await (const piece of request) body += piece;
    if (body !== '') bodies.push(body);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(request.url?.includes('chat/completions') ? chatAnswer : geminiAnswer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    for (const [index, program] of requestPrograms(`http://127.0.0.1:${port}`).entries()) {
      const home = makeHome(join(folder, `request-${index}`), program);
      bodies.length = 0;
      await run(program.argv, home, program.env ?? {}, () => bodies.length > 0);
      // The largest request has the tools. Some programs send a small one before it.
      const [body = ''] = bodies.toSorted((a, b) => b.length - a.length);
      const bytes = Buffer.byteLength(body).toLocaleString('en').padStart(8);
      const tokens = tokensOf(body).toLocaleString('en').padStart(7);
      console.log(`${program.name.padEnd(32)} ${bytes} bytes ${tokens} tokens, estimated`);
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function tokensOf(text: string): number {
  return estimateTokens({
    items: [{ id: itemId('body'), kind: 'user', parts: [{ kind: 'text', text }] }],
  });
}

/** Runs a program until it ends. A program that hangs after its request is killed. */
async function run(
  argv: readonly string[],
  home: string,
  env: Readonly<Record<string, string>>,
  hasAsked: () => boolean,
): Promise<void> {
  const own = { HOME: home, PATH: process.env['PATH'], SHELL: '/bin/sh', NO_COLOR: '1' };
  const child = spawn(process.execPath, [...argv], {
    ...{ cwd: join(home, 'work'), env: { ...own, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  await once(child, 'close');
  clearTimeout(timer);
  if (!hasAsked())
    throw new Error(`${argv.join(' ')} sent no request. Its output: ${output.slice(-500)}`);
}

const lineOf = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

const chatAnswer =
  lineOf({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello.' } }] }) +
  lineOf({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage }) +
  'data: [DONE]\n\n';

const geminiAnswer = lineOf({
  candidates: [
    { content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP', index: 0 },
  ],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
});
