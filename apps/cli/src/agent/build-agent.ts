import { type AgentOptions, createAgent, systemClock, type Tool } from '@millrace/agent';
import { parseJson, type ToolCallPart } from '@millrace/core';
import {
  createWorkspace,
  previewChange,
  readGitBranch,
  subAgentsTool,
  type Workspace,
} from '@millrace/tools';
import { forgetRule, readRememberedRules, rememberRule } from '../config/folders-file.ts';
import type { AgentChanges, BuildOptions, BuiltAgent } from '../contract/agent.ts';
import { commonOptions } from './agent-options.ts';
import { openSandbox } from './command-sandbox.ts';
import { connectMcpServers, type ServerTools } from './mcp-servers.ts';
import { createSessionPolicy, type SessionPolicy } from './session-policy.ts';
import { readProjectInstructions, systemPrompt } from './system-prompt.ts';
import { runUserCommand } from './user-command.ts';
import { changingTools, createQuestions, type Questions, readingTools } from './workspace-tools.ts';

/** Builds the agent for a folder, with its tools, permissions, MCP servers and sub-agents. */
export async function buildAgent(options: BuildOptions): Promise<BuiltAgent> {
  const { config, cwd, clock = systemClock } = options;
  const workspace = createWorkspace({ root: cwd });
  const { mode, rules } = config.permissions;
  const saveRule = (rule: Parameters<typeof rememberRule>[2]) => rememberRule(config, cwd, rule);
  const deleteRule = (rule: Parameters<typeof forgetRule>[2]) => forgetRule(config, cwd, rule);
  const isReadOnly = mode === 'read-only';
  const linkProblems: string[] = [];
  const [protection, project, branch] = await Promise.all([
    isReadOnly ? undefined : openSandbox(config.sandbox),
    readProjectInstructions(cwd, (problem) => linkProblems.push(problem), rules),
    readGitBranch(cwd),
  ]);
  const sandbox = protection?.sandbox;
  const policy = createSessionPolicy({
    workspace,
    rules,
    isConfined: sandbox !== undefined,
    unconfined: protection?.unconfined,
    saveRule: saveRule,
    deleteRule: deleteRule,
  });
  const servers = await connectMcpServers(isReadOnly ? [] : config.mcpServers, options);
  const { platform } = process;
  const { system } = config;
  const { env: allow, maskSecrets } = config.commands ?? {};
  const commands = { sandbox, reading: policy.reading, env: { allow }, maskSecrets };
  return assemble({
    options,
    workspace,
    policy,
    servers: { ...servers, problems: [...servers.problems, ...linkProblems] },
    questions: createQuestions(options.ask),
    reading: readingTools(workspace, policy.current),
    changing: isReadOnly ? [] : changingTools(workspace, commands),
    protection: protection?.summary,
    // The chat shows `protection` itself, so it does not need this sentence.
    unconfined:
      protection?.unconfined && options.approve !== 'wait' ? protection.summary : undefined,
    closeSandbox: async () => {
      await sandbox?.settled();
      sandbox?.close();
    },
    instructions: systemPrompt({ cwd, platform, now: clock.now(), branch, project, system }),
  });
}

/** Everything that an agent and its variants (see `BuiltAgent.with`) share. */
interface AgentParts {
  readonly options: BuildOptions;
  readonly workspace: Workspace;
  readonly policy: SessionPolicy;
  readonly servers: ServerTools;
  readonly questions: Questions;
  readonly reading: readonly Tool[];
  readonly changing: readonly Tool[];
  readonly instructions: string;
  readonly protection: string | undefined;
  /** A sentence for a user who does not see `protection`, if there is no sandbox. */
  readonly unconfined: string | undefined;
  readonly closeSandbox: () => Promise<void>;
}

