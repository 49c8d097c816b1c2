import { createAgent, systemClock, type Tool } from '@millrace/agent';
import { type Ids, parseJson, type ToolCallPart } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Clock } from '@millrace/providers';
import {
  type AskUserOptions,
  createWorkspace,
  previewChange,
  type Workspace,
} from '@millrace/tools';
import type { Config } from '../config/config.ts';
import { forgetRule, rememberedIn, rememberRule } from '../config/folders-file.ts';
import { projectInstructions } from '../config/project-instructions.ts';
import type { Chosen } from '../models/chosen.ts';
import type { AgentChanges, BuiltAgent } from './built-agent.ts';
import { commonOptions } from './common-options.ts';
import { connectServers, type ServerTools } from './connect-servers.ts';
import { gitBranch } from './git-branch.ts';
import { orDeny, type SessionPolicy, sessionPolicy } from './session-policy.ts';
import { subAgentsTool } from './sub-agents.ts';
import { systemPrompt } from './system-prompt.ts';
import { changingTools, type Questions, questions, readingTools } from './workspace-tools.ts';

export interface BuildOptions {
  readonly config: Pick<
    Config,
    'limits' | 'permissions' | 'mcpServers' | 'system' | 'compactAtTokens' | 'foldersFile'
  >;
  readonly chosen: Chosen;
  readonly log: Log;
  readonly cwd: string;
  /**
   * What becomes of a call that is to be asked about: the run waits for an answer (`wait`), or ends as
   * parked until somebody resumes it (`park`, for scripts). With `wait` the model can ask questions, too.
   */
  readonly approve: 'wait' | 'park';
  /** Who answers the model's questions; see `BuiltAgent.answerBy`. */
  readonly ask?: AskUserOptions['ask'] | undefined;
  readonly output?: AgentChanges['output'];
  readonly observers?: AgentChanges['observers'];
  /** Who drives, for whoever finds the session held. */
  readonly name?: string | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: Ids | undefined;
  /** Ends the waiting for MCP servers. */
  readonly signal?: AbortSignal | undefined;
  /** Hears what goes wrong later, and changes nothing. */
  readonly onProblem?: ((problem: string) => void) | undefined;
}

/** An agent with the tools of a folder, as it is configured. */
export async function buildAgent(options: BuildOptions): Promise<BuiltAgent> {
  const { config, cwd, clock = systemClock } = options;
  const workspace = createWorkspace({ root: cwd });
  const { mode, rules } = config.permissions;
  const keep = (rule: Parameters<typeof rememberRule>[2]) => rememberRule(config, cwd, rule);
  const drop = (rule: Parameters<typeof forgetRule>[2]) => forgetRule(config, cwd, rule);
  const policy = sessionPolicy({ workspace, rules, keep, drop });
  const isReadOnly = mode === 'read-only';
  const servers = await connectServers(isReadOnly ? [] : config.mcpServers, options);
  const [project, branch] = await Promise.all([projectInstructions(cwd), gitBranch(cwd)]);
  const { platform } = process;
  const { system } = config;
  return assemble({
    options,
    workspace,
    policy,
    servers,
    questions: questions(options.ask),
    reading: readingTools(workspace, policy.current),
    changing: isReadOnly ? [] : changingTools(workspace),
    instructions: systemPrompt({ cwd, platform, now: clock.now(), branch, project, system }),
  });
}

/** What all agents share that are made from one another. */
interface Materials {
  readonly options: BuildOptions;
  readonly workspace: Workspace;
  readonly policy: SessionPolicy;
  readonly servers: ServerTools;
  readonly questions: Questions;
  readonly reading: readonly Tool[];
  readonly changing: readonly Tool[];
  readonly instructions: string;
}

function assemble(materials: Materials): BuiltAgent {
  const { options, policy, servers, reading, changing, instructions } = materials;
  const { chosen, approve: whileAsking, output } = options;
  const common = commonOptions(options);
  const asking = whileAsking === 'wait' ? [materials.questions.tool] : [];
  const task = subAgentsTool({
    common: {
      ...common,
      approve: whileAsking === 'wait' ? policy.approve : orDeny(policy.approve),
    },
    ...{ instructions, reading, changing },
  });
  const own = [...reading, ...changing, task, ...asking];
  const names = new Set(own.map(({ name }) => name));
  const foreign = servers.tools.filter(({ name }) => !names.has(name));
  const tools = [...own, ...foreign];
  const name = options.name ?? `millrace (process ${process.pid})`;
  const { approve } = policy;
  const ways = { approve, whileAsking, output };
  return {
    agent: createAgent({ ...common, ...ways, name, tools, instructions }),
    chosen,
    tools,
    problems: servers.problems,
    policy: policy.current,
    allows: (call) => allows(policy, call, tools),
    remember: policy.remember,
    forget: policy.forget,
    kept: () => rememberedIn(options.config, options.cwd),
    preview: (call) => previewChange(materials.workspace, call),
    answerBy: materials.questions.answerBy,
    with: (changes) => assemble({ ...materials, options: changed(options, changes) }),
    close: servers.close,
  };
}

/** One whose input cannot be read is let be: the agent says itself what is wrong with it. */
async function allows(
  { approve }: SessionPolicy,
  call: ToolCallPart,
  tools: readonly Tool[],
): Promise<boolean> {
  const tool = tools.find(({ name }) => name === call.name);
  const input = parseJson(call.arguments);
  if (tool === undefined || !input.ok) return false;
  const ruling = await approve({ call, tool, input: input.value, summary: call.name });
  return (typeof ruling === 'string' ? ruling : ruling.decision) === 'allow';
}

/** What is not said stays as it is. */
function changed(options: BuildOptions, changes: AgentChanges): BuildOptions {
  const { chosen = options.chosen, output = options.output } = changes;
  return { ...options, chosen, output, observers: changes.observers ?? options.observers };
}
