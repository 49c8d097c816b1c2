import { join } from 'node:path';
import {
  type Agent,
  type AgentOptions,
  createAgent,
  type Observer,
  systemClock,
  type Tool,
} from '@millrace/agent';
import {
  askUserTool,
  type BackgroundCommands,
  backgroundCommands,
  type CommandFiles,
  commandFiles,
  createWorkspace,
  formsOfPaths,
  readGitBranch,
  todoTool,
  unaskedReading,
  type Workspace,
  webFetchTool,
} from '@millrace/tools';
import { forgetRule, readRememberedRules, rememberRule } from '../config/folders-file.ts';
import type { AgentChanges, BuildOptions, BuiltAgent } from '../contract/agent.ts';
import type { SandboxConfig, SessionMode } from '../contract/config.ts';
import { ConfigError } from '../contract/errors.ts';
import { withRenderer } from '../extensions/code/with-renderer.ts';
import { type ConnectedExtensions, connectExtensions } from '../extensions/connect-extensions.ts';
import type { SessionHooks } from '../extensions/session-hooks.ts';
import { commonOptions } from './agent-options.ts';
import { confineHooks, openSandbox } from './command-sandbox.ts';
import { helpersTool } from './helpers-tool.ts';
import { isolatedFolders, type OpenIsolatedFolder } from './isolated-folder.ts';
import { connectMcpServers, type ServerTools, toolPrefix } from './mcp-servers.ts';
import { offeredModes } from './session-mode.ts';
import { createSessionPolicy, type SessionPolicy } from './session-policy.ts';
import { readProjectInstructions, systemPrompt } from './system-prompt.ts';
import { rulesAllow, rulingFor, unaskedCalls } from './unasked-calls.ts';
import { findUnknownTools } from './unknown-tools.ts';
import { runUserCommand } from './user-command.ts';
import { openWebSearch, unguardedSearch } from './web-search.ts';
import {
  changingTools,
  createQuestions,
  previewOf,
  type Questions,
  readingTools,
  withShortSchema,
} from './workspace-tools.ts';

