import {
  type AwaitedOutput,
  type FoldState,
  type JsonValue,
  type SessionId,
  sessionId,
  type ToolCallId,
  type ToolResultPart,
  transcript,
} from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { validateOutput } from '../calls/client-call.ts';
import { plainOutput } from '../calls/tool-result.ts';
import { AgentError } from '../contract/agent-error.ts';
import { type OutputCommand, toolOutputKey } from '../contract/command.ts';
import type { Tool } from '../contract/tool.ts';
import type { PendingToolCall } from '../contract/typed-tools.ts';
import { decodeCommand, encodeCommand } from '../state/commands.ts';
import { pendingToolCallsOf } from '../views/run-views.ts';
import { assertSession } from './submit-command.ts';

/**
 * Submits the output of a tool that a client runs, from any process. Submitting the same output again has no
 * effect. Rejects with `bad_input` if the tool's schema rejects the output. Rejects with `no_such_call` if no
 * call with this id waits. Rejects with `already_answered` if the call already has a different output.
 */
export async function submitToolResult(
  log: Log,
  session: string,
  result: ResultToSubmit,
): Promise<{ readonly key: string }> {
  const { command, tools = new Map() } = result;
  const { toolCallId } = command;
  const id = sessionId(session);
  await assertSession(log, id, 'give the output of a call to');
  let key = toolOutputKey(toolCallId);
  for (let tries = 0; tries < maxTries; tries++) {
    const state = await snapshot(log, id);
    const waiting = state.awaited.find((one) => one.toolCallId === toolCallId);
    if (waiting === undefined) {
      await assertSameResult(state, command, tools);
      return { key };
    }
    await assertOutputFits(id, command, tools.get(waiting.name));
    const { offset, isRepeat } = await log.submit(id, encodeCommand(command), key);
    if (!isRepeat) return { key };
    const earlier = await readCommand(log, id, offset, key);
    if (earlier !== undefined) {
      if (contentOf(earlier) !== contentOf(command)) throw answered(id, toolCallId);
      return { key };
    }
    // The log of a fork contains this command, but the fork does not use it. The next try therefore uses a
    // different key.
    key = `${toolOutputKey(toolCallId)} ${offset}`;
  }
  throw answered(id, toolCallId);
}

const maxTries = 10;

/** Returns the command at this offset. Returns undefined if a run has already consumed it. */
async function readCommand(
  log: Log,
  session: SessionId,
  offset: number,
  key: string,
): Promise<OutputCommand | undefined> {
  let found: OutputCommand | undefined;
  for (let from = offset - 1; ; ) {
    const { records, through } = await log.read(session, { from });
    for (const { fact, offset: at } of records) {
      if (fact?.type === 'command_consumed' && fact.key === key) return undefined;
      const command = at === offset && fact?.type === 'command_queued' && fact.command;
      const decoded = command ? decodeCommand(command) : undefined;
      if (decoded?.type === 'tool_output') found = decoded;
    }
    if (through <= from) return found;
    from = through;
  }
}

/** Rejects if the call has no result, or if its result comes from a different output. */
async function assertSameResult(
  state: FoldState,
  command: OutputCommand,
  tools: ReadonlyMap<string, Tool>,
): Promise<void> {
  const { toolCallId } = command;
  const parts = transcript(state).flatMap(({ parts: all }) => all);
  const known = parts.find((part) => part.kind === 'tool_result' && part.toolCallId === toolCallId);
  if (known?.kind !== 'tool_result') throw notAwaited(state.session, toolCallId, state.awaited);
  if (await isResultOf(known, command, tools.get(known.name))) return;
  throw answered(state.session, toolCallId);
}

interface ResultToSubmit {
  readonly command: OutputCommand;
  /** The tools whose schemas validate the output. Default: none. */
  readonly tools?: ReadonlyMap<string, Tool> | undefined;
}

/**
 * Returns the calls of a session that wait for a client. Rejects with `no_such_session` if the session
 * does not exist.
 */
export async function readPendingToolCalls(
  log: Log,
  session: string,
): Promise<readonly PendingToolCall[]> {
  const id = sessionId(session);
  await assertSession(log, id, 'read');
  return pendingToolCallsOf(await snapshot(log, id));
}

/** Rejects with `bad_input` if the tool's schema rejects the output. The call then continues to wait. */
async function assertOutputFits(
  session: SessionId,
  { output, error, toolCallId }: OutputCommand,
  tool: Tool | undefined,
): Promise<void> {
  if (error !== undefined || tool === undefined) return;
  const checked = await validateOutput(tool, output);
  if (checked.ok) return;
  const message = `Cannot use the output for call ${toolCallId}: it does not fit the tool ${tool.name}. ${checked.problem}`;
  throw new AgentError('bad_input', message, { session, toolCallId, tool: tool.name });
}

/** Returns true if the result was created from this output. */
async function isResultOf(
  { isError, text }: ToolResultPart,
  { output, error }: OutputCommand,
  tool: Tool | undefined,
): Promise<boolean> {
  if (error !== undefined) return isError && text === error;
  const checked = await validateOutput(tool ?? {}, output);
  return !isError && checked.ok && plainOutput(checked.value).text === text;
}

/** Returns the content of an output as text. Equal outputs have equal texts. */
function contentOf({ output, error }: OutputCommand): string {
  return JSON.stringify([error ?? null, sorted(output ?? null)]);
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return entries.map(([key, one]) => [key, sorted(one ?? null)]);
}

function notAwaited(
  session: SessionId,
  toolCallId: ToolCallId,
  awaited: readonly AwaitedOutput[],
): AgentError {
  const ids = awaited.map((one) => one.toolCallId).join(', ');
  const hint = ids === '' ? 'No call waits for an output' : `These calls wait: ${ids}`;
  const message = `Cannot give an output to call ${toolCallId}: it does not wait for one. ${hint}`;
  return new AgentError('no_such_call', message, { session, toolCallId });
}

function answered(session: SessionId, toolCallId: ToolCallId): AgentError {
  const message = `Cannot give an output to call ${toolCallId}: it has another output already. The first one counts`;
  return new AgentError('already_answered', message, { session, toolCallId });
}