function assemble(parts: AgentParts): BuiltAgent {
  const { options, policy, servers, reading, changing, instructions } = parts;
  const { chosen, approve: whileAsking, output } = options;
  const common = commonOptions(options);
  const asking = whileAsking === 'wait' ? [parts.questions.tool] : [];
  const task = helpersTool({
    common: { ...common, approve: policy.approve },
    ...{ instructions, reading, changing },
  });
  const own = [...reading, ...changing, task, ...asking];
  const names = new Set(own.map(({ name }) => name));
  const serverTools = servers.tools.filter(({ name }) => !names.has(name));
  const tools = [...own, ...serverTools];
  const name = options.name ?? `millrace (process ${process.pid})`;
  const { approve } = policy;
  const ways = { approve, whileAsking, output };
  return {
    agent: createAgent({ ...common, ...ways, name, tools, instructions }),
    chosen,
    tools,
    problems: [chosen.warning, parts.unconfined, ...servers.problems].filter(
      (problem) => problem !== undefined,
    ),
    protection: parts.protection,
    policy: policy.current,
    allows: (call, judged) => isAllowed(policy, call, judged, tools),
    remember: policy.remember,
    forget: policy.forget,
    rememberedRules: () => readRememberedRules(options.config, options.cwd),
    preview: (call) => previewChange(parts.workspace, call),
    runUserCommand: (command, signal) =>
      runUserCommand(command, { ...options, workspace: parts.workspace, signal }),
    setQuestionHandler: parts.questions.setHandler,
    with: (changes) => assemble({ ...parts, options: withChanges(options, changes) }),
    close: async () => {
      await servers.close();
      await parts.closeSandbox();
    },
  };
}

/**
 * Returns true if the current rules allow a call. Returns false for a call with unreadable input,
 * because the agent itself reports that error to the model.
 */
async function isAllowed(
  { approve }: SessionPolicy,
  call: ToolCallPart,
  judged: string | undefined,
  tools: readonly Tool[],
): Promise<boolean> {
  const tool = tools.find(({ name }) => name === call.name);
  const input = parseJson(call.arguments);
  if (tool === undefined || !input.ok) return false;
  const { name } = call;
  const ruling = await approve({ name, call, tool, input: input.value, summary: name });
  if (typeof ruling === 'string') return ruling === 'allow' && judged === undefined;
  return ruling.decision === 'allow' && (judged === undefined || ruling.judged === judged);
}

/** Applies changes to the options. Fields that are not given keep their value. */
function withChanges(options: BuildOptions, changes: AgentChanges): BuildOptions {
  const { chosen = options.chosen, output = options.output } = changes;
  return { ...options, chosen, output, observers: changes.observers ?? options.observers };
}

interface HelpersOptions {
  /** The options that the sub-agents share with the main agent. */
  readonly common: Omit<AgentOptions, 'tools' | 'instructions' | 'name'>;
  readonly instructions: string;
  readonly reading: readonly Tool[];
  /** The tools that change files and run programs. Empty in read-only mode. */
  readonly changing: readonly Tool[];
}

const reportInstructions = `You were given one task by another agent. It sees only your last message, and nobody answers questions. End with a report that contains what was asked for, with locations as path:line, and what you could not find out or do.`;

/**
 * Creates the `task` tool. It offers an agent that only reads and, if changes are allowed, one with
 * all tools.
 */
function helpersTool(options: HelpersOptions): Tool {
  const { common, reading, changing } = options;
  const instructions = `${options.instructions}\n\n${reportInstructions}`;
  const explore = createAgent({ ...common, name: 'explore', tools: reading, instructions });
  const agents = {
    explore: {
      agent: explore,
      description: 'Answers questions by reading and searching files. Changes nothing.',
    },
  };
  if (changing.length === 0) return subAgentsTool({ agents });
  const tools = [...reading, ...changing];
  const worker = createAgent({ ...common, name: 'worker', tools, instructions });
  const description = 'Does a task on its own: reads and changes files, runs commands.';
  return subAgentsTool({ agents: { ...agents, worker: { agent: worker, description } } });
}
