import type { Tool, ToolContext } from '@millrace/agent';
import type { JsonValue } from '@millrace/core';
import { bundledProgram } from '../../../../scripts/bundled-program.ts';
import { childEnv } from '../../../core/src/testing/runs.ts';
import { connectMcp, type McpOptions, type McpServer, type McpTools } from '../mcp/index.ts';
import { runTool, type ToolRunResult } from './tool-context.ts';

const program = new URL('./mcp-server-in-process.ts', import.meta.url);

/** Returns the description of the test server as a child process. The flags control its behaviour. */
export function stdioServer(
  flags: readonly string[] = [],
  env?: Readonly<Record<string, string>>,
): McpServer {
  const stdio = { command: process.execPath, args: [bundledProgram(program), ...flags] };
  return { name: 'test', stdio: { ...stdio, env: { ...childEnv(), ...env } } };
}

/** Tracks the connections of a test, to close them all at its end. */
export class McpConnections {
  readonly #open: McpTools[] = [];

  async connect(server: McpServer, options?: McpOptions): Promise<McpTools> {
    const connected = await connectMcp(server, options);
    this.#open.push(connected);
    return connected;
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.#open.splice(0).map((server) => server.close()));
  }
}

export function toolOf({ tools }: McpTools, name: string): Tool {
  const tool = tools.find((one) => one.name === `test_${name}`);
  if (tool === undefined) throw new Error(`There is no tool test_${name}`);
  return tool;
}

export function call(
  server: McpTools,
  name: string,
  input: JsonValue = {},
  given: Partial<ToolContext> = {},
): Promise<ToolRunResult> {
  return runTool(toolOf(server, name), input, given);
}
