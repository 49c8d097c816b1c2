import {
  type Ids,
  itemId,
  type LogRecord,
  type OptionNames,
  randomIds,
  type SessionId,
  sessionId,
} from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type Clock, type Provider, systemClock } from '@millrace/providers';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import {
  assertNestedOptions,
  assertOneOf,
  assertProviders,
  assertVersion,
  providerHint,
} from './check-settings.ts';
import { readCacheOption } from './context/cache-hints.ts';
import type { Agent, AgentRunOptions, ContextOption, ForkedRunOptions } from './contract/agent.ts';
import { AgentError } from './contract/agent-error.ts';
import type { Guardrail } from './contract/guardrail.ts';
import type { Observer } from './contract/observer.ts';
import type { ReplayOptions } from './contract/replay.ts';
import type { Run, RunInput } from './contract/run.ts';
import type {
  ApprovalDecision,
  CacheOption,
  Compaction,
  ContextFilter,
  Instructions,
  Limits,
  PreparedStep,
  RequestOptions,
  RetrySettings,
  Settings,
  StepTools,
  StepToPrepare,
  StopCondition,
} from './contract/settings.ts';
import type { CheckedToolCall, StepInfo, Tool } from './contract/tool.ts';
import type { AllTools, ContextOfTools, DeepPartial, NotInferred } from './contract/typed-tools.ts';
import { readGuardrails } from './guardrails/define-guardrail.ts';
import { toItems } from './input/run-input.ts';
import { assertKnownOptions } from './known-options.ts';
import { registerSettings } from './run/agent-registry.ts';
import { checkLimits, checkPrices } from './run/limits.ts';
import { LiveRun } from './run/live-run.ts';
import { createOutput } from './run/output.ts';
import { askIfProviderAsks } from './tool/mcp-approval.ts';
import { toolsByName } from './tool/tools-by-name.ts';

/** Options of `createAgent`. */
export interface AgentOptions<
  Output extends StandardSchemaV1 = StandardSchemaV1,
  Tools extends Tool = Tool,
  Context = unknown,
  Dynamic extends Tool = Tools,
