import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { childEnv } from '../../../core/src/testing/runs.ts';
import { McpConnections } from '../testing/mcp-connections.ts';
import { runTool } from '../testing/tool-context.ts';
import type { McpOptions } from './index.ts';

// These tests use a server that violates the protocol.

const connections = new McpConnections();
afterEach(() => connections.closeAll());

const program = fileURLToPath(new URL('../testing/mcp-bare-server-in-process.ts', import.meta.url));
const connect = (list: string, result: string, options?: McpOptions) =>
  connections.connect(
    {
      name: 'bare',
      stdio: { command: process.execPath, args: [program, list, result], env: childEnv() },
    },
    options,
  );

const good = { name: 'good', description: 'It works', inputSchema: { type: 'object' } };

/**
 * Connects to a server with this tool and two valid ones. Returns the accepted tools and the
 * reported problems.
 */
async function beside(tool: string) {
  const problems: string[] = [];
  const last = JSON.stringify({ ...good, name: 'last' });
  const list = `{"tools":[${JSON.stringify(good)},${tool},${last}]}`;
  const { tools } = await connect(list, '{"content":[{"type":"text","text":"ok"}]}', {
    onProblem: (problem) => problems.push(problem),
  });
  return { tools, problems, names: tools.map(({ name }) => name) };
}

const nested = (depth: number) =>
  `{"type":"object","a":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`;

describe('an invalid tool is left out, and the others are kept:', () => {
  test.each([
    ['no schema', '{"name":"bad"}', 'bad'],
    ['a schema that is a list', '{"name":"bad","inputSchema":[]}', 'bad'],
    ['a schema of a text', '{"name":"bad","inputSchema":{"type":"string"}}', 'bad'],
    [
      'properties that are none',
      '{"name":"bad","inputSchema":{"type":"object","properties":7}}',
      'bad',
    ],
    ['a schema that is too deep', `{"name":"bad","inputSchema":${nested(100)}}`, 'bad'],
    ['a schema that is far too deep', `{"name":"bad","inputSchema":${nested(15_000)}}`, 'bad'],
    ['no name', '{"inputSchema":{"type":"object"}}', 'number 2'],
    ['a name that is none', '{"name":{},"inputSchema":{"type":"object"}}', 'number 2'],
    ['not even a tool', 'null', 'number 2'],
  ])('%s', async (_what, tool, called) => {
    const { tools, problems, names } = await beside(tool);
    expect(names).toEqual(['bare_good', 'bare_last']);
    expect(problems).toEqual([
      expect.stringMatching(`^MCP server bare: its tool ${called} is left out: its [^\n]+$`),
    ]);
    expect(await runTool(tools[0] as never, {})).toMatchObject({ text: 'ok', isError: false });
  });
});

test.each([
  ['its description', '"description":7'],
  ['its annotations', '"annotations":"yes"'],
  ['its title', '"title":[]'],
  ['its output schema', '"outputSchema":{"type":"array"}'],
  ['something unknown', '"icons":7'],
])('a tool of which only %s is invalid is kept without it', async (_what, field) => {
  const { names, problems } = await beside(
    `{"name":"odd",${field},"inputSchema":{"type":"object"}}`,
  );
  expect(names).toEqual(['bare_good', 'bare_odd', 'bare_last']);
  expect(problems).toEqual([]);
});

test('an invalid list gives an error of one line', async () => {
  await expect(connect('{"tools":"none"}', '')).rejects.toMatchObject({
    code: 'cannot_connect',
    message: expect.stringMatching(/^Cannot connect to MCP server bare: [^\n]*tools[^\n]*$/),
  });
});

test('the error for a server that exits during the list has its exit code and output', async () => {
  await expect(connect('', '')).rejects.toMatchObject({
    message:
      'Cannot connect to MCP server bare: it closed the connection. It exited with code 9. Last output: I give up',
  });
});

test('of a partly invalid result, the rest is kept', async () => {
  const list = JSON.stringify({ tools: [good] });
  const text = '{"type":"text","text":"kept"}';
  const { tools } = await connect(list, `{"content":[null,7,"x",${text},{"no":"type"}]}`);
  const ran = await runTool(tools[0] as never, {});
  expect(ran.isError).toBe(false);
  expect(ran.text.split('\n')).toEqual([
    ...Array(3).fill(expect.stringMatching(/left out/)),
    'kept',
    expect.stringMatching(/left out/),
  ]);
});

test('23.5: a tool that runs only as a task is left out, and that is reported', async () => {
  const { names, problems } = await beside(
    '{"name":"bad","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}',
  );
  expect(names).toEqual(['bare_good', 'bare_last']);
  expect(problems).toEqual(['MCP server bare: its tool bad is left out: it runs only as a task']);
});
