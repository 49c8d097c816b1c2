import type { CheckedToolCall, Tool } from '@millrace/agent';
import {
  type JsonValue,
  parseJson,
  sessionId,
  type ToolCallPart,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import { type CallPlace, judgedPath } from '@millrace/tools';
import type { BuildOptions, RunUnasked } from '../contract/agent.ts';
import type { SessionHooks } from '../extensions/session-hooks.ts';
import type { SessionPolicy } from './session-policy.ts';
import { runTool } from './user-command.ts';

/**
 * Returns true if the current rules allow a call that waits for an answer. Returns false for a call with invalid
 * input. The agent reports that error to the model.
 */
export async function rulesAllow(
  approve: SessionPolicy['approve'],
  call: ToolCallPart,
  judged: string | undefined,
  tools: readonly Tool[],
): Promise<boolean> {
  const ruling = await rulingFor(approve, call, tools);
  return ruling?.decision === 'allow' && (judged === undefined || ruling.judged === judged);
}

type Ruling = Exclude<Awaited<ReturnType<SessionPolicy['approve']>>, string>;

/** Returns the decision of the current rules about a call. Returns undefined for a call with invalid input. */
export async function rulingFor(
  approve: SessionPolicy['approve'],
  call: ToolCallPart,
  tools: readonly Tool[],
): Promise<Ruling | undefined> {
  const checked = await checkedCall(call, tools);
  if (checked === undefined) return undefined;
  // No call runs as a result of this decision, so the session and turn can be placeholders.
  return decide(approve, checked, { session: sessionId('none'), turn: 0 });
}

interface UnaskedCallsOptions extends Pick<BuildOptions, 'log' | 'signal'> {
  readonly approve: SessionPolicy['approve'];
  /** See `SessionPolicy.approveNamed`. Default: `approve`. */
  readonly approveNamed?: SessionPolicy['approve'] | undefined;
  readonly tools: readonly Tool[];
  /** Undefined if there are no hooks. */
  readonly hooks: SessionHooks | undefined;
}

/** The time limit of a call that a message of the user starts. */
const unaskedMs = 15_000;

/**
 * Returns a function that runs a call for a message of the user, if the current rules allow the call. A project
 * can choose the call, because a message can name a custom command. The steps are therefore those of a call of
 * the agent: the hooks check the input, the rules decide, and the tool runs with this decision.
 */
export function unaskedCalls(options: UnaskedCallsOptions): RunUnasked {
  const { approve, approveNamed = approve, tools, hooks, log, signal } = options;
  return async (name, input, { signal: stopped, onStart, attach } = {}) => {
    // Decisions are stored by place. With the same id, a call could get the decision about an earlier call.
    const at = { session: sessionId('user'), turn: 0 };
    const call = toolCallPart(toolCallId(crypto.randomUUID()), name, input);
    try {
      const given = await checkedCall(call, tools);
      const checked = given && (await inputOfHooks(given, at, hooks));
      if (checked === undefined) return undefined;
      const ruling = await decide(attach === undefined ? approve : approveNamed, checked, at);
      if (ruling.decision !== 'allow') return undefined;
      const own =
        attach === undefined ? checked.tool : toolFor(checked.tool, attach, ruling.judged);
      const tool = hooks?.wrap(own, { isUnasked: true }) ?? own;
      const signals = [AbortSignal.timeout(unaskedMs), signal, stopped];
      const stop = AbortSignal.any(signals.filter((one) => one !== undefined));
      if (stop.aborted) return undefined;
      onStart?.();
      const place = { ...at, toolCallId: call.toolCallId, judged: ruling.judged };
      const text = await runTool(tool, checked.input, { log, signal: stop, place });
      return stopped?.aborted === true ? undefined : text;
    } catch {
      return undefined;
    }
  };
}

/** Returns a tool that attaches the file about which the rules decided. */
function toolFor(
  tool: Tool,
  attach: (path: string) => Promise<string>,
  judged: string | undefined,
): Tool {
  const path = judged === undefined ? '' : judgedPath(judged);
  if (path === '') throw new Error('The real path of the file is unknown');
  return { ...tool, execute: () => attach(path) };
}

/** The time limit of all calls that one message starts, such as the shell blocks of a command. */
const maxCallsMs = 60_000;

/** Returns a function that runs calls for one message, until the signal aborts or the calls took too long. */
export function callsOfMessage(run: RunUnasked, signal?: AbortSignal): RunUnasked {
  const limit = AbortSignal.timeout(maxCallsMs);
  const stop = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  return async (name, input, options) =>
    stop.aborted ? undefined : run(name, input, { ...options, signal: stop });
}

/** Returns the call with its valid input. Returns undefined if there is no such tool, or for invalid input. */
async function checkedCall(
  call: ToolCallPart,
  tools: readonly Tool[],
): Promise<CheckedToolCall | undefined> {
  const { name } = call;
  const tool = tools.find((one) => one.name === name);
  const input = parseJson(call.arguments);
  return tool !== undefined && input.ok
    ? withInput({ name, call, tool, summary: name }, input.value)
    : undefined;
}

async function withInput(
  call: Omit<CheckedToolCall, 'input'>,
  input: JsonValue,
): Promise<CheckedToolCall | undefined> {
  const validated = await call.tool.validate(input);
  return validated.ok ? { ...call, input: validated.value } : undefined;
}

/** Returns the call with the input that the hooks give it. Returns undefined if a hook ends the run. */
async function inputOfHooks(
  call: CheckedToolCall,
  at: CallPlace,
  hooks: SessionHooks | undefined,
): Promise<CheckedToolCall | undefined> {
  const verdict = (await hooks?.checkUnasked(call, at)) ?? 'pass';
  if (verdict === 'pass') return call;
  return verdict.verdict === 'stop' ? undefined : withInput(call, verdict.to);
}

async function decide(
  approve: SessionPolicy['approve'],
  call: CheckedToolCall,
  at: CallPlace,
): Promise<Ruling> {
  const ruling = await approve(call, at);
  return typeof ruling === 'string' ? { decision: ruling } : ruling;
}