> {
  /** The main model provider. */
  readonly provider: Provider;
  /** Providers to use if the main provider fails, in this order. Default: none. */
  readonly fallbacks?: readonly Provider[] | undefined;
  /**
   * The tools that the model can call. An entry can be a function that returns tools for each step. Use this
   * for tools that change during a run. Default: none.
   */
  readonly tools?:
    | readonly (
        | Tools
        | StepTools<Dynamic, Context & NotInferred<ContextOfTools<AllTools<Tools, Dynamic>>>>
      )[]
    | undefined;
  /** The system prompt, or a function that returns it for each request. Default: none. */
  readonly instructions?: Instructions<
    Context & NotInferred<ContextOfTools<AllTools<Tools, Dynamic>>>
  >;
  /** The name of the agent. Hand-offs, traces and leases use it. Default: `agent`. */
  readonly name?: string | undefined;
  /** The version of the agent, for example a commit. The log stores it with each request. Default: none. */
  readonly version?: string | undefined;
  /** The log that stores the sessions. Default: `memoryLog()`. */
  readonly log?: Log | undefined;
  /** The observers, which are called after each committed record. Default: none. */
  readonly observers?: readonly Observer[] | undefined;
  /**
   * Decides whether a call may run. Default: every call may run, but the run asks the user if the provider
   * requires an approval.
   */
  readonly approve?:
    | ((
        call: CheckedToolCall<AllTools<Tools, Dynamic>>,
        step: StepInfo<Context & NotInferred<ContextOfTools<AllTools<Tools, Dynamic>>>>,
      ) => ApprovalDecision | Promise<ApprovalDecision>)
    | undefined;
  /**
   * Decides what a run does while a call needs an approval. `wait` keeps the run alive. `park` ends the run
   * until the session is resumed. Default: `wait`.
   */
  readonly whileAsking?: Settings['whileAsking'] | undefined;
  /**
   * Decides what a run does when a tool asks the user with a form. `ask` shows the form to the clients of the
   * session and waits. `decline` gives the tool the answer that the user declined, for runs without a user.
   * Default: `ask`.
   */
  readonly forms?: Settings['forms'] | undefined;
  /** Options that are added to every request, such as the temperature. Default: none. */
  readonly request?: RequestOptions | undefined;
  /**
   * Called before the first attempt of each step. It returns the settings that differ in this step: the
   * provider, the tools, the instructions, the items or the request options. After a crash, the next process
   * calls it again for the interrupted step. Default: each step uses the agent's settings.
   */
  readonly prepareStep?:
    | ((
        step: StepToPrepare<Context & NotInferred<ContextOfTools<AllTools<Tools, Dynamic>>>>,
      ) => PreparedStep | undefined | Promise<PreparedStep | undefined>)
    | undefined;
  /**
   * Whether the caller of a message can add tools that it runs, instructions and request options. The
   * OpenAI-compatible endpoints of the server need `accept` for them. Default: `refuse`.
   */
  readonly callerOptions?: 'accept' | 'refuse' | undefined;
  /**
   * Conditions that end a run before its next request, for example `toolCalled('submit')`. The run ends with
   * the stop reason `limit`, and the condition provides the cause. Default: none.
   */
  readonly stopWhen?: StopCondition | readonly StopCondition[] | undefined;
  /**
   * Checks of the input, the output and the tool calls. They run in the order of this list, and each check
   * gets the content as the earlier checks changed it. They can stop the run, change the content, or ask the
   * user. Default: none.
   */
  readonly guardrails?:
    | readonly Guardrail<Context & NotInferred<ContextOfTools<AllTools<Tools, Dynamic>>>>[]
    | undefined;
  /**
   * The schema for the answers, from any library that implements Standard Schema. The result of a run has the
   * validated `value`. Default: answers are texts.
   */
  readonly output?: Output | undefined;
  /** Shortens the context when it becomes long. Default: off. */
  readonly compaction?: (Pick<Compaction, 'whenTokens'> & Partial<Compaction>) | undefined;
  /** Filters for the items of each request, for example `dropReasoning()`. Default: none. */
  readonly contextFilters?: readonly ContextFilter[] | undefined;
  /**
   * Prompt caching. `auto` marks the instructions, the tools and the conversation in each request, for
   * providers that need marks. `{ ttl: '1h' }` keeps the cache longer, but writing to it costs more. Hints in
   * `request.cache` replace this option. Default: `auto`.
   */
  readonly cache?: CacheOption | undefined;
  /** Limits of each run. Default: see `Limits`. */
  readonly limits?: Partial<Limits> | undefined;
  /** Settings for repeating failed requests. Default: see `RetrySettings`. */
  readonly retry?: Partial<RetrySettings> | undefined;
  /**
   * The rule for an answer that a crash interrupted. `keep` keeps it as a partial answer. `retry` sends the
   * request again. Default: `keep`.
   */
  readonly onInterrupted?: Settings['onInterrupted'] | undefined;
  /** The clock that the agent uses. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** The generator of ids. Default: random ids. */
  readonly ids?: Ids | undefined;
  /** Returns random numbers, which vary the delay of retries. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
  /**
   * Called for problems that do not stop the run, for example if an observer throws. Default: problems are
   * ignored.
   */
  readonly onDiagnostic?: ((problem: string, record?: LogRecord) => void) | undefined;
}

const compaction = { keepSteps: 6 };

const limits: Limits = {
  maxTurns: 100,
  maxTokens: Number.POSITIVE_INFINITY,
  maxCost: undefined,
  allowUnknownPrices: false,
  maxParallelTools: 8,
  maxRepeats: 5,
};

const retry: RetrySettings = {
  maxAttempts: 4,
  baseDelayMs: 1000,
  maxDelayMs: 60_000,
  toolGraceMs: 5000,
};

/**
 * Creates an agent from a provider, tools and settings.
 *
 * @example
 * ```ts
 * const agent = createAgent({ provider: anthropic({ model: 'claude-sonnet-5' }), tools: [now] });
 * const { text } = await agent.run('What time is it?').result;
 * ```
 */
export function createAgent<
  Output extends StandardSchemaV1 = StandardSchemaV1,
  Tools extends Tool = Tool,
  Context = unknown,
  Dynamic extends Tool = never,
>(
  options: AgentOptions<Output, Tools, Context, Dynamic>,
): Agent<
  StandardSchemaV1.InferOutput<Output>,
  AllTools<Tools, Dynamic>,
  DeepPartial<StandardSchemaV1.InferInput<Output>>,
  Context & ContextOfTools<AllTools<Tools, Dynamic>>
