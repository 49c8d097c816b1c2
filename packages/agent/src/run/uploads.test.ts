import { itemId, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { createUploads, openaiResponses, systemClock } from '@millrace/providers';
import { afterEach, expect, test } from 'vitest';
import { FileServer } from '../../../providers/src/testing/files/file-server.ts';
import { createAgent } from '../create-agent.ts';

let server: FileServer | undefined;

afterEach(async () => {
  await server?.stop();
});

test('sessions share one file, the log keeps the content, and the last session deletes the file', async () => {
  server = await FileServer.start(() => systemClock.now());
  const uploads = createUploads({ minBytes: 4 });
  const provider = openaiResponses({
    model: 'gpt-5.1',
    preset: 'openai',
    apiKey: 'key-of-test',
    baseUrl: `${server.url}/v1`,
    uploads,
  });
  const log = memoryLog();
  const agent = createAgent({ provider, log });
  const { hash, length } = await log.blobs.put(new TextEncoder().encode('report'));
  const source = { type: 'blob', hash, length } as const;
  const report = { kind: 'file', name: 'a.pdf', mimeType: 'application/pdf', source } as const;
  const sessions = [sessionId('first'), sessionId('second')];
  for (const session of sessions) {
    await agent.run({ id: itemId(session), kind: 'user', parts: [report] }, { session }).result;
    await agent.run('And then?', { session }).result;
  }
  const [id = ''] = server.files.keys();
  expect(server.stored).toEqual(['report']);
  expect(server.requests).toHaveLength(4);
  for (const body of server.requests) expect(JSON.stringify(body)).toContain(id);
  for (const session of sessions) {
    const { records } = await log.read(session);
    expect(JSON.stringify(records)).toContain(hash);
    expect(JSON.stringify(records)).not.toContain(id);
  }
  await uploads.release(sessions[0] ?? '');
  expect(server.alive()).toHaveLength(1);
  await uploads.release(sessions[1] ?? '');
  expect(server.alive()).toEqual([]);
});
