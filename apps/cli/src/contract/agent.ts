import type { Agent, AgentOptions, Observer, RequestOptions, Tool } from '@millrace/agent';
import type { Ids, ToolCallPart } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Clock, Provider } from '@millrace/providers';
import type {
  AskUserOptions,
  ChangePreview,
  PermissionPolicy,
  PermissionRule,
  PolicyCall,
} from '@millrace/tools';
import type { Config } from './config.ts';

/** An agent for a folder, with the operations that the chat needs while it runs. */
export interface BuiltAgent {
  readonly agent: Agent;
  readonly chosen: ChosenModel;
  readonly tools: readonly Tool[];
  /**
   * Messages about things that failed at the start, such as an MCP server. Show each of them once.
   */
  readonly problems: readonly string[];
  /** The MCP servers of the chat, which connect while the user types. */
  readonly servers: ServerProgress;
  /**
   * One sentence about how the user is protected from commands. Undefined if there are no commands.
   */
  readonly protection: string | undefined;
  /**
   * Returns true if the current rules allow a call without approval. `judged` is the real path that
   * the question to the user was about. The rules must allow this path.
   */
  allows(call: ToolCallPart, judged: string | undefined): Promise<boolean>;
  /** Returns the current policy. Rules can be added while the agent runs. */
  policy(): PermissionPolicy;
  /** Adds a rule for this session or, with `always`, for all later sessions in this project too. */
  remember(rule: PermissionRule, forHowLong: 'session' | 'always'): Promise<void>;
  /** Removes a rule. Matching calls need approval again, in this and in later sessions. */
  forget(rule: PermissionRule): Promise<void>;
  /** Returns the rules that are stored for this project. */
  rememberedRules(): Promise<readonly PermissionRule[]>;
  /**
   * Returns the effect of a file change, for the user who decides about it. Returns undefined if
   * there is no preview.
   */
  preview(call: PolicyCall): Promise<ChangePreview | undefined>;
  /**
   * Runs a command that the user typed, without approval and without the sandbox. Returns its output
   * and its exit code as text.
   */
  runUserCommand(command: string, signal: AbortSignal): Promise<string>;
  /**
   * Sets the handler for the model's questions (`ask_user`). Without a handler, questions are
   * dismissed.
   */
  setQuestionHandler(ask: AskUserOptions['ask'] | undefined): void;
  /** Returns a variant of the agent. It shares tools, rules and servers with this one. */
  with(changes: AgentChanges): BuiltAgent;
  /** Closes the MCP servers of this agent and of all its variants. */
  close(): Promise<void>;
}

/** How far the MCP servers are. Their tools are added to the agent when they are connected. */
interface ServerProgress {
  /** Returns the names of the servers that are not connected yet. */
  connecting(): readonly string[];
  /** Calls the function after each server that is connected or has failed. */
  onChange(listener: () => void): void;
  /** Returns a message for each server that failed so far. Show each of them once. */
  problems(): readonly string[];
  /** Resolves when no server connects any more. */
  readonly ready: Promise<void>;
}

export interface AgentChanges {
  /** Another model, for `/model`. */
  readonly chosen?: ChosenModel | undefined;
  /** The schema of the answers, for `--output-schema`. */
  readonly output?: AgentOptions['output'];
  readonly observers?: readonly Observer[] | undefined;
}

export interface BuildOptions {
  readonly config: Pick<
    Config,
    | 'limits'
    | 'permissions'
    | 'sandbox'
    | 'commands'
    | 'mcpServers'
    | 'system'
    | 'compactAtTokens'
    | 'cache'
    | 'foldersFile'
  >;
  readonly chosen: ChosenModel;
  readonly log: Log;
  readonly cwd: string;
  /**
   * How a call that needs approval is handled. `wait`: the run waits for an answer, and the model
   * can ask questions. `park`: the run ends as parked and can be resumed later, for scripts.
   */
  readonly approve: 'wait' | 'park';
  /** The initial handler for the model's questions. See `BuiltAgent.setQuestionHandler`. */
  readonly ask?: AskUserOptions['ask'] | undefined;
  readonly output?: AgentChanges['output'];
  readonly observers?: AgentChanges['observers'];
  /** The name of the driver. Other processes show it when they find the session locked. */
  readonly name?: string | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: Ids | undefined;
  /** Aborts connecting to MCP servers. */
  readonly signal?: AbortSignal | undefined;
  /** Called with each problem that occurs later. The run continues. */
  readonly onProblem?: ((problem: string) => void) | undefined;
}

/** The model that answers, and the reason for this choice. */
export interface ChosenModel {
  readonly provider: Provider;
  /** The name for the status line: `anthropic/claude-sonnet-5-5`. */
  readonly label: string;
  /** The reason for the choice, as one sentence for the user. It contains no key. */
  readonly why: string;
  readonly isDemo: boolean;
  /** A sentence for the user about a limit of this model. It is shown at the start. */
  readonly warning?: string | undefined;
  /** The size of the context window. Undefined if it is unknown. */
  readonly contextTokens?: number | undefined;
  /** Options from the configuration for each request. */
  readonly request?: Pick<RequestOptions, 'reasoning' | 'maxOutputTokens'> | undefined;
}
