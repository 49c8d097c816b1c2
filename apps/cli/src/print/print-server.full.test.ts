import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  errorReply,
  type ScriptedServer,
  startScriptedServer,
} from '@millrace/providers/scripted-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { childEnv } from '../../../../packages/core/src/testing/runs.ts';
import { exitCodes } from '../exit-code.ts';
import { builtProgram } from '../testing/built-program.ts';
import { eventsIn } from '../testing/run-print.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { AnswerStream } from './answer-stream.ts';

// Tests the installed command with a server that uses the wire format of a provider.

const folder = temporaryFolder('print-server');
const key = 'sk-very-secret-0123456789';
let server: ScriptedServer;
beforeEach(async () => {
  server = await startScriptedServer();
});
afterEach(() => server.close());

async function millrace(...args: readonly string[]) {
  const env = {
    ...{ ...childEnv(), HOME: folder(), OPENAI_API_KEY: key },
    OPENAI_BASE_URL: `${server.url}/v1`,
  };
  const words = [builtProgram(), '--cwd', folder(), ...args];
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = await once(child, 'close');
  expect(stdout + stderr).not.toContain(key);
  return { code, stdout, stderr };
}

/** Scripts two answers: a call that lists the folder, and then the final answer. */
function script(): void {
  const call = { id: 'c1', name: 'ls', arguments: '{"path":"."}' };
  server.answer({ text: 'I look.', toolCalls: [call] });
  server.answer({ text: 'It turns, and **turns**.' });
}

test('prints the answer alone, and the JSONL of the same run folds to it', async () => {
  script();
  const plain = await millrace('-p', 'The weather?');
  expect(plain).toEqual({
    code: exitCodes.done,
    stdout: 'It turns, and **turns**.\n',
    stderr: '',
  });
  script();
  const all = await millrace('-p', 'The weather?', '--stream', 'all');
  expect(all.stdout).toBe('I look.\n\nIt turns, and **turns**.\n');
  script();
  const { code, stdout, stderr } = await millrace('-p', '--json', '--', 'The weather?');
  const answer = new AnswerStream();
  const folded = eventsIn(stdout).map((event) => answer.add(event).text);
  expect([code, folded.join(''), stderr]).toEqual([exitCodes.done, all.stdout, '']);
  server.assertUsedUp();
});

test('prints an object that fits the schema', async () => {
  const schema = join(folder(), 'schema.json');
  const properties = { city: { type: 'string' } };
  writeFileSync(schema, JSON.stringify({ type: 'object', properties, required: ['city'] }));
  server.answer({ text: '{"town":"Ulm"}' });
  server.answer({ text: '{"city":"Ulm"}' });
  const { code, stdout } = await millrace('-p', 'Where?', '--output-schema', schema);
  expect([code, stdout]).toEqual([exitCodes.done, '{"city":"Ulm"}\n']);
  server.assertUsedUp();
});

test('says what is wrong with a key, without the key, and ends with 1', async () => {
  const failure = { type: 'invalid_request_error', message: `Incorrect API key: ${key}` };
  server.reply(errorReply('openai-chat', 401, failure));
  const { code, stdout, stderr } = await millrace('-p', 'The weather?');
  expect([code, stdout]).toEqual([exitCodes.error, '']);
  expect(stderr).toMatch(/key|auth/i);
});

test('ends with 2 where it is called in a way that it does not know', async () => {
  const { code, stdout, stderr } = await millrace('-p');
  expect([code, stdout]).toEqual([exitCodes.usage, '']);
  expect(stderr).toContain('millrace -p "Say hello"');
});
