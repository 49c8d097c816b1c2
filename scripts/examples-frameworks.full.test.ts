import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import { afterAll, beforeAll, describe as describeTests, expect, test } from 'vitest';
import { chromiumPath, sharedChromium } from '../apps/web/src/e2e/testing/needs-chromium.ts';
import { patientMs } from '../packages/core/src/testing/runs.ts';
import { freePort, isRequirementMissing } from '../packages/log/src/testing/external-programs.ts';

// Each example runs in its real framework, as a user would start it. The tests use it over HTTP.

const folder = 'examples/frameworks';
const isInstalled = existsSync(`${folder}/node_modules/next/package.json`);
const missing =
  'The web frameworks are not installed, and these tests need them: npm run test:setup';
const describe = isRequirementMissing(isInstalled, missing) ? describeTests.skip : describeTests;

const source = '--conditions=@millrace/source';
const next = '../node_modules/next/dist/bin/next';
const vite = '../node_modules/vite/bin/vite.js';
/** The Node arguments for each example, relative to its folder. */
const commands: Readonly<Record<string, (port: string) => readonly string[]>> = {
  express: () => [source, 'server.ts'],
  fastify: () => [source, 'server.ts'],
  hono: () => [source, 'server.ts'],
  next: (port) => [next, 'dev', '-H', '127.0.0.1', '-p', port],
  'tanstack-start': (port) => [vite, 'dev', '--strictPort', '--host', '127.0.0.1', '--port', port],
};

const cookie = { cookie: 'session=ann' };
const answer = 'Rain in Bath until the evening.';

/** Returns the states of the message that the AI SDK's client shows while it reads the answer. */
async function ask(api: string, headers: Readonly<Record<string, string>>, chatId = 'chat') {
  const transport = new DefaultChatTransport({ api, headers });
  const parts = [{ type: 'text' as const, text: 'Will it rain?' }];
  const stream = await transport.sendMessages({
    ...{ trigger: 'submit-message', chatId, messageId: undefined, abortSignal: undefined },
    messages: [{ id: 'm1', role: 'user', parts }],
  });
  const shown: UIMessage[] = [];
  for await (const message of readUIMessageStream({ stream })) shown.push(message);
  return shown.map((message) =>
    message.parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
  );
}

