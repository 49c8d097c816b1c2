import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import type { ServedAgent } from '../../contract/served-agent.ts';
import { ServerError } from '../../contract/server-error.ts';
import { ScopeServer } from '../../testing/scope-requests.ts';

const secret = 'connect postgres://app:hunter2@db failed';
const content = { type: 'text', author: 'user', content: 'Hi' } as const;

/** Starts a server whose handlers throw an error, and sends a message to each. Returns all that it shows. */
async function outputsOf(thrown: unknown) {
  const lines: string[] = [];
  const diagnostics: string[] = [];
  const fail = async () => Promise.reject(thrown);
  const agents: ServedAgent[] = [
    { type: 'sync', name: 'sync', onMessage: fail },
    {
      type: 'sync',
      name: 'stream',
      async *onMessage() {
        yield { type: 'full', index: 0, content: { ...content, author: 'agent' } } as const;
        throw thrown;
      },
    },
    { type: 'async', name: 'async', onTaskCreate: fail, onEvent: fail, onCancel: fail },
  ];
  const write = (line: string) => lines.push(line);
  const log = memoryLog();
  await using server = await ScopeServer.start({
    ...{ agents, log, requestLog: { format: 'json', write } },
    onDiagnostic: (line) => diagnostics.push(line),
  });
  const token = await server.createToken({});
  const shown: string[] = [];
  const ask = async (method: string, path: string, body?: object) => {
    const { text } = await server.ask(token, method, path, body);
    shown.push(text);
    return text;
  };
  for (const name of ['sync', 'stream'])
    await ask('POST', `/agents/name/${name}/rpc`, { method: 'message/send', params: { content } });
  const created = await ask('POST', '/agents/name/async/rpc', {
    method: 'task/create',
    params: {},
  });
  const { id } = JSON.parse(created).result;
  const failed = async () => JSON.parse(await ask('GET', `/tasks/${id}`)).status;
  await expect.poll(failed).toBe('FAILED');
  const tasks = JSON.parse(await ask('GET', '/tasks'));
  for (const task of tasks)
    for (const path of ['', '/records', '/digest']) await ask('GET', `/tasks/${task.id}${path}`);
  return { shown: shown.join('\n'), lines: lines.join('\n'), diagnostics };
}

test('18.1608: attack: the text of an exception of a handler reaches clients and the log', async () => {
  const { shown, lines, diagnostics } = await outputsOf(new Error(secret));
  expect(shown).not.toContain('hunter2');
  expect(lines).not.toContain('hunter2');
  expect(shown).toContain('onDiagnostic of the server receives its message');
  for (const name of ['sync', 'stream', 'async'])
    expect(diagnostics).toContainEqual(
      expect.stringMatching(new RegExp(`^Task \\w+: the handler of ${name} threw: .*hunter2`)),
    );
});

test('18.1608: attack: a handler throws a text, or an error with a line for the log', async () => {
  const { shown, lines } = await outputsOf(secret);
  expect(shown + lines).not.toContain('hunter2');
  const { diagnostics } = await outputsOf(new Error('a\nTask 1: forged'));
  expect(diagnostics.filter((line) => line.includes('\n'))).toEqual([]);
  expect(diagnostics.length).toBeGreaterThan(0);
});

test('18.1608: a ServerError of a handler reaches the client with its text', async () => {
  const { shown, diagnostics } = await outputsOf(new ServerError('invalid', 'Name a city'));
  expect(shown).toContain('Name a city');
  expect(diagnostics).toEqual([]);
});
