import { delimiter, dirname, isAbsolute } from 'node:path';
import type { Clock } from '@millrace/agent';
import type { PreparedCommand, SandboxRequest } from '@millrace/tools';
import { isInside } from '../config/config-paths.ts';
import type { Extensions, Hook, HookEvent } from '../contract/extensions.ts';
import { pluginDataFolder } from '../plugins/plugin-layout.ts';
import { type HookResult, runHookProcess } from './hook-process.ts';
import { matcherAccepts, objectOf, parseObject } from './hook-settings.ts';
import { conditionAccepts } from './hooks/hook-condition.ts';

/** The merged decisions of all hooks of an event. */
export interface HookOutcome {
  /** The reason why the action must not happen. */
  readonly blocked?: string | undefined;
  /** The reason why the user must be asked. */
  readonly asked?: string | undefined;
  /** True if a hook of the user allows the call, and no other hook objects. */
  readonly isAllowed: boolean;
  /** The reason why the run must end (`continue: false`). */
  readonly stopped?: string | undefined;
  /** The input of the tool call, as the last hook changed it. */
  readonly updatedInput?: Readonly<Record<string, unknown>> | undefined;
  /** The identity of the hook that changed the input. Pass it as `except` to run the other hooks again. */
  readonly changedBy?: string | undefined;
  /** Texts for the model. */
  readonly context: readonly string[];
}

/** The outcome if no hook runs. */
export const nothing: HookOutcome = { isAllowed: false, context: [] };

interface HookRunnerOptions {
  readonly extensions: Pick<Extensions, 'hooks' | 'areHooksUnchanged'>;
  readonly cwd: string;
  /** The environment of the user's hooks. It contains the variables of `commands.env`. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * The environment of the project's hooks. It has no variables of `commands.env`, because the agent can change
   * what such a hook runs, and the model gets the output.
   */
  readonly projectEnv: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Returns the name of the current mode. */
  readonly permissionMode: () => string;
  /** Prepares the sandbox for a hook of the project. Default: it runs without a sandbox. */
  readonly confine?:
    | ((request: Pick<SandboxRequest, 'command' | 'env' | 'show'>) => Promise<PreparedCommand>)
    | undefined;
  /** Shows a sentence to the user. */
  readonly notify: (text: string) => void;
}

export interface HookRequest {
  /** The session id. Empty if there is no session. */
  readonly session: string;
  /** The names that a matcher is compared with. */
  readonly names?: readonly string[] | undefined;
  /** The absolute paths that conditions are compared with. Default: none. */
  readonly paths?: readonly string[] | undefined;
  /** The name of the tool for hooks whose matcher contains it, because the call has several edits. */
  readonly manyName?: string | undefined;
  /** The fields of the event. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly transcriptPath?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The identity of a hook that does not run. Default: none. */
  readonly except?: string | undefined;
}

/** Maximum length of a text that a hook adds to the context of the model. */
const maxContextLength = 10_000;
const maxNoticeLength = 500;
/** The events whose plain output is context for the model. */
const contextEvents: ReadonlySet<HookEvent> = new Set([
  'UserPromptSubmit',
  'SessionStart',
  'SubagentStart',
]);

/**
 * Variables for hooks of the user, which also start in folders that the user does not trust. Python does
 * not import modules of the folder, and git starts no monitor and uses no repository without `.git`.
 */
const untrustedFolderEnv = {
  ...{ PYTHONSAFEPATH: '1', GIT_CONFIG_COUNT: '2' },
  ...{ GIT_CONFIG_KEY_0: 'core.fsmonitor', GIT_CONFIG_VALUE_0: 'false' },
  ...{ GIT_CONFIG_KEY_1: 'safe.bareRepository', GIT_CONFIG_VALUE_1: 'explicit' },
};

/** Variables for hooks of a project. Python writes no cache, because new files beside a script end the trust. */
const projectHookEnv = { PYTHONDONTWRITEBYTECODE: '1' };

/**
 * Returns the folders of the scripts that the command of a hook names, outside of the project. With
 * `PYTHONSAFEPATH`, Python does not look into the folder of a script for the modules that it imports.
 */
