import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import { createToken } from '@millrace/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { collector } from '../../../../packages/client/src/testing/collector.ts';
import { runCommand } from '../command/run-command.ts';
import { exitCodes } from '../exit-code.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { serveProcess, tokenNamedIn } from '../testing/serve-process.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

const run = promisify(execFile);
const folder = temporaryFolder('serve');
let count = 0;

interface Served {
  readonly url: string;
  /** Headers with the token that the server created. */
  readonly headers: Readonly<Record<string, string>>;
  readonly data: string;
  readonly stdout: CapturedOutput;
  readonly stderr: CapturedOutput;
  /** Stops the server as Ctrl-C does. */
  stop(): Promise<number>;
}

function hostOf(flags: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const stop = new AbortController();
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const argv = ['serve', ...flags];
  const host = { argv, env: { HOME: folder(), ...env }, cwd: folder(), stdin: new PassThrough() };
  return { stop, stdout, stderr, host: { ...host, stdout, stderr, signal: stop.signal } };
}

async function serve(
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  data: string = join(folder(), `data ${++count}`),
): Promise<Served> {
  const { host, stop, stdout, stderr } = hostOf(['--port', '0', '--data', data, ...flags], env);
  const ended = runCommand(host);
  onTestFinished(() => {
    stop.abort();
    return ended.then(() => {});
  });
  const written = once(stdout, 'finish').catch(() => {});
  const isUp = new Promise<void>((resolve) => {
    const write = stdout._write.bind(stdout);
    stdout._write = (chunk, encoding, done) => {
      write(chunk, encoding, done);
      resolve();
    };
  });
  const first = await Promise.race([isUp, ended, written]);
  if (typeof first === 'number') throw new Error(`It ended with ${first}: ${stderr.text}`);
  const url = /listens on (\S+)/.exec(stdout.text)?.[1] ?? '';
  const end = () => {
    stop.abort();
    return ended;
  };
  const headers = { authorization: `Bearer ${tokenNamedIn(stdout.text)}` };
  return { url, headers, data, stdout, stderr, stop: end };
}

interface Told {
  readonly result: readonly {
    readonly streaming_status: string;
    readonly content: { readonly type: string; readonly name?: string };
  }[];
  readonly error: unknown;
}