/** Builds the agent for a folder, with its tools, permissions, MCP servers and sub-agents. */
export async function buildAgent(options: BuildOptions): Promise<BuiltAgent> {
  const { config, cwd, clock = systemClock } = options;
  const workspace = createWorkspace({ root: cwd, buffers: options.buffers });
  const { mode, rules } = config.permissions;
  const saveRule = (rule: Parameters<typeof rememberRule>[2]) => rememberRule(config, cwd, rule);
  const deleteRule = (rule: Parameters<typeof forgetRule>[2]) => forgetRule(config, cwd, rule);
  const isReadOnly = mode === 'read-only';
  const problems = [...findUnknownTools(options)];
  const { hookFiles = [] } = options.extensions ?? {};
  const { serverFiles = [], namedFile } = config;
  // The next start runs the commands that the configuration names, outside of the sandbox.
  const named = namedFile === undefined ? [] : [namedFile];
  const executedFiles = formsOfPaths([...hookFiles, ...serverFiles, ...named]);
  const [protection, project, branch] = await Promise.all([
    isReadOnly ? undefined : openSandbox(config.sandbox, undefined, executedFiles, cwd),
    readProjectInstructions(
      cwd,
      (problem) => problems.push(problem),
      rules,
      options.extensions?.instructions,
    ),
    readGitBranch(cwd),
  ]);
  const sandbox = protection?.sandbox;
  if (mode === 'auto' && sandbox === undefined) throw noSandboxError(protection?.summary);
  const search = isReadOnly ? undefined : openWebSearch(config.webSearch, options.env);
  const policy = createSessionPolicy({
    workspace,
    searchHost: search?.host,
    rules,
    mode,
    executedFiles,
    isConfined: sandbox !== undefined,
    isChanging: () => sandbox?.isChanging(workspace.root) === true,
    unconfined: protection?.unconfined,
    ...{ saveRule, deleteRule },
  });
  const hasProjectHooks = options.extensions?.hooks.some(({ origin }) => origin === 'project');
  // A session that only reads has no commands, but the hooks of the project still need the sandbox.
  const hookSandbox =
    isReadOnly && hasProjectHooks
      ? (await openSandbox(readOnlySandbox(config.sandbox), undefined, executedFiles, cwd)).sandbox
      : sandbox;
  const reading = policy.reading ?? unaskedReading(policy.current);
  const confine = hookSandbox && confineHooks(hookSandbox, workspace, { reading });
  const extended = await connectExtensions(options, {
    ...{ approveFreely: policy.approveFreely, mode: policy.mode, confine },
    servers: config.mcpServers.map(({ name }) => toolPrefix(name)),
  });
  const codeTools = extended.extensions.code?.tools ?? [];
  const servers = connectMcpServers(isReadOnly ? [] : config.mcpServers, options);
  // A script needs all tools in its first request, so it waits for the servers. The chat does not
  // wait, so that it can show its prompt immediately.
  if (options.approve !== 'wait') await servers.ready;
  const { platform } = process;
  const { system } = config;
  const { env: allow, maskSecrets, onTimeout } = config.commands ?? {};
  const instructionsAt = (folder: string) =>
    systemPrompt({
      ...{ cwd: folder, platform, now: clock.now(), branch, project, system },
      skills: extended.prompt,
    });
  const { copies } = options;
  const files = copies === undefined ? undefined : recordedFiles(copies, workspace, policy);
  const masking = { maskSecrets, maskedEnv: options.env };
  const commands = { sandbox, reading: policy.reading, env: { allow }, ...masking, files };
  const background = isReadOnly ? undefined : (options.background ?? backgroundCommands({ clock }));
  return assemble({
    options,
    observers: [
      ...(files === undefined || isReadOnly ? [] : [readFilesOnStart(files)]),
      ...(extended.hooks?.observer === undefined ? [] : [extended.hooks.observer]),
    ],
    extended,
    workspace,
    policy,
    modes: offeredModes({ first: mode, hasSandbox: sandbox !== undefined }),
    servers,
    problems,
    questions: createQuestions(options.ask),
    background,
    reading: readingTools(workspace, policy.policies, background).map(withShortSchema),
    changing: isReadOnly
      ? []
      : changingTools(workspace, { ...commands, background, onTimeout }).map(withShortSchema),
    // The session of a sub-agent ends with its report, so no later run would receive the end of a background
    // command.
    helpers: {
      reading: readingTools(workspace, policy.policies).map(withShortSchema),
      changing: isReadOnly ? [] : changingTools(workspace, commands).map(withShortSchema),
    },
    shared: {
      reading: extended.tools.map(withShortSchema),
      changing: isReadOnly
        ? []
        : [webFetchTool(), ...(search === undefined ? [] : [search.tool]), ...codeTools].map(
            withShortSchema,
          ),
    },
    protection: protection?.summary,
    // The chat already shows `protection`, so it does not need this second text.
    unconfined:
      protection?.unconfined && options.approve !== 'wait' ? protection.summary : undefined,
    closeSandbox: async () => {
      await background?.close();
      await hookSandbox?.settled();
      hookSandbox?.close();
    },
    isolate: isReadOnly
      ? undefined
      : await isolatedFolders({
          ...{ workspace, env: options.env, sandbox: config.sandbox, executedFiles, policy },
          ...{ commands: { env: { allow }, maskSecrets }, instructionsAt },
        }),
    instructions: instructionsAt(cwd),
  });
}

/** Records the changes of commands, without the contents of files that a rule denies. */
function recordedFiles(
  copies: string,
  workspace: Workspace,
  { policies }: SessionPolicy,
): CommandFiles {
  const omits = (path: string) => {
    const place = { path: join(workspace.root, path), kind: 'read' } as const;
    // A rule for a tool that only changes files does not hide their contents.
    return policies().some((rules) =>
      ['read', 'bash'].some((tool) => !rules.mayReach(tool, place)),
    );
  };
  return commandFiles({ workspace, copies, omits });
}

/** In a session that only reads, hooks must not change files either. */
function readOnlySandbox(config: SandboxConfig | undefined): SandboxConfig | undefined {
  return config && config.profile !== 'off' ? { ...config, profile: 'read-only' } : config;
}

