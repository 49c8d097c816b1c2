import { join } from 'node:path';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { freePort } from '../../../../packages/log/src/testing/external-programs.ts';
import { serveProcess } from '../testing/serve-process.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

// Kills the real command in the middle of a response. OpenAI's client continues with `starting_after`.

const folder = temporaryFolder('openai-killed');

test('24.3: after kill -9, a response continues with starting_after, with nothing lost or doubled', async () => {
  const flags = ['--port', String(await freePort()), '--data', join(folder(), 'data')];
  let server = await serveProcess(flags, folder());
  const baseURL = `${server.url}/v1`;
  const client = new OpenAI({ apiKey: server.token, baseURL, maxRetries: 0 });
  const stream = await client.responses.create({
    ...{ model: 'demo', input: 'story', stream: true, background: true },
  });
  let [id, text, last] = ['', '', -1];
  for await (const event of stream) {
    last = event.sequence_number;
    if (event.type === 'response.created') id = event.response.id;
    if (event.type === 'response.output_text.delta') text += event.delta;
    if (text.length > 60) break;
  }
  await server.end('SIGKILL');
  server = await serveProcess(flags, folder());
  const events: OpenAI.Responses.ResponseStreamEvent[] = [];
  const rest = await client.responses.retrieve(id, { stream: true, starting_after: last });
  for await (const event of rest) {
    events.push(event);
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  expect(events.every(({ sequence_number }) => sequence_number > last)).toBe(true);
  expect(events.at(-1)?.type).toBe('response.failed');
  const stored = await client.responses.retrieve(id);
  expect([stored.status, stored.output_text]).toEqual(['failed', text]);
  const next = await client.responses.create({
    ...{ model: 'demo', input: 'what are you?', previous_response_id: id },
  });
  expect(next.output_text).toContain('I am the demo model');
  expect((await server.end('SIGTERM')).code).toBe(0);
});
