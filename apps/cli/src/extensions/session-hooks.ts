import { isDeepStrictEqual } from 'node:util';
import {
  type ApprovalDecision,
  type ChangeVerdict,
  type CheckedToolCall,
  type Clock,
  type Guardrail,
  inputGuardrail,
  type Observer,
  outputGuardrail,
  type PassVerdict,
  type StopVerdict,
  submitCommand,
  type Tool,
  type ToolContext,
  type ToolExecution,
  toolGuardrail,
} from '@millrace/agent';
import type { JsonValue } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { CallPlace } from '@millrace/tools';
import { type HookEvent, hookEvents } from '../contract/extensions.ts';
import { type HookOutcome, type HookRunner, mergeChange, nothing } from './hook-runner.ts';
import {
  type CallOutcome,
  type CheckedPlace,
  onSameFile,
  otherInput,
} from './hooks/call-outcome.ts';
import {
  contextKey,
  contextPart,
  decisionKey,
  hookText,
  keep,
  keepTexts,
} from './hooks/kept-calls.ts';
import { fromHookInput, outputOf, responseFor, toHookCall } from './tool-names.ts';
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

type CallVerdict = PassVerdict | StopVerdict | ChangeVerdict<JsonValue>;
type Approve = (call: CheckedToolCall, at: CallPlace) => Promise<ApprovalDecision>;

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
  readonly #decided = new Map<string, Promise<CallOutcome>>();
  /** The sessions for which SessionStart hooks have run. */
  readonly #started = new Set<string>();
  /** The texts of PreToolUse hooks for the model, by session and call. The result of the call has them. */
  readonly #contexts = new Map<string, readonly string[]>();
  /** The number of times that hooks have prevented the end of the current run, by session. */
  readonly #continuations = new Map<string, number>();
  /** The session of the main agent. Empty before its first message. */
  #session = '';
  #isCompactionAsked = false;
  /** The sessions that were compacted since their last message. */
  readonly #compacted = new Set<string>();
  /** The answers of PermissionRequest hooks, by call. The policy can ask again about the same call. */
  readonly #answered = new Map<string, Promise<HookOutcome>>();
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
      ...this.#stopGuardrails('Stop'),
    ];
  }

  /** The guardrails of a sub-agent. `root` is the folder of its tools. Default: the folder of the session. */
  subAgentGuardrails(name: string, root?: string): readonly Guardrail[] {
    return [
      ...this.#startGuardrails(name),
      ...this.#callGuardrails(root),
      ...this.#stopGuardrails('SubagentStop', name),
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
    if (!this.#runner.has('PreToolUse', 'PermissionRequest')) return byPolicy;
    return async (call, at) => {
      const deciding = this.#beforeCall(call, at, root);
      const judge = (decide: Approve) => onSameFile(decide(call, at), deciding);
      const [ruling, outcome] = await Promise.all([judge(byPolicy), deciding]);
      const { decision, ...rest } = typeof ruling === 'string' ? { decision: ruling } : ruling;
      if (decision === 'deny') return ruling;
      if (outcome.blocked !== undefined)
        return { decision: 'deny', reason: `A hook blocked the call: ${outcome.blocked}` };
      const { judged } = rest as { readonly judged?: string };
      // Without a rule, an earlier approval for the session does not answer this question.
      const ask = (reason: string) =>
        ({ decision: 'ask', reason, ...(judged !== undefined && { judged }) }) as const;
      const { asked = await this.#unusableChange(call, outcome, root) } = outcome;
      if (asked !== undefined) return ask(asked);
      if (decision !== 'ask') return ruling;
      if (outcome.isAllowed) return judge(freely);
      const answer = await this.#answerFor(call, at, root);
      const { updatedInput: to, stopped, blocked = stopped } = answer;
      // A call that no agent runs has no session. It is only denied.
      if (stopped !== undefined) await this.#abort(at.session, stopped).catch(() => {});
      if (blocked !== undefined)
        return { decision: 'deny', reason: `A hook denied the call: ${blocked}` };
      if (!answer.isAllowed) return ruling;
      const input = to === undefined ? call.input : await this.#changedInput(call, to, root);
      return isDeepStrictEqual(input, call.input) ? judge(freely) : ask(otherInput);
    };
  }

  /** Checks a call that no agent runs, as the guardrail checks other calls. Call it before `approve`. */
  checkUnasked(call: CheckedToolCall, at: CallPlace): Promise<CallVerdict> {
    return this.#checkCall(call, at, undefined);
  }

  /** Runs PostToolUse hooks after a tool, and adds their texts and those of PreToolUse hooks to the result. */
  wrap(tool: Tool, options: WrapOptions = {}): Tool {
    if (!this.#runner.has('PreToolUse', 'PostToolUse', 'PostToolUseFailure')) return tool;
    const execute = (input: unknown, context: ToolContext): ToolExecution => {
      const execution = tool.execute(input, context);
      const call = { ...options, tool, input, context };
      const after = (returned: unknown) => this.#afterCall(call, returned);
      const failed = (error: unknown) => this.#afterFailure(call, error);
      if (!(Symbol.asyncIterator in execution)) return execution.then(after, failed);
      return (async function* () {
        let returned: unknown;
        try {
          returned = yield* execution;
        } catch (error) {
          return await failed(error);
        }
        return await after(returned);
      })();
    };
    return { ...tool, execute };
  }

  /** Runs the hooks for notifications and compactions. */
  get observer(): Observer | undefined {
    if (!this.#runner.has('Notification', 'PreCompact', 'SessionStart')) return undefined;
    const observe: Observer = ({ turn, fact }) => {
      if (fact?.type === 'approval_asked') {
        const { toolName } = toHookCall(fact.name, {}, this.#options);
        const message = `Millrace needs your permission to use ${toolName}`;
        this.#notify('permission_prompt', message);
      }
      if (fact?.type === 'run_started') this.#cancelIdle();
      if (fact?.type === 'run_finished' && this.#options.isInteractive) this.#waitIdle();
      // `/compact` can be older than the run. The model writes a summary into an item of this kind directly after it.
      if (fact?.type === 'command_consumed') this.#isCompactionAsked = true;
      if (fact?.type !== 'item_started') return;
      if (fact.kind === 'context' && turn > 0) this.#beforeCompaction();
      this.#isCompactionAsked = false;
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

  /** Runs the SessionStart hooks, once for each session, and with the first message after a compaction. */
  async #startSession(
    session: string,
    source: 'startup' | 'resume',
    signal: AbortSignal,
  ): Promise<HookOutcome> {
    this.#session = session;
    const isCompacted = this.#compacted.delete(session);
    if (this.#started.has(session) && !isCompacted) return nothing;
    const now = this.#started.has(session) ? 'compact' : source;
    this.#started.add(session);
    return this.#run('SessionStart', { session, names: [now], fields: { source: now }, signal });
  }

  #callGuardrails(root?: string): readonly Guardrail[] {
    if (!this.#runner.has('PreToolUse')) return [];
    const timeoutMs = 2 * this.#runner.timeoutMs('PreToolUse');
    const guardrail = toolGuardrail({
      ...{ name: 'hooks-call', timeoutMs },
      check: (call, at) => this.#checkCall(call, at, root),
    });
    return [guardrail];
  }

  async #checkCall(
    call: CheckedToolCall,
    at: CallPlace,
    root: string | undefined,
  ): Promise<CallVerdict> {
    const first = await this.#beforeCall(call, at, root);
    const { stopped, blocked, updatedInput } = first;
    if (stopped !== undefined) return { verdict: 'stop', reason: stopped };
    if (updatedInput === undefined || blocked !== undefined) return 'pass';
    const to = await this.#changedInput(call, updatedInput, root);
    // `approve` asks the user about a change that cannot be used.
    if (to === undefined) return 'pass';
    const changed = { ...call, input: to };
    const decided = await this.#decideChange(changed, at, root, first);
    if (decided.stopped !== undefined) return { verdict: 'stop', reason: decided.stopped };
    this.#keepDecision(changed, at, Promise.resolve(decided));
    return { verdict: 'change', to };
  }

  /**
   * Runs the other hooks with an input that a hook has changed, because a hook of a project could avoid the guards of
   * the user. The hook wrote this input, so its decision also applies to it.
   */
  async #decideChange(
    call: CheckedToolCall,
    at: CallPlace,
    root: string | undefined,
    first: HookOutcome,
  ): Promise<CallOutcome> {
    const again = await this.#runBefore(call, { at, root, except: first.changedBy });
    const merged = mergeChange(first, again);
    keepTexts(this.#contexts, contextKey(at.session, call.call.toolCallId), merged.context);
    return { ...merged, real: again.real };
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
  ): Promise<CallOutcome> {
    const known = this.#decided.get(decisionKey(call, at));
    if (known !== undefined) return known;
    const deciding = this.#runBefore(call, { at, root }).then((outcome) => {
      keepTexts(this.#contexts, contextKey(at.session, call.call.toolCallId), outcome.context);
      return outcome;
    });
    this.#keepDecision(call, at, deciding);
    return deciding;
  }

  async #runBefore(
    call: CheckedToolCall,
    { at, root, except }: CheckedPlace,
  ): Promise<CallOutcome> {
    const place = { ...this.#options, root };
    const hookCall = toHookCall(call.name, call.input, place);
    const { toolName, names, input, paths, manyName, real } = hookCall;
    const fields = { tool_name: toolName, tool_input: input, tool_use_id: call.call.toolCallId };
    const request = { session: at.session, names, paths, fields, manyName, except };
    return { ...(await this.#run('PreToolUse', request)), real };
  }

  /** Runs the PermissionRequest hooks, before the user is asked about a call. */
  #answerFor(call: CheckedToolCall, at: CallPlace, root: string | undefined): Promise<HookOutcome> {
    const key = decisionKey(call, at);
    const known = this.#answered.get(key);
    if (known !== undefined) return known;
    const hookCall = toHookCall(call.name, call.input, { ...this.#options, root });
    const { toolName, names, input, paths } = hookCall;
    const fields = { tool_name: toolName, tool_input: input };
    const request = { session: at.session, names, paths, fields };
    const answering = this.#run('PermissionRequest', request);
    keep(this.#answered, key, answering);
    return answering;
  }

  #keepDecision(call: CheckedToolCall, at: CallPlace, decision: Promise<CallOutcome>): void {
    keep(this.#decided, decisionKey(call, at), decision);
  }

  async #afterCall(call: EndedCall, returned: unknown) {
    const output = outputOf(returned);
    const said = output.isError
      ? await this.#runAfter('PostToolUseFailure', call, () => ({ error: output.text }))
      : await this.#runAfter('PostToolUse', call, (input) => ({
          tool_response: responseFor(call.tool.name, input, output),
        }));
    if (said.length === 0) return returned as JsonValue;
    return { output: { ...output, text: `${output.text}\n\n${hookText(said)}` } };
  }

  /** Adds the texts of hooks to the error of a tool. Throws the error if there are none. */
  async #afterFailure(call: EndedCall, error: unknown) {
    if (call.context.signal.aborted) throw error;
    const message = error instanceof Error ? error.message : String(error);
    const said = await this.#runAfter('PostToolUseFailure', call, () => ({ error: message }));
    if (said.length === 0 || call.isUnasked) throw error;
    return { output: { text: `${message}\n\n${hookText(said)}`, isError: true } };
  }

  /** Runs the hooks after a call, and returns their texts and those of PreToolUse hooks for the model. */
  async #runAfter(
    event: 'PostToolUse' | 'PostToolUseFailure',
    { tool, root, isUnasked, input, context }: EndedCall,
    fieldsFor: (input: Readonly<Record<string, unknown>>) => object,
  ): Promise<readonly string[]> {
    const { session, toolCallId, signal } = context;
    const hookCall = toHookCall(tool.name, input, { ...this.#options, root });
    const { toolName, names, input: hookInput, paths, manyName } = hookCall;
    const fields = {
      ...{ tool_name: toolName, tool_input: hookInput, tool_use_id: toolCallId },
      ...fieldsFor(hookInput),
    };
    const request = { session, names, paths, fields, signal, manyName };
    const outcome = await this.#run(event, request);
    const { stopped } = outcome;
    if (stopped !== undefined && isUnasked) throw new Error(stopped);
    if (stopped !== undefined) await this.#abort(session, stopped);
    const key = contextKey(session, toolCallId);
    const before = this.#contexts.get(key) ?? [];
    this.#contexts.delete(key);
    const blocked = outcome.blocked === undefined ? [] : [outcome.blocked];
    return [...before, ...blocked, ...outcome.context];
  }

  /** Adds the context of SubagentStart hooks to the task of a sub-agent. */
  #startGuardrails(agent: string): readonly Guardrail[] {
    if (!this.#runner.has('SubagentStart')) return [];
    const guardrail = inputGuardrail({
      ...{ name: 'hooks-subagent', timeoutMs: this.#runner.timeoutMs('SubagentStart') },
      check: async ({ item, items }, { session, signal }) => {
        const isFirst = items.every(({ kind }) => kind !== 'assistant');
        if (item.kind !== 'user' || !isFirst) return 'pass';
        const fields = { agent_id: session, agent_type: agent };
        const request = { session, names: [agent], fields, signal };
        const { context } = await this.#run('SubagentStart', request);
        if (context.length === 0) return 'pass';
        return { verdict: 'change', to: [...item.parts, contextPart(context)] };
      },
    });
    return [guardrail];
  }

  /** Lets a Stop hook send the agent a reason to continue. */
  #stopGuardrails(event: 'Stop' | 'SubagentStop', agent?: string): readonly Guardrail[] {
    if (!this.#runner.has(event)) return [];
    const guardrail = outputGuardrail({
      ...{ name: 'hooks-stop', timeoutMs: this.#runner.timeoutMs(event) },
      check: async ({ text, isFinal }, { session, signal }): Promise<'pass'> => {
        if (!isFinal) return 'pass';
        const count = this.#continuations.get(session) ?? 0;
        const transcriptPath = await this.#transcripts.write(session);
        const ofAgent = agent === undefined ? {} : { agent_id: session, agent_type: agent };
        const fields = { stop_hook_active: count > 0, last_assistant_message: text, ...ofAgent };
        const names = agent === undefined ? [] : [agent];
        const request = { session, names, transcriptPath, fields, signal };
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
    this.#compacted.add(session);
    const trigger = this.#isCompactionAsked ? 'manual' : 'auto';
    this.#isCompactionAsked = false;
    if (!this.#runner.has('PreCompact')) return;
    const fields = { trigger, custom_instructions: '' };
    void this.#transcripts
      .write(session)
      .then((transcriptPath) =>
        this.#run('PreCompact', { session, names: [trigger], fields, transcriptPath }),
      );
  }

  async #abort(session: string, reason: string): Promise<void> {
    await submitCommand(this.#options.log, session, { type: 'abort', reason });
  }

  async #run(event: HookEvent, request: Parameters<HookRunner['run']>[1]): Promise<HookOutcome> {
    if (!this.#runner.has(event)) return nothing;
    const { transcriptPath = await this.#transcripts.path(request.session) } = request;
    return this.#runner.run(event, { ...request, transcriptPath });
  }
}

interface WrapOptions {
  /** The folder of the tool. Default: the folder of the session. */
  readonly root?: string | undefined;
  /** True if no agent runs the call. It then fails if a hook ends the run. Default: false. */
  readonly isUnasked?: boolean;
}

/** A call of a tool that has ended. */
interface EndedCall extends WrapOptions {
  readonly tool: Tool;
  readonly input: unknown;
  readonly context: ToolContext;
}
