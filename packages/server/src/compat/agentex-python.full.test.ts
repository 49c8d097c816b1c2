import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../../log/src/testing/external-programs.ts';
import type { TaskMessage } from '../contract/message.ts';
import { compatServer } from '../testing/servers/compat-server.ts';
import { testToken } from '../testing/servers/test-server.ts';

// Runs the published Python SDK of Agentex against this server. The SDK needs a gigabyte, so it is
// optional: `npm run test:setup -- --python` installs it.

const root = new URL('../../../../', import.meta.url);
const python = fileURLToPath(new URL('node_modules/.cache/agentex-sdk/bin/python', root));
const isThere = existsSync(python);
const script = (name: string) => fileURLToPath(new URL(`../testing/${name}`, import.meta.url));
const { PATH = '', HOME = '' } = process.env;

if (!isThere) console.log('skipped: no agentex-sdk for Python (npm run test:setup -- --python)');

const answers = [
  { type: 'reasoning', summary: ['I think'] },
  { type: 'text', content: 'You said hello' },
  { type: 'tool_request', tool_call_id: 'c1', name: 'look', arguments: { at: 'it' } },
  { type: 'tool_response', tool_call_id: 'c1', name: 'look', content: { seen: true } },
];

/** Starts an agent of the Python SDK and waits until it has registered. */
async function startAgent(url: string, kind: 'sync' | 'async'): Promise<void> {
  const port = await freePort();
  const env = {
    ...{ PATH, HOME, AGENTEX_BASE_URL: url, AGENT_NAME: 'remote', ACP_TYPE: kind },
    ...{ ACP_URL: 'http://127.0.0.1', ACP_PORT: String(port), ENVIRONMENT: 'development' },
  };
  const child = spawn(python, [script('agentex-agent.py'), kind], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exit = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  let output = '';
  // The agent registers before it prints that it listens.
  for await (const text of child.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += text;
    if (output.includes('Uvicorn running on')) break;
  }
  if (!output.includes('Uvicorn running on')) throw new Error(`The agent exited: ${output}`);
  child.stderr.resume();
}

async function rpc(url: string, method: string, params: object) {
  const response = await fetch(`${url}/agents/name/remote/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 1, method, params }),
  });
  const lines = (await response.text()).trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

const content = { type: 'text', author: 'user', content: 'hello' };

describe.skipIf(!isThere)("Agentex's Python SDK", () => {
  test('22.3: creates tasks, sends messages and events, lists, streams and cancels', async () => {
    const token = testToken('key');
    const url = await compatServer({ tokens: [token] });
    const run = promisify(execFile);
    const { stdout } = await run(python, [script('agentex-client.py'), url, token], {
      env: { PATH, HOME },
    });
    expect(JSON.parse(stdout)).toMatchObject({
      agents: ['async-agent', 'loop-agent', 'sync-agent'],
      task: { name: 'py', status: 'RUNNING', params: { n: 1 } },
      again: true,
      sent: answers,
      types: ['delta', 'done', 'full', 'start'],
      messages: 2 * (1 + answers.length),
      event: [true, true],
      events: [true],
      followed: [
        'connected',
        expect.arrayContaining(['start', 'delta', 'done']),
        'Received: hello',
      ],
      stream_events: ['connected', 'Received: hello'],
      canceled: 'CANCELED',
      state: { n: 2 },
      span: 'work',
    });
  });

  test('serves a sync agent, which registers itself and is called with its protocol', async () => {
    const url = await compatServer();
    await startAgent(url, 'sync');
    const lines = await rpc(url, 'message/send', {
      task_name: 'remote chat',
      content,
      stream: true,
    });
    expect(lines.at(-1)).toMatchObject({ error: null, result: { type: 'done' } });
    const [{ result }] = await rpc(url, 'message/send', { task_name: 'remote chat', content });
    expect(result).toMatchObject([{ content: { content: 'Remote: hello' } }]);
  });

  test('serves an async agent, which writes messages with its own key', async () => {
    const url = await compatServer();
    await startAgent(url, 'async');
    const [{ result: task }] = await rpc(url, 'task/create', {});
    const stream = await fetch(`${url}/tasks/${task.id}/stream`);
    const [{ error }] = await rpc(url, 'event/send', { task_id: task.id, content });
    expect(error).toBeNull();
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; !text.includes('Remote: '); ) text += (await reader?.read())?.value ?? '';
    await reader?.cancel();
    const listed = await fetch(`${url}/messages?task_id=${task.id}&order_direction=asc`);
    const messages = (await listed.json()) as readonly TaskMessage[];
    expect(messages.map(({ content: output }) => output)).toMatchObject([
      { author: 'user', content: 'hello' },
      { author: 'agent', content: 'Remote: hello' },
    ]);
  });
});
