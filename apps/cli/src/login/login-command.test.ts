import { existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../command/run-command.ts';
import type { LoginArgs } from '../contract/args.ts';
import { withStoredKeys } from '../models/key-store.ts';
import { browse, loginKey, pageIn, startOpenRouter } from '../testing/login/openrouter-server.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { loginCommand } from './login-command.ts';

const folder = temporaryFolder('login');
const args = { command: 'login', service: 'openrouter', color: true } as unknown as LoginArgs;

type Options = Parameters<typeof startOpenRouter>[0] & {
  readonly isTTY?: boolean;
  readonly timeoutMs?: number;
  /** Further variables of the environment. */
  readonly more?: Readonly<Record<string, string>>;
};

/** Starts `millrace login openrouter` and waits for its page. */
async function logIn({ isTTY = false, timeoutMs, more, ...options }: Options = {}) {
  const openRouter = await startOpenRouter(options);
  const cwd = mkdtempSync(join(folder(), 'home-'));
  const [stdout, stderr] = [new CapturedOutput({ isTTY }), new CapturedOutput()];
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const stop = new AbortController();
  const { fetch, url: openRouterUrl } = openRouter;
  const env = { HOME: cwd, ...more };
  const host = { argv: [], env, cwd, stdin, stdout, stderr, signal: stop.signal };
  const ended = loginCommand(args, host, { fetch, openRouterUrl, timeoutMs });
  ended.catch(() => {});
  await expect.poll(() => pageIn(stdout.text)).toBeDefined();
  const page = pageIn(stdout.text) ?? '';
  const callback = new URL(new URL(page).searchParams.get('callback_url') ?? '');
  const path = join(cwd, '.config/millrace/keys.json');
  /** True if the listener still accepts connections. */
  const isListening = () =>
    fetch(new URL('/', callback)).then(
      () => true,
      () => false,
    );
  return {
    ...openRouter,
    ...{ stdout, stdin, stop, ended, page, callback, path, env, isListening, cwd },
  };
}

const returnOf = (callback: URL, parameters: Readonly<Record<string, string>>, state?: string) => {
  const url = new URL(callback);
  if (state !== undefined) url.pathname = `/callback/${state}`;
  url.search = new URLSearchParams(parameters).toString();
  return url;
};

describe('millrace login openrouter', () => {
  test('opens a page with a challenge, stores a tested key, and closes the listener', async () => {
    const { page, callback, ended, stdout, path, env, challenges, bodies, isListening } =
      await logIn();
    expect(callback.hostname).toBe('localhost');
    expect(new URL(page).searchParams.get('code_challenge_method')).toBe('S256');
    expect(callback.pathname).toMatch(/^\/callback\/[\w-]{43}$/);
    expect(await browse(page)).toBe(200);
    expect(await ended).toBe(0);
    expect(await isListening()).toBe(false);
    expect(stdout.text).toContain('Logged in to OpenRouter.');
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      ...{ OPENROUTER_API_KEY: loginKey, logins: ['OPENROUTER_API_KEY'] },
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(withStoredKeys(env)).toMatchObject({ OPENROUTER_API_KEY: loginKey });
    const { code_verifier: verifier } = JSON.parse(bodies[0] ?? '{}');
    for (const secret of [loginKey, verifier]) expect(stdout.text).not.toContain(secret);
    expect(challenges[0]).not.toBe(verifier);
  });

  test.skipIf(process.platform !== 'linux')(
    '18.897: attack: another user of the machine reads the login page in the arguments of the browser',
    async () => {
      const bin = mkdtempSync(join(folder(), 'bin-'));
      const opened = join(bin, 'opened');
      writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\necho "$*" > "${opened}"\n`, { mode: 0o755 });
      const more = { DISPLAY: ':0', PATH: `${bin}:/usr/bin:/bin` };
      const { page, callback, ended } = await logIn({ more });
      await expect.poll(() => existsSync(opened) && readFileSync(opened, 'utf8')).toBeTruthy();
      const start = readFileSync(opened, 'utf8').trim();
      const challenge = new URL(page).searchParams.get('code_challenge') ?? '?';
      for (const secret of [challenge, callback.pathname.slice('/callback/'.length)])
        expect(start).not.toContain(secret);
      const response = await fetch(start, { redirect: 'manual' });
      expect(response.headers.get('location')).toBe(page);
      expect(await browse(page)).toBe(200);
      expect(await ended).toBe(0);
    },
  );

  test('18.690: attack: another page returns with a wrong state, another path, name or method', async () => {
    const { page, callback, ended, code, bodies } = await logIn();
    const status = async (url: URL, init?: RequestInit) => {
      const response = await fetch(url, init);
      await response.text();
      return response.status;
    };
    expect(await status(returnOf(callback, { code: 'forged' }, 'wrong'))).toBe(400);
    expect(await status(returnOf(callback, { code: 'forged' }, ''))).toBe(400);
    const right = callback.pathname.slice('/callback/'.length);
    const inQuery = new URL(`/callback?state=${right}&code=forged`, callback);
    expect(await status(inQuery)).toBe(400);
    expect(await status(returnOf(callback, { code: 'forged' }), { method: 'POST' })).toBe(400);
    const byAddress = returnOf(callback, { code: 'forged' });
    byAddress.hostname = '127.0.0.1';
    expect(await status(byAddress)).toBe(400);
    expect(bodies).toEqual([]);
    expect(await browse(page)).toBe(200);
    expect(await ended).toBe(0);
    expect(bodies.map((body) => JSON.parse(body).code)).toEqual([code]);
  });

  test('18.691: attack: a code that another program got for its own login is refused', async () => {
    const { callback, ended, code, bodies, path } = await logIn();
    const response = await fetch(returnOf(callback, { code }));
    await response.text();
    // The page of this login was never opened, so the code belongs to another challenge.
    await expect(ended).rejects.toThrow('OpenRouter refused the code (status 403)');
    expect(bodies.map((body) => JSON.parse(body).code)).toEqual([code]);
    expect(existsSync(path)).toBe(false);
  });

  test('an error of the page ends the login, and shows no text of the page as it is', async () => {
    const { page, ended, path, isListening } = await logIn({
      returned: { error: 'access_denied\u001b]52;c;eA==\u0007' },
    });
    await browse(page);
    await expect(ended).rejects.toThrow('the login page refused it (access_denied??52?c?eA???)');
    expect(existsSync(path)).toBe(false);
    expect(await isListening()).toBe(false);
  });

  test.for([
    [
      'a refusal',
      { status: 403, body: `{"error":"${loginKey}"}` },
      'refused the code (status 403)',
    ],
    ['no key', { status: 200, body: '{"key":5}' }, 'has no key'],
    ['a key with a line break', { status: 200, body: '{"key":"sk-or-v1\\nPATH=x"}' }, 'has no key'],
    ['no JSON', { status: 200, body: '<html>' }, 'has no key'],
    ['a long answer', { status: 200, body: `{"key":"${'k'.repeat(70_000)}"}` }, 'has no key'],
    ['a redirect', { status: 307, body: '', location: 'http://127.0.0.1:9/' }, 'status 307'],
  ] as const)('stores nothing after %s', async ([, answer, why]) => {
    const { page, ended, path, stdout } = await logIn({ exchange: () => answer });
    await browse(page);
    const error = await ended.catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(why);
    expect(String(error)).not.toContain(loginKey);
    expect(stdout.text).not.toContain(loginKey);
    expect(existsSync(path)).toBe(false);
  });

  test('a signal and the time limit end the wait, and close the listener', async () => {
    const stopped = await logIn();
    stopped.stop.abort();
    await expect(stopped.ended).rejects.toThrow('Stopped by a signal');
    await expect.poll(() => stopped.isListening()).toBe(false);
    const late = await logIn({ timeoutMs: 500 });
    await expect(late.ended).rejects.toThrow('nobody finished it within 0.5 s');
    expect(await late.isListening()).toBe(false);
  });

  test('the user pastes the code, or the address to which the browser returned', async () => {
    const byAddress = await logIn({ isTTY: true });
    await fetch(byAddress.page, { redirect: 'manual' });
    const isAsked = (count: number) => () =>
      byAddress.stdout.text.split('Waiting for the browser, or paste here (Enter goes back): ')
        .length ===
      count + 1;
    await expect.poll(isAsked(1)).toBe(true);
    const { callback, code } = byAddress;
    byAddress.stdin.write(`${returnOf(callback, { code }, 'wrong').href}\r`);
    await expect.poll(isAsked(2)).toBe(true);
    expect(byAddress.stdout.text).toContain('This address does not belong to this login.');
    byAddress.stdin.write('a code\r');
    await expect.poll(isAsked(3)).toBe(true);
    expect(byAddress.stdout.text).toContain('This is not a code.');
    byAddress.stdin.write(`${returnOf(callback, { code }).href}\r`);
    expect(await byAddress.ended).toBe(0);
    expect(byAddress.stdout.text).not.toContain(code);
    const byCode = await logIn({ isTTY: true });
    await fetch(byCode.page, { redirect: 'manual' });
    await expect.poll(() => byCode.stdout.text).toContain('paste here (Enter goes back): ');
    byCode.stdin.write(`${byCode.code}\r`);
    expect(await byCode.ended).toBe(0);
  });

  test('the browser returns while the question is open', async () => {
    const { page, ended, stdout } = await logIn({ isTTY: true });
    await expect.poll(() => stdout.text).toContain('paste here (Enter goes back): ');
    await browse(page);
    expect(await ended).toBe(0);
  });

  test.for([
    ['Esc', '\u001b'],
    ['Ctrl-C', '\u0003'],
    ['Enter', '\r'],
  ] as const)('%s cancels, and closes the listener', async ([, key]) => {
    const { stdin, ended, stdout, path, isListening } = await logIn({ isTTY: true });
    await expect.poll(() => stdout.text).toContain('paste here (Enter goes back): ');
    stdin.write(key);
    expect(await ended).toBe(3);
    expect(stdout.text).toContain('Not logged in. Nothing was stored.');
    expect(existsSync(path)).toBe(false);
    expect(await isListening()).toBe(false);
  });
});

describe('a key of a login', () => {
  const run = async (env: Record<string, string>, ...argv: readonly string[]) => {
    const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
    const host = { argv, env, cwd: folder(), stdout, stderr, stdin: new PassThrough() };
    const code = await runCommand({ ...host, signal: new AbortController().signal });
    return { code, text: stdout.text + stderr.text };
  };

  test('is deleted with millrace logout, and other keys stay', async () => {
    const { page, ended, path, env } = await logIn();
    await browse(page);
    await ended;
    const keys = { ...JSON.parse(readFileSync(path, 'utf8')), OPENAI_API_KEY: 'own' };
    writeFileSync(path, JSON.stringify(keys));
    const out = await run(env, 'logout', 'openrouter');
    expect(out).toMatchObject({ code: 0, text: expect.stringContaining('Deleted the key') });
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ OPENAI_API_KEY: 'own' });
    expect((await run(env, 'logout', 'openrouter')).text).toContain('There is no key of a login');
  });

  test('that the user entered is not deleted', async () => {
    const home = mkdtempSync(join(folder(), 'home-'));
    mkdirSync(join(home, '.config/millrace'), { recursive: true });
    const path = join(home, '.config/millrace/keys.json');
    writeFileSync(path, '{"OPENROUTER_API_KEY":"own","logins":["OPENAI_API_KEY",5]}', {
      mode: 0o600,
    });
    expect((await run({ HOME: home }, 'logout', 'openrouter')).text).toContain('There is no key');
    expect(readFileSync(path, 'utf8')).toContain('own');
  });

  test.for([
    [['login'], 'needs a service. Services: openrouter'],
    [['logout'], 'millrace logout needs a service'],
    [['login', 'anthropic'], 'does not know anthropic'],
    [['login', 'openrouter', 'x'], 'millrace login'],
    [['login', 'openrouter', '--json'], '--json'],
  ] as const)('%j is refused', async ([argv, why]) => {
    const { code, text } = await run({ HOME: folder() }, ...argv);
    expect(code).toBe(2);
    expect(text).toContain(why);
  });
});
