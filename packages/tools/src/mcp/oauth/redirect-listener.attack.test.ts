import { execFile } from 'node:child_process';
import { get } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isFromOtherUser } from './connection-owner.ts';
import { listenForRedirect, type RedirectListenerOptions } from './redirect-listener.ts';

async function start(options: RedirectListenerOptions) {
  const listener = await listenForRedirect(options);
  onTestFinished(() => listener.close());
  const request = async (url: string | URL, init?: RequestInit) => {
    const response = await fetch(url, init);
    return { status: response.status, text: await response.text() };
  };
  return { listener, request };
}

test.for(['query', 'path'] as const)(
  '18.692: attack: a second return does not replace the first one (%s)',
  async (stateIn) => {
    const { listener, request } = await start({ stateIn });
    const { redirectUri, state } = listener;
    const url = (code: string) =>
      `${redirectUri}?code=${code}${stateIn === 'query' ? `&state=${state}` : ''}`;
    expect(await request(url('first'))).toMatchObject({ status: 200 });
    expect(await request(url('second'))).toMatchObject({ status: 400 });
    const returned = await listener.returned(new AbortController().signal);
    expect(returned.get('code')).toBe('first');
  },
);

test('18.693: attack: a state in the wrong place, a longer path and a part of the state do not count', async () => {
  const { listener, request } = await start({ host: 'localhost', stateIn: 'path' });
  const { redirectUri, state } = listener;
  const base = redirectUri.slice(0, -state.length);
  expect(new URL(redirectUri).hostname).toBe('localhost');
  for (const end of [`?state=${state}`, '', `${state}/`, `x/${state}`, state.slice(1), `${state}x`])
    expect(await request(`${base}${end}`)).toMatchObject({ status: 400 });
  const otherName = redirectUri.replace('localhost', '127.0.0.1');
  expect(await request(otherName)).toMatchObject({ status: 400 });
  expect(await request(redirectUri, { method: 'POST' })).toMatchObject({ status: 400 });
  const { text } = await request(`${redirectUri}?code=%3Cscript%3E`);
  expect(text).not.toContain('<script>');
  const returned = await listener.returned(new AbortController().signal);
  expect(returned.get('code')).toBe('<script>');
});

/** Sends a request with any header fields, as a browser does. */
function statusOf(url: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  get(url, { headers, agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  }).on('error', reject);
  return promise;
}

test('18.896: attack: a page of another site returns a code, or opens the login page', async () => {
  const { listener } = await start({ host: 'localhost', stateIn: 'path' });
  const login = 'https://login.example/auth?state=secret';
  const first = listener.startUri(login);
  const code = `${listener.redirectUri}?code=own`;
  for (const dest of ['image', 'iframe', 'script', 'empty', 'style', 'object'])
    expect(await statusOf(code, { 'sec-fetch-dest': dest }), dest).toBe(400);
  for (const site of ['cross-site', 'same-site', 'same-origin'])
    expect(await statusOf(first, { 'sec-fetch-site': site }), site).toBe(400);
  for (const wrong of [`${first}x`, first.slice(0, -1), `${first}?a=b`])
    expect(await statusOf(wrong), wrong).toBe(400);
  expect(await statusOf(first, { host: 'evil.example' })).toBe(400);
  expect(await statusOf(code, { 'sec-fetch-dest': 'document' })).toBe(200);
});

test('the start address leads to the login page, without the place from which it comes', async () => {
  const { listener } = await start({});
  const unknown = await fetch(`${new URL(listener.redirectUri).origin}/start/`);
  expect(unknown.status).toBe(400);
  const login = 'https://login.example/auth?state=secret';
  const first = listener.startUri(login);
  expect(first).not.toContain(listener.state);
  const { status, headers } = await fetch(first, { redirect: 'manual' });
  expect(status).toBe(302);
  expect(headers.get('location')).toBe(login);
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(await statusOf(first, { 'sec-fetch-site': 'none' })).toBe(302);
});

test.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0)(
  '18.712: attack: another user of the machine knows the state and returns a code of their own account',
  async () => {
    const { listener, request } = await start({ host: 'localhost', stateIn: 'path' });
    const nobody = 65_534;
    const first = listener.startUri('https://login.example/auth?state=secret');
    const program = `fetch(process.argv[1], { redirect: 'manual' }).then(({ status }) => console.log(status))`;
    const statusAs = (uid: number, url = `${listener.redirectUri}?code=${uid}`) =>
      new Promise<string>((resolve, reject) => {
        const args = ['-e', program, url];
        execFile(process.execPath, args, { uid, gid: uid, cwd: '/', env: {} }, (error, stdout) =>
          error === null ? resolve(stdout.trim()) : reject(error),
        );
      });
    expect(await statusAs(nobody, first)).toBe('400');
    expect(await statusOf(first)).toBe(302);
    expect(await statusAs(nobody)).toBe('400');
    expect(await request(`${listener.redirectUri}?code=own`)).toMatchObject({ status: 200 });
    const returned = await listener.returned(new AbortController().signal);
    expect(returned.get('code')).toBe('own');
  },
);

describe.skipIf(process.platform !== 'linux')(
  '18.764: attack: another user closes the socket of a return, so that the kernel forgets its owner',
  () => {
    const connection = { remoteAddress: '127.0.0.1', remotePort: 0x1234, localPort: 0x5678 };
    const [client, server] = ['0100007F:1234', '0100007F:5678'];
    const row = (local: string, remote: string, state: string, uid: number) =>
      `  0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 1`;
    const [own = 0] = [process.getuid?.()];
    const listening = row(server, '00000000:0000', '0A', own);
    const isRefused = (...tables: readonly (readonly string[])[]) => {
      let at = 0;
      const read = () => (tables[at++] ?? tables.at(-1) ?? []).join('\n');
      return isFromOtherUser(connection, read);
    };
    const alive = row(server, client, '01', own);

    test.each(['04', '05', '06', '07'])('the state of its socket is %s', (state) => {
      const closed = row(client, server, state, 0);
      expect(isRefused([listening, closed, row(server, client, '08', own)])).toBe(true);
    });

    test('its socket is gone', () => {
      expect(isRefused([listening])).toBe(true);
      expect(isRefused([listening, row(server, client, '08', own)])).toBe(true);
    });

    test('it closes the socket while the table is read', () => {
      expect(isRefused([listening, alive], [listening])).toBe(true);
    });

    test('its socket is open', () => {
      expect(isRefused([alive, row(client, server, '01', own + 1)])).toBe(true);
    });

    test('but the own browser, a forwarded port and a browser in another namespace count', () => {
      expect(isRefused([alive, row(client, server, '01', own)])).toBe(false);
      expect(isRefused([alive, row(client, server, '01', 0)])).toBe(false);
      expect(isRefused([listening, alive])).toBe(false);
      expect(isRefused([''])).toBe(false);
    });
  },
);

test('unknown options are refused', async () => {
  await expect(listenForRedirect({ hosts: 'x' } as never)).rejects.toThrow('hosts');
});