async function send(url: string, agent: string, params: object, headers = {}) {
  const content = { type: 'text', author: 'user', content: 'one two' };
  const response = await fetch(`${url}/agents/name/${agent}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ method: 'message/send', params: { content, ...params } }),
  });
  return { status: response.status, body: (await response.json()) as Told };
}

describe('millrace serve --otlp', () => {
  test('sends the spans of what it serves to the collector, all of them before it ends', async () => {
    const { url: collectorUrl, spans, requests } = await collector();
    const env = { OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b' };
    const { url, headers, stop } = await serve(['--otlp', collectorUrl], env);
    const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
    await send(url, 'echo', { task_name: 'traced' }, { ...headers, traceparent });
    expect(await stop()).toBe(exitCodes.done);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set(['ab'.repeat(16)]));
    const names = spans.map(({ name }) => name);
    expect(names).toContain('POST /agents/name/{agent_name}/rpc');
    expect(names).toContain('invoke_agent echo');
    expect(requests[0]?.['x-key']).toBe('a b');
  });

  test('refuses what is no address of a collector', async () => {
    await expect(serve(['--otlp', 'nowhere'])).rejects.toThrow('http://localhost:4318');
  });
});

describe('millrace serve', () => {
  test('says where it listens, which agents there are, and what to try; what it says works', async () => {
    const { url, headers, stdout, data, stop } = await serve();
    expect(stdout.text).toMatch(/^ {2}demo {2}loop /m);
    expect(stdout.text).toMatch(/^ {2}echo {2}sync /m);
    expect(stdout.text).toContain(data);
    const [send = '', follow = ''] = stdout.text.match(/.*curl .*/g) ?? [];
    expect(send).toContain(url);
    const { stdout: answer } = await run('sh', ['-c', `${send} -s -D -`]);
    expect(answer).toContain('application/x-ndjson');
    expect(
      answer
        .trimEnd()
        .split('\n')
        .filter((line) => line.startsWith('{')).length,
    ).toBeGreaterThan(2);
    const [, stream = ''] = /'(\S+)'$/.exec(follow) ?? [];
    const told = await fetch(stream, { headers });
    expect(told.status).toBe(200);
    await told.body?.cancel();
    expect(await stop()).toBe(exitCodes.done);
  });

  test('keeps what was said from start to start, for its owner alone', async () => {
    const first = await serve();
    const { body } = await send(first.url, 'echo', { task_name: 'kept' }, first.headers);
    expect(body.result).toMatchObject([{ content: { content: 'one two' } }]);
    await first.stop();
    const secret = readFileSync(join(first.data, 'secret'), 'utf8');
    for (const name of ['secret', 'sessions.db', 'tasks.db', 'access/token'])
      expect(statSync(join(first.data, name)).mode & 0o777).toBe(0o600);
    chmodSync(join(first.data, 'secret'), 0o644);
    const second = await serve([], {}, first.data);
    const task = await fetch(`${second.url}/tasks/name/kept`, first);
    const { id } = (await task.json()) as { readonly id: string };
    const messages = await fetch(`${second.url}/messages?task_id=${id}`, first);
    expect(await messages.json()).toHaveLength(2);
    expect(readFileSync(join(first.data, 'secret'), 'utf8')).toBe(secret);
    expect(statSync(join(first.data, 'secret')).mode & 0o777).toBe(0o600);
  });

  test('25.6: gives its sessions a hash chain if an option asks for it', async () => {
    const { url, headers, data, stop } = await serve(['--chain']);
    await send(url, 'echo', { task_name: 'proven' }, headers);
    const task = await fetch(`${url}/tasks/name/proven`, { headers });
    const { id } = (await task.json()) as { readonly id: string };
    await stop();
    const { host, stdout } = hostOf([]);
    const argv = ['verify', id, '--store', join(data, 'sessions.db')];
    expect(await runCommand({ ...host, argv })).toBe(exitCodes.done);
    expect(stdout.text).toContain(`${id}: verified (`);
  });

  test('serves the agents of a file instead', async () => {
    const path = join(folder(), 'own.ts');
    writeFileSync(
      path,
      `export const own: object = { type: 'sync', name: 'own',
        onMessage: async () => ({ type: 'text', author: 'agent', content: 'mine' }) };`,
    );
    const { url, headers, stdout } = await serve(['--agents', path]);
    expect(stdout.text).toMatch(/Agents:\n {2}own {2}sync\n/);
    const { body } = await send(url, 'own', {}, headers);
    expect(body.result).toMatchObject([{ content: { content: 'mine' } }]);
  });

  test('asks before it changes anything, unless an option allows changes', async () => {
    const done = async (flags: readonly string[]) => {
      const { url, headers } = await serve(flags);
      const content = { type: 'text', author: 'user', content: 'tour' };
      const { body } = await send(url, 'demo', { content }, headers);
      const results = body.result.filter(({ content: { type } }) => type === 'tool_response');
      return results.flatMap((one) => (one.streaming_status === 'DONE' ? one.content.name : []));
    };
    expect(await done([])).not.toContain('write');
    expect(await done(['--yes'])).toContain('write');
  });

  test('writes a line a request, for people or for programs, without what was said', async () => {
    const people = await serve();
    await send(people.url, 'echo', {}, people.headers);
    expect(people.stderr.text).toMatch(/POST \/agents\/name\/echo\/rpc message\/send 200 \d+ ms/);
    const programs = await serve(['--log', 'json']);
    await send(programs.url, 'echo', {}, programs.headers);
    await programs.stop();
    const lines = programs.stderr.text.split('\n').filter((line) => line.startsWith('{'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { kind: 'request', method: 'POST', what: 'message/send', status: 200 },
    ]);
    expect(people.stderr.text + programs.stderr.text).not.toContain('one two');
  });

  test('lets in who has the token alone, where there is one', async () => {
    const token = createToken();
    const { url, stdout, stderr, data } = await serve([], { MILLRACE_TOKEN: token });
    expect((await send(url, 'echo', {})).status).toBe(401);
    const authorization = `Bearer ${token}`;
    expect((await send(url, 'echo', {}, { authorization })).status).toBe(200);
    expect(stdout.text).toContain('"$MILLRACE_TOKEN" | curl -N -H @-');
    expect(stdout.text + stderr.text).not.toContain(token);
    expect(existsSync(join(data, 'access'))).toBe(false);
  });

  test('requires no token only with the option for it, and prints what that means', async () => {
    const { url, stdout, stderr } = await serve(['--no-token']);
    expect((await send(url, 'echo', {})).status).toBe(200);
    expect(stderr.text).toContain('every user of this machine can use the agents');
    expect(stdout.text).not.toContain('authorization');
    await expect(serve(['--no-token', '--token', createToken()])).rejects.toThrow('Remove one');
    await expect(serve(['--no-token', '--host', '0.0.0.0'])).rejects.toThrow('in the network');
  });
});

describe('millrace serve refuses', () => {
  async function refused(...flags: readonly string[]) {
    const data = join(folder(), `data ${++count}`);
    const { host, stderr } = hostOf(['--data', data, ...flags]);
    return { code: await runCommand(host), words: stderr.text };
  }

  test('to listen beyond this machine without a token, and says what to do', async () => {
    const { code, words } = await refused('--host', '0.0.0.0', '--port', '0');
    expect(code).toBe(exitCodes.error);
    expect(words).toContain('Cannot listen on 0.0.0.0, port 0: everyone in the network could');
    expect(words).toContain('Set MILLRACE_TOKEN');
  });

  test('a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as { port: number };
    const { code, words } = await refused('--port', String(port));
    expect([code, words]).toEqual([exitCodes.error, expect.stringContaining('--port 0 takes any')]);
  });

  test('a folder that it cannot use, and a file of agents that is none', async () => {
    const file = join(folder(), 'file');
    writeFileSync(file, '');
    expect((await refused('--data', join(file, 'data'))).words).toMatch(
      /Cannot store data in .* --data <dir>/,
    );
    const { words } = await refused('--agents', join(folder(), 'gone.ts'), '--port', '0');
    expect(words).toContain('the file does not exist. Choose another with --agents');
  });
});

test('the process ends with 0 on a signal, while somebody watches', async () => {
  const server = await serveProcess(['--port', '0', '--data', join(folder(), 'p')], folder());
  const headers = { authorization: `Bearer ${server.token}` };
  const { body } = await send(server.url, 'echo', { task_name: 'watched' }, headers);
  expect(body.error).toBeNull();
  const watched = await fetch(`${server.url}/tasks/name/watched/stream`, { headers });
  expect((await server.end('SIGINT')).code).toBe(0);
  expect(await watched.text()).toContain('retry: ');
  expect(server.output.stderr).toContain('again to stop at once');
});
