import { createHash } from 'node:crypto';
import {
  type ApprovalDecision,
  type CheckedToolCall,
  type Clock,
  type Guardrail,
  inputGuardrail,
  type Observer,
  outputGuardrail,
  submitCommand,
  type Tool,
  type ToolContext,
  type ToolExecution,
  toolGuardrail,
} from '@millrace/agent';
import type { JsonValue, Metadata, TextPart } from '@millrace/core';
import type { Log } from '@millrace/log';
import { type CallPlace, callKey } from '@millrace/tools';
import { type HookEvent, hookEvents } from '../contract/extensions.ts';
import type { HookOutcome, HookRunner } from './hook-runner.ts';
import { fromHookInput, toHookCall } from './tool-names.ts';
import { TranscriptFiles } from './transcript-file.ts';

interface SessionHooksOptions {
  readonly runner: HookRunner;
  readonly log: Log;
  readonly cwd: string;
  readonly clock: Clock;
  /** The prefixes of the tools of MCP servers. */
  readonly servers: readonly string[];
  /** Decides about a call as if the user had allowed its tool for this call. */
  readonly approveFreely: Approve;
  /** True if a user sits in front of the session. */
  readonly isInteractive: boolean;
}

type Approve = (call: CheckedToolCall, at: CallPlace) => Promise<ApprovalDecision>;

/** Maximum number of calls whose hook decisions are kept. */
const maxKeptCalls = 1000;
/** Maximum number of times in a row that hooks can prevent the end of a run. */
const maxContinuations = 8;
const idleNoticeMs = 60_000;
const endTimeoutMs = 5000;

/**
 * Connects hooks to an agent, through the agent's guardrails, its approval policy, its tools and its
 * observers. The agent itself does not change.
 */
export class SessionHooks {
  readonly #options: SessionHooksOptions;
  readonly #runner: HookRunner;
  readonly #transcripts: TranscriptFiles;
  /**
   * The decisions of PreToolUse hooks, by call. The guardrail and the policy both need them. The key
   * contains the session, the turn, the tool and its input, because a sub-agent or a later turn can use the same id
   * again.
   */
  readonly #decided = new Map<string, Promise<HookOutcome>>();
  /** The sessions for which SessionStart hooks have run. */
  readonly #started = new Set<string>();
  /** The texts of PreToolUse hooks for the model, by session and call. The result of the call has them. */
  readonly #contexts = new Map<string, readonly string[]>();
  /** The number of times that hooks have prevented the end of the current run, by session. */
  readonly #continuations = new Map<string, number>();
  /** The session of the main agent. Empty before its first message. */
  #session = '';
  #isCompactionAsked = false;
  #cancelIdle = () => {};

  constructor(options: SessionHooksOptions) {
    this.#options = options;
    this.#runner = options.runner;
    this.#transcripts = new TranscriptFiles(options.log, options.cwd);
  }