/** Sends a message and disconnects during the answer. */
async function leave(api: string, chatId: string): Promise<void> {
  const leaving = new AbortController();
  const parts = [{ type: 'text', text: 'Will it rain?' }];
  const body = JSON.stringify({ id: chatId, messages: [{ id: 'm1', role: 'user', parts }] });
  const headers = { ...cookie, 'content-type': 'application/json' };
  const response = await fetch(api, { method: 'POST', headers, body, signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
}

async function isUp(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Next.js and Vite load the built packages. */
let isBuilt = false;
function build(): void {
  if (!isBuilt) {
    const tsc = ['node_modules/.bin/tsc', '-b', 'packages/server', 'packages/react'];
    execFileSync(process.execPath, tsc);
    execFileSync(process.execPath, ['scripts/packages/react-files.ts']);
  }
  isBuilt = true;
}

describe('the example for', () => {
  describeTests.each(Object.keys(commands))('%s', (name) => {
    let url = '';
    let app: ChildProcess | undefined;
    let output = '';
    beforeAll(async () => {
      build();
      const port = String(await freePort());
      url = `http://127.0.0.1:${port}`;
      const env = { ...process.env, PORT: port, NEXT_TELEMETRY_DISABLED: '1' };
      const cwd = `${folder}/${name}`;
      // The process has its own process group, because Next.js starts further processes.
      app = spawn(process.execPath, commands[name]?.(port) ?? [], { cwd, env, detached: true });
      for (const stream of [app.stdout, app.stderr])
        stream?.on('data', (text) => {
          output += String(text);
        });
      while (!(await isUp(url))) {
        if (app.exitCode !== null) throw new Error(`The example ended: ${output}`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    });
    afterAll(async () => {
      if (app?.pid === undefined || app.exitCode !== null) return;
      const ended = once(app, 'exit');
      process.kill(-app.pid, 'SIGKILL');
      await ended;
    });

    test('serves its own page', async () => {
      expect(await (await fetch(url)).text()).toContain('Hello from');
    });

    test('has all checks of the server', async () => {
      const status = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
        (await fetch(`${url}/api/agents${path}`, { headers })).status;
      expect(await status('/healthz')).toBe(200);
      expect(await status('/tasks')).toBe(401);
      expect(await status('/tasks', cookie)).toBe(200);
      expect(await status('/tasks', { authorization: 'Bearer guess' })).toBe(401);
      expect(await status('/tasks', { ...cookie, 'sec-fetch-site': 'cross-site' })).toBe(403);
      expect(await status('/nothing', cookie)).toBe(404);
    });

    test("answers the AI SDK's chat piece by piece", async () => {
      const shown = await ask(`${url}/api/agents/agents/name/weather/chat`, cookie);
      expect(shown.at(-1)).toBe(answer);
      expect(new Set(shown).size).toBeGreaterThan(3);
    });

    test('streams a task as it grows, and a client that leaves does not disturb others', async () => {
      const headers = { ...cookie, 'content-type': 'application/json' };
      const post = async (method: string, params: object) => {
        const body = JSON.stringify({ method, params });
        const path = `${url}/api/agents/agents/name/weather/rpc`;
        const response = await fetch(path, { method: 'POST', headers, body });
        return (await response.json()) as { readonly result: { readonly id: string } };
      };
      const { result } = await post('task/create', {});
      const stream = `${url}/api/agents/tasks/${result.id}/stream?view=events`;
      const leaving = new AbortController();
      const left = await fetch(stream, { headers, signal: leaving.signal });
      await left.body?.getReader().read();
      leaving.abort();
      const response = await fetch(stream, { headers });
      const content = { type: 'text', author: 'user', content: 'Will it rain?' };
      await post('event/send', { task_id: result.id, content });
      let text = '';
      const decoder = new TextDecoder();
      for await (const bytes of response.body ?? []) {
        text += decoder.decode(bytes, { stream: true });
        if (text.includes('run_finished')) break;
      }
      const deltas = text.match(/"assistant_text_delta"/g) ?? [];
      expect(deltas.length).toBeGreaterThan(1);
    });

    test('20.F5: prints nothing when clients leave', async () => {
      const paths = ['/api/agents/agents/name/weather/chat'];
      if (name === 'hono' || name === 'next') paths.push('/api/chat');
      // The first request to a path can print, for example that the framework compiled the route.
      for (const path of paths) await ask(`${url}${path}`, cookie, 'stays');
      const before = output.length;
      for (const path of paths) {
        for (const clientNumber of [1, 2, 3])
          await leave(`${url}${path}`, `leaves-${clientNumber}`);
        // When these answers are complete, the framework has handled the disconnected clients.
        await ask(`${url}${path}`, cookie, 'comes-later');
      }
      const printed = output.slice(before).split('\n');
      // Next.js prints one line for each request.
      expect(printed.filter((line) => !/^ (?:GET|POST) \/api/.test(line)).join('')).toBe('');
    });

    if (name === 'hono' || name === 'next')
      test('streams a run without a server of Millrace', async () => {
        const shown = await ask(`${url}/api/chat`, {});
        expect(shown.at(-1)).toBe(answer);
        expect(new Set(shown).size).toBeGreaterThan(3);
      });

    if (name === 'next')
      test.skipIf(chromiumPath() === undefined)('shows a chat made of components', async () => {
        const browser = await sharedChromium();
        const context = await browser.newContext({ baseURL: url });
        context.setDefaultTimeout(patientMs(60_000));
        try {
          await context.addCookies([{ name: 'session', value: 'ann', url }]);
          const page = await context.newPage();
          await page.goto('/chat');
          await page.getByLabel('Message').fill('Will it rain?');
          await page.getByRole('button', { name: 'Send' }).click();
          await page.getByText(answer).waitFor();
        } finally {
          await context.close();
        }
      });

    if (name === 'next')
      test('20.F3: has the messages for a page that was loaded again', async () => {
        const api = `${url}/api/chat`;
        await ask(api, {}, 'reloaded');
        const stored = (await (await fetch(`${api}?id=reloaded`)).json()) as UIMessage[];
        expect(stored.map(({ role }) => role)).toEqual(['user', 'assistant']);
        expect(stored[1]?.parts).toContainEqual({ type: 'text', text: answer, state: 'done' });
        expect(await (await fetch(`${api}?id=unknown`)).json()).toEqual([]);
      });
  });

  // The frameworks generate some of the types when they start.
  test('all frameworks has correct types', () => {
    build();
    const tsc = ['node_modules/.bin/tsc', '-p', folder, '--incremental', 'false'];
    execFileSync(process.execPath, tsc, { encoding: 'utf8' });
  });
});

test('no example has more than 60 lines of code', () => {
  for (const name of Object.keys(commands)) {
    const files = globSync(`${folder}/${name}/**/*.{ts,tsx}`, {
      exclude: (path) => /node_modules|\.next|\.gen\.ts|next-env/.test(path),
    });
    const shared = readFileSync(`${folder}/weather-agent.ts`, 'utf8');
    // The page with components is an example of its own.
    const counted = files.filter((file) => !file.endsWith('chat/page.tsx'));
    const lines = [shared, ...counted.map((file) => readFileSync(file, 'utf8'))]
      .flatMap((text) => text.split('\n'))
      .filter((line) => line.trim() !== '' && !line.trim().startsWith('//'));
    expect([name, lines.length <= 60, lines.length]).toEqual([name, true, lines.length]);
  }
});