> {
  // The compiler has already checked the types of the tools. The loop itself does not use these types.
  const settings = settingsFrom(options as unknown as AgentOptions);
  const { log, ids } = settings;
  const startFork = (
    { into, signal, leave, trace, observers, context }: ForkedOptions,
    input: RunInput | undefined,
    fork: (into: SessionId) => Promise<unknown>,
  ): Run => {
    const session = into === undefined ? ids.session() : sessionId(into);
    return new LiveRun(settings, {
      ...{ session, signal, leave, trace, observers, context },
      input: input === undefined ? undefined : toItems(input, ids),
      joinsOpenRun: true,
      prepare: () => fork(session),
    });
  };
  const agent: Agent = {
    name: settings.name,
    callerOptions: options.callerOptions,
    run: (input, runOptions = {}) => {
      assertKnownOptions('agent.run', runOptions, runOptionNames);
      const { session: given, signal, ...rest } = runOptions;
      const isNew = given === undefined;
      const session = isNew ? ids.session() : sessionId(given);
      return new LiveRun(settings, { ...rest, signal, session, isNew, input: toItems(input, ids) });
    },
    resume: (given, runOptions = {}) => {
      const { session: _session, ...names } = runOptionNames;
      assertKnownOptions('agent.resume', runOptions, names);
      const session = sessionId(given);
      const prepare = async () => {
        const { assertSession } = await decisions();
        await assertSession(log, session, 'resume');
      };
      const { signal } = runOptions;
      return new LiveRun(settings, { ...runOptions, session, input: undefined, signal, prepare });
    },
    approve: async (session, call, decisionOptions = {}) => {
      const { approveCommand, submitDecision } = await decisions();
      const decision = approveCommand(call, decisionOptions);
      await submitDecision(log, session, { decision, tools: settings.tools });
    },
    deny: async (session, call, decisionOptions = {}) => {
      const { denyCommand, submitDecision } = await decisions();
      const decision = denyCommand(call, decisionOptions);
      await submitDecision(log, session, { decision, tools: settings.tools });
    },
    pendingApprovals: async (session) => {
      const { readPendingApprovals } = await decisions();
      return readPendingApprovals(log, session);
    },
    provideToolResult: async (session, call, result) => {
      const { toolOutputCommand } = await decisions();
      const { submitToolResult } = await import('./input/tool-results.ts');
      const command = toolOutputCommand(call, result);
      return submitToolResult(log, session, { command, tools: settings.tools });
    },
    pendingToolCalls: async (session) => {
      const { readPendingToolCalls } = await import('./input/tool-results.ts');
      return readPendingToolCalls(log, session);
    },
    regenerate: (session, runOptions = {}) => {
      assertKnownOptions('agent.regenerate', runOptions, { ...forkOptionNames, item: true });
      const origin = sessionId(session);
      const item = runOptions.item === undefined ? undefined : itemId(runOptions.item);
      return startFork(runOptions, undefined, async (into) => {
        const { forkBefore } = await import('./history/fork-before.ts');
        return forkBefore(log, origin, { into, item, onCopy: runOptions.onCopy });
      });
    },
    edit: (session, item, input, runOptions = {}) => {
      assertKnownOptions('agent.edit', runOptions, forkOptionNames);
      const [origin, replaced] = [sessionId(session), itemId(item)];
      return startFork(runOptions, input, async (into) => {
        const { forkBefore } = await import('./history/fork-before.ts');
        return forkBefore(log, origin, { into, item: replaced, onCopy: runOptions.onCopy });
      });
    },
    replay: async (session, runOptions = {}) => {
      assertKnownOptions<ReplayOptions>('agent.replay', runOptions, { observers: true });
      const id = sessionId(session);
      // The code loads on demand, because few programs replay sessions.
      const { readRecords } = await import('./history/fork-before.ts');
      const { replay } = await import('./replay/replay.ts');
      return replay(settings, id, await readRecords(log, id), runOptions);
    },
  };
  registerSettings(agent, settings);
  return agent as never;
}

/** Loads the code for approvals on demand, because many agents have no approvals. */
const decisions = () => import('./input/submit-command.ts');

type ForkedOptions = ForkedRunOptions & ContextOption<unknown>;

const runOptionNames: OptionNames<AgentRunOptions & ContextOption<unknown>> = {
  session: true,
  signal: true,
  leave: true,
  trace: true,
  observers: true,
  context: true,
  parent: true,
};

const forkOptionNames: OptionNames<ForkedOptions> = {
  into: true,
  signal: true,
  leave: true,
  trace: true,
  observers: true,
  context: true,
  onCopy: true,
};

const optionNames: OptionNames<AgentOptions> = {
  provider: true,
  fallbacks: true,
  tools: true,
  instructions: true,
  name: true,
  version: true,
  log: true,
  observers: true,
  approve: true,
  whileAsking: true,
  forms: true,
  request: true,
  prepareStep: true,
  callerOptions: true,
  stopWhen: true,
  guardrails: true,
  output: true,
  compaction: true,
  contextFilters: true,
  cache: true,
  limits: true,
  retry: true,
  onInterrupted: true,
  clock: true,
  ids: true,
  random: true,
  onDiagnostic: true,
};