function noSandboxError(summary = ''): ConfigError {
  const message = `Cannot use the mode auto: it needs a sandbox for commands. ${summary} Use --mode accept-edits, or see millrace doctor`;
  return new ConfigError(message, { name: 'permissions.mode' });
}

/** The parts that an agent shares with its variants (see `BuiltAgent.with`). */
interface AgentParts {
  readonly options: BuildOptions;
  /** Observers in addition to `options.observers`. */
  readonly observers: readonly Observer[];
  readonly workspace: Workspace;
  readonly policy: SessionPolicy;
  readonly modes: readonly SessionMode[];
  readonly servers: ServerTools;
  readonly problems: readonly string[];
  readonly extended: ConnectedExtensions;
  readonly questions: Questions;
  readonly background: BackgroundCommands | undefined;
  /** The tools of the main agent. */
  readonly reading: readonly Tool[];
  readonly changing: readonly Tool[];
  /** The tools that sub-agents have instead. */
  readonly helpers: ToolLists;
  /** The tools that the main agent and its sub-agents have. */
  readonly shared: ToolLists;
  /** Creates a git worktree for a sub-agent. Undefined if that is not possible. */
  readonly isolate: OpenIsolatedFolder | undefined;
  readonly instructions: string;
  readonly protection: string | undefined;
  /**
   * A warning that commands run without a sandbox, for users to whom `protection` is not shown.
   * Undefined if there is a sandbox.
   */
  readonly unconfined: string | undefined;
  readonly closeSandbox: () => Promise<void>;
}

/** Tools that only read, and tools that change files or run programs. */
interface ToolLists {
  readonly reading: readonly Tool[];
  readonly changing: readonly Tool[];
}

function assemble(parts: AgentParts): BuiltAgent {
  const { options, servers, instructions, extended } = parts;
  const { hooks } = extended;
  const { code } = extended.extensions;
  const wrapIn = (root?: string) => (tool: Tool) =>
    withRenderer(code, hooks?.wrap(tool, { root }) ?? tool);
  const wrap = wrapIn();
  const withShared = ({ reading, changing }: ToolLists, root?: string): ToolLists => ({
    reading: [...reading, ...parts.shared.reading].map(wrapIn(root)),
    changing: [...changing, ...parts.shared.changing].map(wrapIn(root)),
  });
  const { reading, changing } = withShared(parts);
  const policy = checkedByHooks(parts.policy, hooks);
  const { chosen, approve: whileAsking, output } = options;
  const observers = [...(options.observers ?? []), ...parts.observers];
  const common = commonOptions({ ...options, observers });
  const asking = options.isServed
    ? [askUserTool()]
    : whileAsking === 'wait'
      ? [parts.questions.tool]
      : [];
  const { isolate } = parts;
  const task = helpersTool({
    ...{ common, approve: policy.approve, instructions, ...withShared(parts.helpers) },
    ...{ hooks, files: extended.agents },
    commonFor: (own) => commonOptions({ ...options, observers, chosen: own }),
    isolate:
      isolate &&
      (async (context) => {
        const folder = await isolate(context);
        const { root, decisions } = folder;
        const { approve, approveFreely } = decisions;
        const checked = hooks?.approve(approve, approveFreely, root) ?? approve;
        return { ...folder, ...withShared(folder, root), approve: checked };
      }),
  });
  // Sub-agents do not get `todo`, so they cannot replace the list that the user sees.
  const others = [wrap(task), todoTool(), ...asking].map(withShortSchema);
  const own = [...reading, ...changing, ...others];
  const names = new Set(own.map(({ name }) => name));
  const serverTools = () =>
    servers
      .current()
      .tools.filter(({ name }) => !names.has(name))
      .map(wrap);
  const allTools = () => [...own, ...serverTools()];
  const isLive = whileAsking === 'wait' && options.config.mcpServers.length > 0;
  const tools = isLive ? [...own, serverTools] : allTools();
  const problems = [
    ...[chosen.warning, parts.unconfined, unguardedSearch(options.config, extended.extensions)],
    ...[...parts.problems, ...extended.problems],
  ];
  const name = options.name ?? `millrace (process ${process.pid})`;
  const { approve } = policy;
  const { onInterrupted } = options;
  const ways = { approve, whileAsking, output, onInterrupted };
  return {
    agent: createAgent({
      ...{ ...common, ...ways, name, tools, instructions },
      guardrails: hooks?.guardrails,
      prepareStep: options.prepareStep,
      callerOptions: options.isServed === true ? 'accept' : 'refuse',
    }),
    appAgent: (caller) => {
      const appTools = servers.appTools().filter((tool) => !names.has(tool.name));
      const shared = commonOptions({ ...options, observers, chosen: caller });
      const rules = { approve, whileAsking, onInterrupted, guardrails: hooks?.guardrails };
      return createAppAgent({ ...shared, ...rules, name }, appTools.map(wrap));
    },
    chosen,
    get tools() {
      return allTools();
    },
    problems: [...problems, ...(isLive ? [] : servers.current().problems)].filter(
      (problem) => problem !== undefined,
    ),
    servers: {
      connecting: servers.connecting,
      ready: servers.ready,
      onChange: servers.onChange,
      list: servers.list,
      reconnect: servers.reconnect,
      prompts: servers.prompts,
      login: servers.login,
      logout: servers.logout,
      problems: () => (isLive ? servers.current().problems : []),
    },
    protection: parts.protection,
    modes: parts.modes,
    mode: policy.mode,
    setMode: policy.setMode,
    policy: policy.current,
    allows: (call, judged) => rulesAllow(policy.approve, call, judged, allTools()),
    reasonToAsk: async (call) => (await rulingFor(policy.approve, call, allTools()))?.reason,
    remember: policy.remember,
    forget: policy.forget,
    rememberedRules: () => readRememberedRules(options.config, options.cwd),
    preview: (call, judged) => previewOf(parts.workspace, call, judged),
    ...runsForUser(parts, policy),
    background: parts.background,
    setQuestionHandler: parts.questions.setHandler,
    extensions: extended.extensions,
    onNotice: extended.onNotice,
    with: (changes) => assemble({ ...parts, options: withChanges(options, changes) }),
    close: async () => {
      await extended.close();
      await servers.close();
      await parts.closeSandbox();
    },
  };
}

