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
import type { LivingSignals } from '@millrace/temporal/activities';
import { ApplicationFailure } from '@temporalio/activity';
import type {
  CallInput,
  CallOutput,
  CallPlace,
  CallWork,
  RunWork,
} from '../contract/agents-activities.ts';
import { smallEnough } from './activity-failures.ts';
import { type AgentsActivitiesOptions, bookkeeperOf } from './logging-agent.ts';
import { runPlainly, stepTool, type WorkerTool } from './worker-tool.ts';

/** Gives a call its result: on the log, as the producer of that call, and to the workflow. */
export async function call(
  options: AgentsActivitiesOptions,
  given: CallInput,
  signals: LivingSignals,
): Promise<CallOutput> {
  const { name } = given;
  if (given.at === undefined) return untold(options, name, given.work, signals.signal);
  const { at, work } = given;
  const { epoch, turn, attempt } = at;
  const session = sessionId(at.session);
  const from = (await options.log.info(session))?.through ?? 0;
  const agent = bookkeeperOf(options, { tools: [toolFor(options, name, work)] });
  const held = { session, epoch, turn, attempt, toolCallId: toolCallId(at.toolCallId) };
  const { outcome } = await callStep(agent, { ...held, ...signals });
  const result = outcome === 'answered' ? await resultOn(options, at, from) : undefined;
  if (result === undefined) throw left(at);
  const { text, isError } = result;
  return smallEnough(`what ${name} returned`, { text, isError });
}

function toolFor(options: AgentsActivitiesOptions, name: string, work: CallWork): Tool {
  if (work.do === 'run') return stepTool(name, toolNamed(options, name), work.input);
  const { output, isError = false } = work;
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  const told = { text, isError, ...valueIn(output) };
  return stepTool(name, { execute: async () => ({ output: told }), replay: 'safe' }, null);
}

/** What a tool gave as an object, the SDK has as its JSON: it is an object again. */
function valueIn(output: JsonValue): { readonly value?: JsonValue } {
  if (typeof output !== 'string') return { value: output };
  const parsed = /^\s*[[{]/.test(output) ? parseJson(output) : undefined;
  return parsed?.ok ? { value: parsed.value } : {};
}

function toolNamed({ tools = {} }: AgentsActivitiesOptions, name: string): WorkerTool {
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (tool !== undefined) return tool;
  const known = Object.keys(tools).join(', ') || 'none';
  const message = `Cannot run tool ${name}: this worker does not have it. There are: ${known}. Give it as openaiAgentsPlugin({ tools: { ${name}: … } })`;
  throw ApplicationFailure.nonRetryable(message, 'millrace.unknown_tool');
}

/** The call of an agent that is a tool: what it does meanwhile is not told. A throw is a result too. */
async function untold(
  options: AgentsActivitiesOptions,
  name: string,
  { input }: RunWork,
  signal: AbortSignal,
): Promise<CallOutput> {
  const tool = toolNamed(options, name);
  const isText = (text: string) => ({ text, isError: false });
  const isThrown = (error: unknown) => ({ text: String(error), isError: true });
  const output = await runPlainly(tool, input, signal).then(isText, isThrown);
  return smallEnough(`what ${name} returned`, output);
}

/** As the model gets it: what was too long is clipped there. */
async function resultOn(
  { log }: AgentsActivitiesOptions,
  { session: given, toolCallId: id }: CallPlace,
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
  // An earlier try gave it, or others wrote much meanwhile.
  const items = transcript(await snapshot(log, session));
  return items.flatMap(({ parts }) => parts).findLast(isIt);
}

function left({ session, toolCallId: id }: CallPlace): ApplicationFailure {
  const message = `Cannot go on with call ${id} of session ${session}: it was stopped`;
  return ApplicationFailure.nonRetryable(message, 'millrace.aborted');
}