/** Throws `bad_option` if an option is unknown or its value is invalid. */
function assertOptions(options: AgentOptions): void {
  const { model, provider } = (options ?? {}) as AgentOptions & { readonly model?: unknown };
  // Hints for users who pass an option name of a different library, or a similar name.
  const hints: Readonly<Record<string, string>> = {
    model: providerHint(model),
    system: 'Use instructions',
    prompt: 'Use instructions for the system prompt, and agent.run(input) for the input',
    messages: 'Pass the messages as items to agent.run(input)',
    temperature: 'Use request: { temperature }',
    maxTurns: 'Use limits: { maxTurns }',
    maxSteps: 'Use limits: { maxTurns }',
    needsApproval: 'Use approve',
    inputGuardrails: 'Use guardrails: [inputGuardrail(…)]',
    outputGuardrails: 'Use guardrails: [outputGuardrail(…)]',
    outputType: 'Use output',
    schema: 'Use output',
  };
  const hintFor = (name: string) => (Object.hasOwn(hints, name) ? hints[name] : undefined);
  assertKnownOptions('createAgent', options, optionNames, hintFor);
  assertNestedOptions(options);
  assertVersion(options.version);
  assertProviders([provider, ...(options.fallbacks ?? [])]);
  assertOneOf('whileAsking', options.whileAsking, ['wait', 'park']);
  assertOneOf('forms', options.forms, ['ask', 'decline']);
  assertOneOf('callerOptions', options.callerOptions, ['accept', 'refuse']);
  assertOneOf('onInterrupted', options.onInterrupted, ['keep', 'retry']);
}

function settingsFrom(options: AgentOptions): Settings {
  assertOptions(options);
  const { provider, fallbacks = [], tools = [], log = memoryLog() } = options;
  const stepTools = tools.flatMap((one) => (typeof one === 'function' ? [one] : []));
  const providers = [provider, ...fallbacks];
  const compacting = options.compaction && { ...compaction, ...options.compaction };
  checkLimits({ ...limits, ...options.limits }, { ...retry, ...options.retry }, compacting);
  checkPrices({ ...limits, ...options.limits }, providers);
  return {
    name: options.name ?? 'agent',
    version: options.version,
    providers,
    tools: toolsByName(tools.flatMap((one) => (typeof one === 'function' ? [] : [one]))),
    stepTools: options.callerOptions === 'accept' ? [...stepTools, callerTools] : stepTools,
    instructions: options.instructions,
    request: options.request ?? {},
    prepareStep: stepPreparer(options),
    stopWhen: stopConditions(options.stopWhen),
    guardrails: readGuardrails(options.guardrails),
    output: createOutput(options.output),
    log,
    observers: options.observers ?? [],
    approve: options.approve ?? askIfProviderAsks,
    whileAsking: options.whileAsking ?? 'wait',
    forms: options.forms ?? 'ask',
    compaction: compacting,
    contextFilters: options.contextFilters ?? [],
    cache: readCacheOption(options.cache),
    limits: { ...limits, ...options.limits },
    retry: { ...retry, ...options.retry },
    onInterrupted: options.onInterrupted ?? 'keep',
    clock: options.clock ?? systemClock,
    ids: options.ids ?? randomIds((bytes) => crypto.getRandomValues(bytes)),
    random: options.random ?? Math.random,
    onDiagnostic: withoutThrowing(options.onDiagnostic),
  };
}

/**
 * Returns a `prepareStep` that also validates the return value. The validation code loads on demand, because
 * few agents have `prepareStep`.
 */
function stepPreparer({
  prepareStep: prepare,
  callerOptions,
}: AgentOptions): Settings['prepareStep'] {
  if (prepare !== undefined && typeof prepare !== 'function') throw notAFunction('prepareStep');
  if (prepare === undefined && callerOptions !== 'accept') return undefined;
  return async (step, settings) => {
    const { resolveStep } = await stepCode();
    return resolveStep(
      await prepare?.(step),
      settings,
      callerOptions === 'accept' ? step : undefined,
    );
  };
}

/** Loads the code for the changes of a step on demand, because few agents have them. */
const stepCode = () => import('./context/prepare-step.ts');

const callerTools: StepTools = async (step) => (await stepCode()).callerTools(step);

function stopConditions(given: AgentOptions['stopWhen'] = []): Settings['stopWhen'] {
  const conditions = typeof given === 'function' ? [given] : given;
  if (!Array.isArray(conditions) || conditions.some((one) => typeof one !== 'function'))
    throw notAFunction('stopWhen');
  return conditions;
}

function notAFunction(option: string): AgentError {
  const message = `Cannot use the option ${option} of createAgent: it is not a function`;
  return new AgentError('bad_option', message, { of: 'createAgent', option });
}

/** Returns a diagnostic callback that never throws. A failing diagnostic must not end the run. */
function withoutThrowing(report: AgentOptions['onDiagnostic']): Settings['onDiagnostic'] {
  return (...problem) => {
    try {
      report?.(...problem);
    } catch {
      // The user's callback threw, so there is no way to report the problem.
    }
  };
}
