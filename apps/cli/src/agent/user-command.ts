import type { Tool, ToolContext, ToolExecution } from '@millrace/agent';
import { executionId, runId, sessionId, toolCallId } from '@millrace/core';
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

/** The identity of a call outside of a run, and what the decision about it covers. */
type Place = Pick<ToolContext, 'session' | 'turn' | 'toolCallId' | 'judged'>;

/** The place of a command that nobody decides about. */
const undecided: Place = { session: sessionId('user'), turn: 0, toolCallId: toolCallId('user') };

interface RunToolOptions extends Pick<UserCommandOptions, 'log' | 'signal'> {
  /** The place with which the rules decided about the call. Default: no rules decided. */
  readonly place?: Place;
}

/** Runs a tool outside of a run, and returns its text. */
export async function runTool(
  tool: Pick<Tool, 'execute'>,
  input: unknown,
  { log, signal, place = undecided }: RunToolOptions,
): Promise<string> {
  const { session, turn, toolCallId } = place;
  const context: ToolContext = {
    ...{ signal, context: undefined, child: undefined, blobs: log.blobs, update: () => {} },
    ...{ ...place, runId: runId('user'), executionId: executionId('user') },
    idempotencyKey: `${session}:${turn}:${toolCallId}`,
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
