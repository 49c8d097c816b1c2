import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe as describeTests, expect, test } from 'vitest';
import { isRequirementMissing } from '../packages/log/src/testing/external-programs.ts';
import { runProgram } from './packages/run-program.ts';

// Runs the program that docs/migrate/from-langchain.md shows before the migration, with the real
// LangChain.

const folder = 'examples/langchain';
const isInstalled = existsSync(`${folder}/node_modules/langchain/package.json`);
const missing = 'LangChain is not installed, and these tests need it: npm run test:setup';
const describe = isRequirementMissing(isInstalled, missing) ? describeTests.skip : describeTests;

const call = { name: 'search_handbook', arguments: '{"question":"holidays"}' };
const answers = [
  { content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] },
  { content: 'You have 30 days.' },
  { content: 'Yes, since May.' },
];

/**
 * Answers chat completion requests. LangChain does not stream here, so the scripted servers do not
 * fit.
 */
async function startModel() {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const message = { role: 'assistant', ...answers[requests.length] };
    requests.push(body);
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const finish_reason = 'tool_calls' in message ? 'tool_calls' : 'stop';
    const choices = [{ index: 0, message, finish_reason }];
    // LangGraph merges messages with the same id, so each id must be new.
    const head = {
      id: `c${requests.length}`,
      object: 'chat.completion',
      created: 1,
      model: 'gpt-5.1',
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...head, choices, usage }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, requests, close: () => server.close() };
}

describe('the LangChain program of the migration page', () => {
  test('has correct types', async () => {
    const tsc = ['node_modules/typescript/bin/tsc', '-p', folder];
    await runProgram(process.execPath, tsc, { cwd: process.cwd() });
  });

  test('prints what the Millrace program prints', async () => {
    const page = readFileSync('docs/migrate/from-langchain.md', 'utf8');
    const [, printed] = /It prints:\n\n```text\n(.*?)```/s.exec(page) ?? [];
    const model = await startModel();
    try {
      const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'none' };
      const options = { cwd: process.cwd(), env, timeoutMs: 120_000 };
      const { stdout } = await runProgram(process.execPath, [`${folder}/handbook.ts`], options);
      expect(stdout).toBe(printed);
      expect(model.requests).toHaveLength(answers.length);
      expect(model.requests[1]).toContain('holidays: 30 days');
    } finally {
      model.close();
    }
  });
});
