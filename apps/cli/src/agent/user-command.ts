import type { Tool, ToolContext, ToolExecution } from '@millrace/agent';
import { executionId, type JsonValue, runId, sessionId, toolCallId } from '@millrace/core';
import { bashTool, type Workspace } from '@millrace/tools';
import type { BuildOptions } from '../contract/agent.ts';

interface UserCommandOptions extends Pick<BuildOptions, 'config' | 'log' | 'env'> {
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
}

/** The time limit of a command. It is long, because the user can stop a command with Esc. */
const timeoutMs = 600_000;

/**
 * Runs a command that the user typed. As in a shell, it needs no approval and runs without a
 * sandbox. Its output is sent to the model. So it gets the same environment without API keys as the
 * agent's commands, and keys in its output are masked.
 */
export async function runUserCommand(
  command: string,
  { config, log, env, workspace, signal }: UserCommandOptions,
): Promise<string> {
  const { env: allow, maskSecrets } = config.commands ?? {};
  const tool = bashTool({
    ...{ workspace, timeoutMs, maxKeptBytes: 0 },
    ...{ env: { allow }, maskSecrets, maskedEnv: env },
  });
  return runTool(tool, { command }, { log, signal });
}

/** Runs a tool outside of a run, and returns its text. */
export async function runTool(
  tool: Pick<Tool, 'execute'>,
  input: JsonValue,
  { log, signal }: Pick<UserCommandOptions, 'log' | 'signal'>,
): Promise<string> {
  const context: ToolContext = {
    ...{ signal, context: undefined, child: undefined, blobs: log.blobs, update: () => {} },
    ...{ session: sessionId('user'), runId: runId('user'), turn: 0, idempotencyKey: 'user' },
    ...{ toolCallId: toolCallId('user'), executionId: executionId('user') },
  };
  return outputText(tool.execute(input, context));
}

async function outputText(execution: ToolExecution): Promise<string> {
  if (Symbol.asyncIterator in execution) throw new TypeError('The tool bash yields no updates');
  const returned = await execution;
  if (typeof returned === 'string') return returned;
  const isOutput = typeof returned === 'object' && returned !== null && 'output' in returned;
  return isOutput ? String((returned.output as { readonly text: string }).text) : '';
}