function pythonPath(
  { command, pluginFolder, projectFolder }: Hook,
  { cwd, home = '' }: { readonly cwd: string; readonly home?: string | undefined },
): Readonly<Record<string, string>> {
  if (!command.includes('.py')) return {};
  const named = command
    .replaceAll(/\$\{?(?:CLAUDE_PLUGIN_ROOT|MILLRACE_PLUGIN_DIR)\b\}?/g, () => pluginFolder ?? '')
    .replaceAll(/\$\{?HOME\b\}?|(?<![^\s"'])~(?=\/)/g, () => home)
    .replaceAll(/["']/g, '')
    .split(/[\s;|&()<>]+/);
  const folders = named
    .filter((word) => isAbsolute(word) && word.endsWith('.py'))
    .map((word) => dirname(word))
    .filter((folder) => !isInside(folder, cwd) && !isInside(folder, projectFolder));
  return folders.length === 0 ? {} : { PYTHONPATH: [...new Set(folders)].join(delimiter) };
}

/** Variables for hooks of a plugin. Python writes no cache, because new files end the trust in the plugin. */
function pluginEnv(folder: string): Readonly<Record<string, string>> {
  const python = { PYTHONDONTWRITEBYTECODE: '1' };
  const data = pluginDataFolder(folder);
  return {
    ...{ CLAUDE_PLUGIN_ROOT: folder, MILLRACE_PLUGIN_DIR: folder },
    ...{ CLAUDE_PLUGIN_DATA: data, MILLRACE_PLUGIN_DATA: data, ...python },
  };
}

/** Runs the hooks of the session. A hook that fails never breaks a run. */
export class HookRunner {
  readonly #options: HookRunnerOptions;
  readonly #noted = new Set<string>();
  readonly #background = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();

  constructor(options: HookRunnerOptions) {
    this.#options = options;
  }

  has(...events: readonly HookEvent[]): boolean {
    return this.#options.extensions.hooks.some(({ event }) => events.includes(event));
  }

  /** The longest time that the hooks of an event can take. */
  timeoutMs(...events: readonly HookEvent[]): number {
    const hooks = this.#options.extensions.hooks.filter(({ event }) => events.includes(event));
    return Math.max(0, ...hooks.map(({ timeoutMs }) => timeoutMs)) + 5000;
  }

  /** Runs all hooks that match, at the same time, and merges their decisions. */
  async run(event: HookEvent, request: HookRequest): Promise<HookOutcome> {
    const { names = [], paths, fields } = request;
    const { cwd, env } = this.#options;
    const call = { names, input: objectOf(fields['tool_input']), paths };
    const matching = this.#options.extensions.hooks.filter(
      (hook) =>
        hook.event === event &&
        (names.length === 0 || matcherAccepts(hook.matcher, names)) &&
        conditionAccepts(hook.condition, call, { ...hook, cwd, home: env['HOME'] }),
    );
    // A hook of the project never replaces a hook of the user, and a background hook no other hook.
    const unique = new Map(matching.map((hook) => [JSON.stringify(identityOf(hook)), hook]));
    if (request.except !== undefined) unique.delete(request.except);
    const decisions = await Promise.all(
      [...unique].map(async ([identity, one]) => ({
        ...(await this.#runHook(one, request)),
        identity,
      })),
    );
    return mergeDecisions(decisions);
  }

  /** Stops the hooks that still run in the background. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#background);
  }

  async #runHook(hook: Hook, request: HookRequest): Promise<Decision> {
    const { cwd, clock, permissionMode, extensions, confine } = this.#options;
    const { event, projectFolder, pluginFolder } = hook;
    if (hook.origin === 'project' && !(await extensions.areHooksUnchanged())) {
      const text = `The hooks of ${projectFolder} have changed since you trusted them, so they do not run. Start millrace again to check them.`;
      this.#noteOnce(text);
      // A changed guard must not let calls pass without a question.
      return event === 'PreToolUse' ? { asked: 'A hook that guards this call has changed' } : {};
    }
    const input = JSON.stringify({
      session_id: request.session,
      transcript_path: request.transcriptPath ?? '',
      cwd,
      permission_mode: permissionMode(),
      hook_event_name: event,
      ...request.fields,
      ...(isForMany(hook, request) && { tool_name: request.manyName }),
    });
    const own = {
      ...{ CLAUDE_PROJECT_DIR: projectFolder, MILLRACE_PROJECT_DIR: projectFolder },
      ...(hook.origin === 'user' && untrustedFolderEnv),
      ...(hook.origin === 'user' && pythonPath(hook, { cwd, home: this.#options.env['HOME'] })),
      ...(hook.origin === 'project' && projectHookEnv),
      ...(pluginFolder !== undefined && pluginEnv(pluginFolder)),
    };
    const { env: userEnv, projectEnv } = this.#options;
    const env = { ...(hook.origin === 'user' ? userEnv : projectEnv), ...own };
    const { transcriptPath } = request;
    const show = transcriptPath === undefined ? [] : [transcriptPath];
    const isConfined = hook.origin === 'project' && confine !== undefined;
    const signals = [this.#closed.signal, ...(request.signal ? [request.signal] : [])];
    const running = runHookProcess(hook.command, {
      // A plugin names its scripts by relative paths. In the folder of the session, a project could have scripts
      // with the same names.
      ...{ cwd: (hook.startsInPlugin && pluginFolder) || cwd, env, input, clock },
      ...(isConfined && { confine: (command) => confine({ command, env, show }) }),
      ...{ timeoutMs: hook.timeoutMs, signal: AbortSignal.any(signals) },
    });
    if (!hook.isAsync) return this.#decide(hook, await running);
    this.#background.add(running);
    void running.finally(() => this.#background.delete(running));
    return {};
  }

  #decide(hook: Hook, result: HookResult): Decision {
    const { exitCode, stdout, stderr, problem, notes = [] } = result;
    for (const note of notes) this.#noteOnce(`${nameOf(hook)}: ${note}.`);
    if (exitCode === 2) return blockDecision(hook.event, clip(stderr.trim(), maxContextLength));
    if (exitCode !== 0) {
      const why = problem ?? `it ended with the exit code ${exitCode}`;
      const said = clip(stderr.trim().split('\n')[0] ?? '', maxNoticeLength);
      this.#noteOnce(`${nameOf(hook)} failed: ${why}${said === '' ? '' : ` (${said})`}.`);
      // A guard that cannot run to its end must not let calls pass without a question.
      return result.isPrevented && hook.event === 'PreToolUse'
        ? { asked: 'A hook that guards this call could not run, or was stopped' }
        : {};
    }
    const text = stdout.trim();
    const json = text.startsWith('{') ? parseObject(text) : undefined;
    if (json === undefined) {
      // A long input can make the answer of a guard too long. The answer could be a denial.
      if (hook.event === 'PreToolUse' && (result.isCut || text.startsWith('{'))) {
        this.#noteOnce(
          `${nameOf(hook)} gave an answer that is too long, or that is not valid JSON.`,
        );
        return { asked: 'The answer of a hook that guards this call cannot be read' };
      }
      const isContext = contextEvents.has(hook.event);
      return isContext && text !== '' ? { context: clip(text, maxContextLength) } : {};
    }
    if (typeof json['systemMessage'] === 'string')
      this.#options.notify(clip(json['systemMessage'], maxNoticeLength));
    const decision = readDecision(hook, json);
    if (decision.isIgnoredAllow)
      this.#noteOnce(
        `${nameOf(hook)} allowed a call. Hooks of a project cannot do this, so your permissions decide.`,
      );
    return decision;
  }

  #noteOnce(text: string): void {
    if (this.#noted.has(text)) return;
    this.#noted.add(text);
    this.#options.notify(text);
  }
}

/**
 * Returns the identity of a hook. Two hooks with the same identity do the same, so only one of them
 * runs.
 */
function identityOf(hook: Hook): unknown {
  const { projectFolder, pluginFolder = null, command, origin, isAsync, timeoutMs } = hook;
  return [projectFolder, pluginFolder, command, origin, isAsync, timeoutMs];
}

function isForMany({ matcher = '' }: Hook, { manyName }: HookRequest): boolean {
  return manyName !== undefined && matcher.split(/[|,]/).some((name) => name.trim() === manyName);
}

/** The decision of one hook. */
interface Decision {
  readonly blocked?: string | undefined;
  readonly asked?: string | undefined;
  readonly isAllowed?: boolean | undefined;
  /** True if a hook of a project allowed a call, which has no effect. */
  readonly isIgnoredAllow?: boolean | undefined;
  readonly stopped?: string | undefined;
  readonly updatedInput?: HookOutcome['updatedInput'];
  readonly context?: string | undefined;
}

/** Returns the decision of a hook that ended with the exit code 2. */
function blockDecision(event: HookEvent, reason: string): Decision {
  const why = reason === '' ? `A hook for ${event} blocked it` : reason;
  switch (event) {
    case 'PreToolUse':
    case 'PostToolUse':
    case 'PostToolUseFailure':
    case 'PermissionRequest':
    case 'UserPromptSubmit':
    case 'Stop':
    case 'SubagentStop':
      return { blocked: why };
    case 'SubagentStart':
    case 'SessionStart':
    case 'SessionEnd':
    case 'PreCompact':
    case 'Notification':
      return {};
  }
}

function readDecision({ event, origin }: Hook, json: Readonly<Record<string, unknown>>): Decision {
  const specific = objectOf(json['hookSpecificOutput']);
  const reason = textOf(specific['permissionDecisionReason']) ?? textOf(json['reason']);
  const stopped =
    json['continue'] === false
      ? (textOf(json['stopReason']) ?? `A hook for ${event} ended the run`)
      : undefined;
  const context = textOf(specific['additionalContext']);
  const common = { stopped, ...(context && { context: clip(context, maxContextLength) }) };
  if (event === 'PermissionRequest') return { ...common, ...permissionDecision(origin, specific) };
  if (event !== 'PreToolUse') {
    // The reason tells the model what to do. A block without a reason is ignored, except after a tool call.
    const isBlocked =
      json['decision'] === 'block' && (reason !== undefined || event === 'PostToolUse');
    return isBlocked ? { ...common, ...blockDecision(event, reason ?? '') } : common;
  }
  const updated = specific['updatedInput'];
  const input =
    typeof updated === 'object' && updated !== null ? { updatedInput: objectOf(updated) } : {};
  switch (specific['permissionDecision'] ?? json['decision']) {
    case 'deny':
    case 'block':
      return { ...common, ...blockDecision(event, reason ?? '') };
    case 'ask':
      return { ...common, ...input, asked: reason ?? 'A hook asks for your approval' };
    case 'allow':
    case 'approve':
      return origin === 'user'
        ? { ...common, ...input, isAllowed: true }
        : { ...common, ...input, isIgnoredAllow: true };
    default:
      return { ...common, ...input };
  }
}

/** Returns the answer of a hook to the question about a call. */
function permissionDecision(
  origin: Hook['origin'],
  specific: Readonly<Record<string, unknown>>,
): Decision {
  const { behavior, message, updatedInput: updated } = objectOf(specific['decision']);
  if (behavior === 'deny') return blockDecision('PermissionRequest', textOf(message) ?? '');
  if (behavior !== 'allow') return {};
  const input = updated == null ? {} : { updatedInput: objectOf(updated) };
  return origin === 'user' ? { ...input, isAllowed: true } : { isIgnoredAllow: true };
}

/** Merges decisions. The strictest one wins. */
function mergeDecisions(
  decisions: readonly (Decision & { readonly identity: string })[],
): HookOutcome {
  const first = <Name extends keyof Decision>(name: Name) =>
    decisions.find((one) => one[name] !== undefined)?.[name];
  const changing = decisions.findLast((one) => one.updatedInput !== undefined);
  const all = (name: 'blocked' | 'asked') =>
    decisions.flatMap((one) => one[name] ?? []).join('\n') || undefined;
  return {
    blocked: all('blocked'),
    asked: all('asked'),
    // If a hook changed the input, only `allow` of this hook counts. The other hooks allowed the old input.
    isAllowed: changing?.isAllowed ?? (changing === undefined && decisions.some(isAllowing)),
    stopped: first('stopped'),
    updatedInput: changing?.updatedInput,
    changedBy: changing?.identity,
    context: decisions.flatMap((one) => one.context ?? []),
  };
}

/**
 * Merges the decisions of all hooks about a call with those of the other hooks about the input to which one hook
 * changed it.
 */
export function mergeChange(first: HookOutcome, again: HookOutcome): HookOutcome {
  const changedAgain = again.updatedInput && 'Two hooks change the input of this call';
  const questions = [first.asked, again.asked, changedAgain];
  return {
    ...{ blocked: again.blocked, stopped: again.stopped },
    // Only the hook that wrote the input allows it. A hook of a project must not profit from one of the user.
    isAllowed: first.isAllowed,
    asked: questions.filter((one) => one !== undefined).join('\n') || undefined,
    context: [...new Set([...first.context, ...again.context])],
  };
}

const isAllowing = ({ isAllowed }: Decision) => isAllowed === true;

/** Returns the name of a hook for messages. */
function nameOf({ event, command }: Hook): string {
  return `The hook "${clip(command, 80)}" for ${event}`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

function clip(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength).toWellFormed()}…`;
}
