import type { Tool } from '@millrace/agent';
import { callStep } from '@millrace/agent/steps';
import {
  type JsonValue,
  type Part,
  parseJson,
  sessionId,
  type ToolResultPart,
  toolCallId,
  transcript,
} from '@millrace/core';
import { snapshot } from '@millrace/log';
import type { HeartbeatSignals } from '@millrace/temporal/activities';
import { ApplicationFailure } from '@temporalio/activity';
import type {
  CallInput,
  CallLocation,
  CallOutput,
  CallWork,
  RunWork,
} from '../contract/agents-activities.ts';
import { assertPayloadSize } from './activity-failures.ts';
import { type AgentsActivitiesOptions, loggingAgent } from './logging-agent.ts';
import { runToText, stepTool, type WorkerTool } from './worker-tool.ts';

/**
 * Produces the result of a call. It writes the result to the log as the producer of that call, and
 * returns it to the workflow.
 */
export async function callTool(
  options: AgentsActivitiesOptions,
  given: CallInput,
  signals: HeartbeatSignals,
): Promise<CallOutput> {
  const { name } = given;
  if (given.at === undefined) return runUnlogged(options, name, given.work, signals.signal);
  const { at, work } = given;
  const { epoch, turn, attempt } = at;
  const session = sessionId(at.session);
  const from = (await options.log.info(session))?.through ?? 0;
  const agent = loggingAgent(options, { tools: [toolFor(options, name, work)] });
  const held = { session, epoch, turn, attempt, toolCallId: toolCallId(at.toolCallId) };
  const { outcome } = await callStep(agent, { ...held, ...signals });
  const result = outcome === 'answered' ? await findResult(options, at, from) : undefined;
  if (result === undefined) throw stoppedError(at);
  const { text, isError } = result;
  return assertPayloadSize(`the result of ${name}`, { text, isError });
}

function toolFor(options: AgentsActivitiesOptions, name: string, work: CallWork): Tool {
  if (work.do === 'run') return stepTool(name, toolNamed(options, name), work.input);
  const { output, isError = false } = work;
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  const recorded = { text, isError, ...parsedValue(output) };
  return stepTool(
    name,
    { execute: async () => ({ output: recorded }), afterCrash: 'repeat' },
    null,
  );
}

/**
 * Returns the value of a result. The SDK converts an object to JSON text, and this function converts the text
 * back.
 */
function parsedValue(output: JsonValue): { readonly value?: JsonValue } {
  if (typeof output !== 'string') return { value: output };
  const parsed = /^\s*[[{]/.test(output) ? parseJson(output) : undefined;
  return parsed?.ok ? { value: parsed.value } : {};
}

function toolNamed({ tools = {} }: AgentsActivitiesOptions, name: string): WorkerTool {
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (tool !== undefined) return tool;
  const known = Object.keys(tools).join(', ') || 'none';
  const message = `Cannot run tool ${name}: this worker does not have it. There are: ${known}. Pass it as openaiAgentsPlugin({ tools: { ${name}: … } })`;
  throw ApplicationFailure.nonRetryable(message, 'millrace.unknown_tool');
}

/**
 * Runs a call of an agent that is used as a tool. The log does not contain this call, and an error becomes a
 * result.
 */
async function runUnlogged(
  options: AgentsActivitiesOptions,
  name: string,
  { input }: RunWork,
  signal: AbortSignal,
): Promise<CallOutput> {
  const tool = toolNamed(options, name);
  const isText = (text: string) => ({ text, isError: false });
  const isThrown = (error: unknown) => ({ text: String(error), isError: true });
  const output = await runToText(tool, input, signal).then(isText, isThrown);
  return assertPayloadSize(`the result of ${name}`, output);
}

/**
 * Returns the result as the model receives it. It reads the result from the log, because the log contains a
 * shortened form of a long result.
 */
async function findResult(
  { log }: AgentsActivitiesOptions,
  { session: given, toolCallId: id }: CallLocation,
  from: number,
): Promise<ToolResultPart | undefined> {
  const session = sessionId(given);
  const isIt = (part: Part | undefined): part is ToolResultPart =>
    part?.kind === 'tool_result' && part.toolCallId === id;
  const { records } = await log.read(session, { from });
  const fresh = records.map(({ delta }) =>
    delta?.type === 'commit_part' ? delta.part : undefined,
  );
  const found = fresh.findLast(isIt);
  if (found !== undefined) return found;
  // An earlier attempt produced the result, or the new records do not contain it.
  const items = transcript(await snapshot(log, session));
  return items.flatMap(({ parts }) => parts).findLast(isIt);
}

function stoppedError({ session, toolCallId: id }: CallLocation): ApplicationFailure {
  const message = `Cannot continue call ${id} of session ${session}: it was stopped`;
  return ApplicationFailure.nonRetryable(message, 'millrace.aborted');
}