/** Returns the policy with decisions that the hooks check. */
function checkedByHooks(policy: SessionPolicy, hooks: SessionHooks | undefined): SessionPolicy {
  const checked = (approve: SessionPolicy['approve']) => hooks?.approve(approve) ?? approve;
  const { approve, approveNamed } = policy;
  return { ...policy, approve: checked(approve), approveNamed: checked(approveNamed) };
}

/** Creates the agent for the tool calls of MCP apps. Returns undefined if no server has apps. */
function createAppAgent(options: AgentOptions, tools: readonly Tool[]): Agent | undefined {
  return tools.length === 0 ? undefined : createAgent({ ...options, tools });
}

/** Reads the files while the model answers the first message, so that the first command need not wait. */
function readFilesOnStart(files: CommandFiles): Observer {
  let hasStarted = false;
  const observe = ({ fact }: Parameters<Observer>[0]) => {
    if (hasStarted || fact?.type !== 'run_started') return;
    hasStarted = true;
    void files.warm();
  };
  return Object.assign(observe, { ignoresDeltas: true });
}

/** The calls that the user starts, in a message or with `!`. */
function runsForUser(
  { options, workspace, helpers, extended }: AgentParts,
  { approve, approveNamed }: SessionPolicy,
): Pick<BuiltAgent, 'runUserCommand' | 'runUnasked'> {
  // The tools of sub-agents continue no command in the background.
  const tools = [...helpers.reading, ...helpers.changing];
  const { log, signal } = options;
  return {
    runUserCommand: (command, stop) =>
      runUserCommand(command, { ...options, workspace, signal: stop }),
    runUnasked: unaskedCalls({ approve, approveNamed, tools, hooks: extended.hooks, log, signal }),
  };
}

/**
 * Returns the options with the changes. Fields that `changes` does not contain keep their values.
 */
function withChanges(options: BuildOptions, changes: AgentChanges): BuildOptions {
  const { chosen = options.chosen, output = options.output } = changes;
  return { ...options, chosen, output, observers: changes.observers ?? options.observers };
}
