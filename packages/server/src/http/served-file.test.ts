import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../create-server.ts';
import type { ServedFile } from './served-file.ts';

const files: readonly ServedFile[] = [
  { path: '/', type: 'text/html', body: '<p>Grüße</p>' },
  { path: '/a.png', type: 'image/png', body: new Uint8Array([1, 2, 3]) },
  { path: '/agents', type: 'text/html', body: 'not this' },
];

async function serve(): Promise<string> {
  const server = createServer({ files, tokens: ['a-token'] });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(() => server.close());
  return url;
}

test('files of a page are for everybody, as they are, and run nothing of elsewhere', async () => {
  const url = await serve();
  const page = await fetch(url);
  expect([page.status, await page.text()]).toEqual([200, '<p>Grüße</p>']);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('x-content-type-options')).toBe('nosniff');
  const policy = page.headers.get('content-security-policy');
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe');
  const picture = await fetch(`${url}/a.png`);
  expect(picture.headers.get('content-type')).toBe('image/png');
  expect(new Uint8Array(await picture.arrayBuffer())).toEqual(new Uint8Array([1, 2, 3]));
});

test('a file does not take the place of a route, nor opens what is not for everybody', async () => {
  const url = await serve();
  expect((await fetch(`${url}/agents`)).status).toBe(401);
  const headers = { authorization: 'Bearer a-token' };
  const agents = await fetch(`${url}/agents`, { headers });
  expect([agents.status, await agents.json()]).toEqual([200, []]);
  expect((await fetch(`${url}/b.png`, { headers })).status).toBe(404);
});