  /** The guardrails of the main agent. */
  get guardrails(): readonly Guardrail[] {
    const timeoutMs = this.#runner.timeoutMs('UserPromptSubmit', 'SessionStart');
    const input = inputGuardrail({
      ...{ name: 'hooks-prompt', timeoutMs: 2 * timeoutMs },
      check: async ({ item, text, items }, { session, signal }) => {
        if (item.kind !== 'user' || item.metadata?.['hook'] !== undefined) return 'pass';
        this.#continuations.delete(session);
        const isFirst = items.every(({ kind }) => kind !== 'assistant');
        const started = await this.#startSession(session, isFirst ? 'startup' : 'resume', signal);
        const fields = { prompt: text };
        const outcome = await this.#run('UserPromptSubmit', { session, fields, signal });
        const stop = outcome.blocked ?? outcome.stopped ?? started.stopped;
        if (stop !== undefined) return { verdict: 'stop', reason: stop };
        const context = [...started.context, ...outcome.context];
        if (context.length === 0) return 'pass';
        return { verdict: 'change', to: [...item.parts, contextPart(context)] };
      },
    });
    return [
      ...(this.#runner.has(...hookEvents) ? [input] : []),
      ...this.#callGuardrails(),
      ...this.#stopGuardrails('Stop', {}),
    ];
  }

  /** The guardrails of a sub-agent. `root` is the folder of its tools. Default: the folder of the session. */
  subAgentGuardrails(name: string, root?: string): readonly Guardrail[] {
    return [
      ...this.#callGuardrails(root),
      ...this.#stopGuardrails('SubagentStop', { agent_type: name }),
    ];
  }

  /**
   * Adds the decisions of hooks to an approval policy. Hooks can make it stricter. `freely` decides about calls
   * that a hook allows. `root` is the folder of the tools. Default: the folder of the session.
   */
  approve(
    byPolicy: Approve,
    freely: Approve = this.#options.approveFreely,
    root?: string,
  ): Approve {
    if (!this.#runner.has('PreToolUse')) return byPolicy;
    return async (call, at) => {
      const deciding = this.#beforeCall(call, at, root);
      const [ruling, outcome] = await Promise.all([byPolicy(call, at), deciding]);
      const { decision, ...rest } = typeof ruling === 'string' ? { decision: ruling } : ruling;
      if (decision === 'deny') return ruling;
      if (outcome.blocked !== undefined)
        return { decision: 'deny', reason: `A hook blocked the call: ${outcome.blocked}` };
      const { asked = await this.#unusableChange(call, outcome, root) } = outcome;
      if (asked !== undefined) {
        const { judged } = rest as { readonly judged?: string };
        // Without a rule, an earlier approval for the session does not answer this question.
        return { decision: 'ask', reason: asked, ...(judged !== undefined && { judged }) };
      }
      if (decision === 'ask' && outcome.isAllowed) return freely(call, at);
      return ruling;
    };
  }

  /**
   * Runs PostToolUse hooks after a tool, and adds their texts and those of PreToolUse hooks to the result.
   * `root` is the folder of the tool. Default: the folder of the session.
   */
  wrap(tool: Tool, root?: string): Tool {
    if (!this.#runner.has('PreToolUse', 'PostToolUse')) return tool;
    const after = (input: unknown, context: ToolContext, returned: unknown) =>
      this.#afterCall(tool, root, { input, context, returned });
    const execute = (input: unknown, context: ToolContext): ToolExecution => {
      const execution = tool.execute(input, context);
      if (!(Symbol.asyncIterator in execution))
        return execution.then((returned) => after(input, context, returned));
      return (async function* () {
        return await after(input, context, yield* execution);
      })();
    };
    return { ...tool, execute };
  }

  /** Runs the hooks for notifications and compactions. */
  get observer(): Observer | undefined {
    if (!this.#runner.has('Notification', 'PreCompact')) return undefined;
    const observe: Observer = ({ turn, fact }) => {
      if (fact?.type === 'approval_asked') {
        const { toolName } = toHookCall(fact.name, {}, this.#options);
        const message = `Millrace needs your permission to use ${toolName}`;
        this.#notify('permission_prompt', message);
      }
      if (fact?.type === 'run_started') this.#cancelIdle();
      if (fact?.type === 'run_finished' && this.#options.isInteractive) this.#waitIdle();
      if (fact?.type === 'command_queued' && fact.command['type'] === 'compact')
        this.#isCompactionAsked = true;
      // The model writes a summary into an item of this kind, so the compaction starts here.
      if (fact?.type === 'item_started' && fact.kind === 'context' && turn > 0)
        this.#beforeCompaction();
    };
    return Object.assign(observe, { ignoresDeltas: true });
  }

  async close(): Promise<void> {
    this.#cancelIdle();
    if (this.#runner.has('SessionEnd') && this.#session !== '') {
      const signal = AbortSignal.timeout(endTimeoutMs);
      const fields = { reason: 'other' };
      await this.#run('SessionEnd', { session: this.#session, names: ['other'], fields, signal });
    }
    await this.#runner.close();
    await this.#transcripts.close();
  }

  /** Runs the SessionStart hooks, once for each session. */
  async #startSession(
    session: string,
    source: 'startup' | 'resume',
    signal: AbortSignal,
  ): Promise<HookOutcome> {
    this.#session = session;
    if (this.#started.has(session)) return nothing;
    this.#started.add(session);
    return this.#run('SessionStart', { session, names: [source], fields: { source }, signal });
  }

  #callGuardrails(root?: string): readonly Guardrail[] {
    if (!this.#runner.has('PreToolUse')) return [];
    const timeoutMs = this.#runner.timeoutMs('PreToolUse');
    const guardrail = toolGuardrail({
      ...{ name: 'hooks-call', timeoutMs },
      check: async (call, at) => {
        const { stopped, blocked, updatedInput } = await this.#beforeCall(call, at, root);
        if (stopped !== undefined) return { verdict: 'stop', reason: stopped };
        if (updatedInput === undefined || blocked !== undefined) return 'pass';
        const to = await this.#changedInput(call, updatedInput, root);
        // `approve` asks the user about a change that cannot be used.
        if (to === undefined) return 'pass';
        // The hook wrote this input, so its decision also applies to it.
        this.#keepDecision({ ...call, input: to }, at, this.#beforeCall(call, at, root));
        return { verdict: 'change', to };
      },
    });
    return [guardrail];
  }

  /** Returns the reason to ask if a hook changes the input of a call in a way that cannot be used. */
  async #unusableChange(
    call: CheckedToolCall,
    { updatedInput }: HookOutcome,
    root: string | undefined,
  ): Promise<string | undefined> {
    if (updatedInput === undefined) return undefined;
    const isUsable = (await this.#changedInput(call, updatedInput, root)) !== undefined;
    return isUsable
      ? undefined
      : 'A hook changes the input of this call, and the change cannot be used';
  }

  /** Returns the input that a hook changed. Returns undefined if the change cannot be used. */
  async #changedInput(
    call: CheckedToolCall,
    updated: NonNullable<HookOutcome['updatedInput']>,
    root: string | undefined,
  ): Promise<JsonValue | undefined> {
    const to = fromHookInput(call.name, call.input, updated, { ...this.#options, root });
    const isValid = to !== undefined && (await call.tool.validate(to as JsonValue)).ok;
    return isValid ? (to as JsonValue) : undefined;
  }

  #beforeCall(
    call: CheckedToolCall,
    at: CallPlace,
    root: string | undefined,
  ): Promise<HookOutcome> {
    const id = call.call.toolCallId;
    const { session } = at;
    const known = this.#decided.get(decisionKey(call, at));
    if (known !== undefined) return known;
    const place = { ...this.#options, root };
    const { toolName, names, input, manyName } = toHookCall(call.name, call.input, place);
    const fields = { tool_name: toolName, tool_input: input, tool_use_id: id };
    const deciding = this.#run('PreToolUse', { session, names, fields, manyName }).then(
      (outcome) => {
        const key = contextKey(session, id);
        this.#contexts.delete(key);
        if (outcome.context.length > 0) keep(this.#contexts, key, outcome.context);
        return outcome;
      },
    );
    this.#keepDecision(call, at, deciding);
    return deciding;
  }

  #keepDecision(call: CheckedToolCall, at: CallPlace, decision: Promise<HookOutcome>): void {
    keep(this.#decided, decisionKey(call, at), decision);
  }

  async #afterCall(tool: Tool, root: string | undefined, { input, context, returned }: EndedCall) {
    const { session, toolCallId, signal } = context;
    const output = outputOf(returned);
    const hookCall = toHookCall(tool.name, input, { ...this.#options, root });
    const { toolName, names, input: hookInput, manyName } = hookCall;
    const fields = {
      ...{ tool_name: toolName, tool_input: hookInput, tool_use_id: toolCallId },
      tool_response: responseFor(tool.name, hookInput, output),
    };
    const request = { session, names, fields, signal, manyName };
    const outcome = await this.#run('PostToolUse', request);
    if (outcome.stopped !== undefined)
      await submitCommand(this.#options.log, session, { type: 'abort', reason: outcome.stopped });
    const key = contextKey(session, toolCallId);
    const before = this.#contexts.get(key) ?? [];
    this.#contexts.delete(key);
    const blocked = outcome.blocked === undefined ? [] : [outcome.blocked];
    const said = [...before, ...blocked, ...outcome.context];
    if (said.length === 0) return returned as JsonValue;
    const text = `${output.text}\n\n${hookText(said)}`;
    return { output: { ...output, text } };
  }

  /** Lets a Stop hook send the agent a reason to continue. */
  #stopGuardrails(
    event: 'Stop' | 'SubagentStop',
    more: Readonly<Record<string, unknown>>,
  ): readonly Guardrail[] {
    if (!this.#runner.has(event)) return [];
    const guardrail = outputGuardrail({
      ...{ name: 'hooks-stop', timeoutMs: this.#runner.timeoutMs(event) },
      check: async ({ text, isFinal }, { session, signal }): Promise<'pass'> => {
        if (!isFinal) return 'pass';
        const count = this.#continuations.get(session) ?? 0;
        const transcriptPath = await this.#transcripts.write(session);
        const fields = { stop_hook_active: count > 0, last_assistant_message: text, ...more };
        const request = { session, transcriptPath, fields, signal };
        const { blocked, stopped } = await this.#run(event, request);
        if (blocked === undefined || stopped !== undefined || count >= maxContinuations) {
          this.#continuations.delete(session);
          return 'pass';
        }
        this.#continuations.set(session, count + 1);
        await submitCommand(this.#options.log, session, {
          ...{ type: 'message', when: 'follow_up' },
          input: {
            ...{ kind: 'user', metadata: { hook: event, cwd: this.#options.cwd } },
            parts: [{ kind: 'text', text: hookText([blocked]) }],
          },
        });
        return 'pass';
      },
    });
    return [guardrail];
  }

  #waitIdle(): void {
    this.#cancelIdle();
    this.#cancelIdle = this.#options.clock.after(idleNoticeMs, () =>
      this.#notify('idle_prompt', 'Millrace is waiting for your input'),
    );
  }

  #notify(type: string, message: string): void {
    const fields = { message, notification_type: type };
    void this.#run('Notification', { session: this.#session, names: [type], fields });
  }

  #beforeCompaction(): void {
    const session = this.#session;
    const trigger = this.#isCompactionAsked ? 'manual' : 'auto';
    this.#isCompactionAsked = false;
    const fields = { trigger, custom_instructions: '' };
    void this.#transcripts
      .write(session)
      .then((transcriptPath) =>
        this.#run('PreCompact', { session, names: [trigger], fields, transcriptPath }),
      );
  }

  async #run(event: HookEvent, request: Parameters<HookRunner['run']>[1]): Promise<HookOutcome> {
    if (!this.#runner.has(event)) return nothing;
    const { transcriptPath = await this.#transcripts.path(request.session) } = request;
    return this.#runner.run(event, { ...request, transcriptPath });
  }
}

/** A call of a tool that has returned. */
interface EndedCall {
  readonly input: unknown;
  readonly context: ToolContext;
  readonly returned: unknown;
}

const nothing: HookOutcome = { isAllowed: false, context: [] };

function decisionKey(checked: CheckedToolCall, at: CallPlace): string {
  const { name, input } = checked;
  const text = JSON.stringify([callKey(checked, at), name, input]);
  return createHash('sha256').update(text).digest('base64');
}

function contextKey(session: string, toolCallId: string): string {
  return JSON.stringify([session, toolCallId]);
}

/** Adds a value to a map that keeps the newest values. */
function keep<Value>(kept: Map<string, Value>, key: string, value: Value): void {
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > maxKeptCalls && oldest !== undefined) kept.delete(oldest);
}

function contextPart(context: readonly string[]): TextPart {
  return { kind: 'text', text: hookText(context) };
}

/** Marks texts of hooks, so that the model can tell them from the user's words. */
function hookText(texts: readonly string[]): string {
  return `<hook>\n${texts.join('\n\n')}\n</hook>`;
}

interface Output {
  readonly text: string;
  readonly isError?: boolean | undefined;
  readonly metadata?: Metadata | undefined;
}

/** Returns the output of a tool in its full form, as the agent does. */
export function outputOf(returned: unknown): Output {
  if (returned === undefined) return { text: 'Done.' };
  if (typeof returned === 'string') return { text: returned };
  const { output } = (returned ?? {}) as { readonly output?: Output };
  if (typeof output === 'object' && typeof output?.text === 'string') return output;
  return { text: JSON.stringify(returned) ?? 'Done.' };
}

/** Returns the result of a tool in the form that hooks expect. */
function responseFor(
  name: string,
  { file_path: filePath }: Readonly<Record<string, unknown>>,
  { text, isError = false }: Output,
): unknown {
  switch (name) {
    case 'bash':
      return { stdout: text, stderr: '', interrupted: false, isImage: false };
    case 'write':
    case 'edit':
    case 'read':
      return { filePath, success: !isError, content: text };
    default:
      return text;
  }
}
