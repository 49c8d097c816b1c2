import { expect, test } from 'vitest';
import { startTestServer } from '../testing/servers/test-server.ts';

// In the attack, one request with hundreds of thousands of keys in a field that the log stores kept the server
// busy for 4 to 19 s, because every reader of the session walks over all keys.

/** Returns the JSON of an object with the given number of keys. */
const objectWith = (keys: number) =>
  `{${Array.from({ length: keys }, (_, index) => `"k${index}":1`).join(',')}}`;

test.for([
  ['/v1/responses', '{"model":"echo","input":"x","text":%}'],
  ['/v1/chat/completions', '{"model":"echo","messages":[],"response_format":%}'],
  ['/agents/name/echo/ag-ui', '{"threadId":"t","runId":"r","messages":[],"forwardedProps":%}'],
  ['/agents/name/echo/a2a', '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":%}'],
  ['/agents/name/echo/rpc', '{"jsonrpc":"2.0","id":1,"method":"message/send","params":%}'],
  ['/agents/name/echo/chat', '{"id":"c","messages":[{"id":"a","role":"user","metadata":%}]}'],
  ['/mcp', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%}'],
  ['/messages', '{"task_id":"t","content":{"type":"data","author":"user","data":%}}'],
  ['/streams/s', '%'],
] as const)(
  '18.675: attack: a body with very many small keys blocks the server: %s',
  async ([path, body]) => {
    await using server = await startTestServer();
    const headers = { 'content-type': 'application/json' };
    expect((await fetch(`${server.url}/streams/s`, { method: 'PUT', headers })).status).toBe(201);
    const send = (value: string) =>
      server.request(path, { method: 'POST', body: body.replace('%', value) });
    const tooMany = /more (?:keys than the limit of 65536|values than the limit of 262144)/;
    expect((await send(objectWith(65_537))).text).toMatch(tooMany);
    expect((await send(`[${'[],'.repeat(200_000)}1]`)).text).toMatch(tooMany);
    expect((await send(objectWith(60_000))).text).not.toMatch(tooMany);
  },
);

test('18.676: attack: the metadata of an OpenAI request has very many keys', async () => {
  await using server = await startTestServer();
  for (const metadata of [
    objectWith(17),
    JSON.stringify({ a: 'b'.repeat(513) }),
    JSON.stringify({ ['k'.repeat(65)]: 'b' }),
    '{"a":{"b":1}}',
  ])
    for (const path of ['/v1/responses', '/v1/chat/completions']) {
      const body = `{"model":"echo","metadata":${metadata}}`;
      const { status, text } = await server.request(path, { body });
      expect(status).toBe(400);
      expect(text).toContain('metadata');
    }
});
