import type { Agent, AgentOptions, Observer, RequestOptions, Tool } from '@millrace/agent';
import type { Ids, JsonObject, ToolCallPart } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Clock, Provider } from '@millrace/providers';
import type {
  AskUserOptions,
  BackgroundCommands,
  ChangePreview,
  OpenBuffers,
  PermissionPolicy,
  PermissionRule,
  PolicyCall,
} from '@millrace/tools';
import type { OpenLoginPage } from '@millrace/tools/mcp';
import type { Config, SessionMode } from './config.ts';
import type { Extensions, Origin, SlashPrompt } from './extensions.ts';
import type { Env } from './host.ts';

/**
 * Runs a call of a tool that the rules allow without a question, and returns its text. Returns undefined if they do
 * not, or if the call fails.
 */
export type RunUnasked = (
  name: string,
  input: JsonObject,
  options?: RunUnaskedOptions,
) => Promise<string | undefined>;

interface RunUnaskedOptions {
  /** Stops the call. The result is then undefined. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the rules have allowed the call, before it runs. Default: none. */
  readonly onStart?: (() => void) | undefined;
  /**
   * Runs in place of the tool, with the real path about which the rules decided. The user wrote the path, so a path
   * outside of the folder needs no rule that allows it. Default: the tool runs, with the usual rules.
   */
  readonly attach?: ((path: string) => Promise<string>) | undefined;
}

/** An agent for a folder, with the operations that the chat uses. */
export interface BuiltAgent {
  readonly agent: Agent;
  /**
   * Creates the agent that runs the tool calls of MCP apps, with the rules of this agent. `caller` stands in
   * for the model. Returns undefined if no server has apps.
   */
  appAgent(caller: ChosenModel): Agent | undefined;
  readonly chosen: ChosenModel;
  readonly tools: readonly Tool[];
  /** Messages about failures at the start, such as a failed MCP server. Show each of them once. */
  readonly problems: readonly string[];
  /** The MCP servers of the chat. They connect while the user can already type. */
  readonly servers: ServerProgress;
  /** A sentence about the protection from commands. Undefined if the agent cannot run commands. */
  readonly protection: string | undefined;
  /**
   * Returns true if the current rules allow a call without approval. `judged` is the real path that
   * the approval request showed. The rules must allow this path.
   */
  allows(call: ToolCallPart, judged: string | undefined): Promise<boolean>;
  /**
   * Returns the reason why the current rules ask about a call, or deny it. Returns undefined if they allow it.
   * Undefined if the agent has no rules.
   */
  readonly reasonToAsk?: ((call: ToolCallPart) => Promise<string | undefined>) | undefined;
  /** The modes that the user can choose, in the order of Shift-Tab. */
  readonly modes: readonly SessionMode[];
  /** Returns the current mode. */
  mode(): SessionMode;
  /** Changes the mode of this agent and of all its variants. It applies to the next call. */
  setMode(mode: SessionMode): void;
  /** Returns the current policy. Rules can be added while the agent runs. */
  policy(): PermissionPolicy;
  /**
   * Adds a rule for this session. With `always`, the rule also applies to all later sessions in
   * this project.
   */
  remember(rule: PermissionRule, forHowLong: 'session' | 'always'): Promise<void>;
  /** Removes a rule. Matching calls need an approval again, in this session and in later ones. */
  forget(rule: PermissionRule): Promise<void>;
  /** Returns the rules that are stored for this project. */
  rememberedRules(): Promise<readonly PermissionRule[]>;
  /**
   * Returns the effect of a file change. It helps the user to decide about the call. `judged` is the real path that
   * the question is about. The preview is about this file, in whatever folder the call runs. Returns undefined if
   * there is no preview, for example because the real path is unknown.
   */
  preview(call: PolicyCall, judged: string | undefined): Promise<ChangePreview | undefined>;
  /**
   * Runs a command that the user typed. It needs no approval and runs without the sandbox. Returns
   * its output and its exit code as text.
   */
  runUserCommand(command: string, signal: AbortSignal): Promise<string>;
  /**
   * Runs a call that the rules of the session allow without a question, as the agent would run it, and returns its
   * text. Returns undefined if the rules do not allow it, or if it fails. Undefined if the agent has no such tools.
   */
  readonly runUnasked?: RunUnasked | undefined;
  /** The commands that continue while the model works. Undefined if the agent cannot run commands. */
  readonly background?: BackgroundCommands | undefined;
  /**
   * Sets the handler for questions of the model (`ask_user`). Without a handler, questions are
   * dismissed.
   */
  setQuestionHandler(ask: AskUserOptions['ask'] | undefined): void;
  /** The skills, commands, hooks and other extensions of the session. */
  readonly extensions: Extensions;
  /** Calls the listener with each message of a hook for the user. */
  onNotice(listener: (text: string) => void): void;
  /** Returns a variant of the agent. It shares the tools, rules and servers of this agent. */
  with(changes: AgentChanges): BuiltAgent;
  /** Ends the background commands and closes the MCP servers of this agent and of all its variants. */
  close(): Promise<void>;
}

/** The progress of the MCP servers. When a server is connected, the agent gets its tools. */
interface ServerProgress {
  /** Returns the names of the servers that are not connected yet. */
  connecting(): readonly string[];
  /** Calls the listener each time a server has connected or failed. */
  onChange(listener: () => void): void;
  /** Returns a message for each failed server. Show each of them once. */
  problems(): readonly string[];
  /** Resolves when every server has connected or failed. */
  readonly ready: Promise<void>;
  /** Returns the state of each server. */
  list(): readonly ServerState[];
  /** Closes the connection to a server and connects again. Resolves when it has connected or failed. */
  reconnect(name: string): Promise<void>;
  /** Returns the prompts of the connected servers, as slash commands. */
  prompts(): readonly SlashPrompt[];
  /** Logs in to a server, and connects to it again. Throws if the login fails. */
  login(name: string, openPage: OpenLoginPage): Promise<void>;
  /** Deletes the login to a server, and connects to it again. */
  logout(name: string): Promise<void>;
}

/** The state of an MCP server. */
export interface ServerState {
  readonly name: string;
  readonly state: 'connecting' | 'connected' | 'failed' | 'needs_login';
  /** The number of tools of the MCP server. 0 if the server is not connected. */
  readonly tools: number;
  /** The reason why the connection failed. */
  readonly problem?: string | undefined;
}

export interface AgentChanges {
  /** The model that `/model` selected. */
  readonly chosen?: ChosenModel | undefined;
  /** The schema of the answer, from `--output-schema`. */
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
    | 'serverFiles'
    | 'namedFile'
    | 'system'
    | 'compactAtTokens'
    | 'cache'
    | 'webSearch'
    | 'foldersFile'
  >;
  readonly chosen: ChosenModel;
  readonly log: Log;
  readonly cwd: string;
  /**
   * Selects what happens when a call needs approval. `wait`: the run waits for an answer, and the
   * model can ask questions. `park`: the run ends and can be resumed later. Scripts use this.
   */
  readonly approve: 'wait' | 'park';
  /**
   * True if a server serves the agent to people. The model can then ask questions with `ask_user`, and tools
   * can show forms. Clients of the OpenAI-compatible endpoints can add tools, instructions and request options.
   * Default: false, for scripts that nobody answers.
   */
  readonly isServed?: boolean | undefined;
  /** Chooses the model of a step. Default: the chosen model. */
  readonly prepareStep?: AgentOptions['prepareStep'];
  /** The initial handler for questions of the model. See `BuiltAgent.setQuestionHandler`. */
  readonly ask?: AskUserOptions['ask'] | undefined;
  readonly output?: AgentChanges['output'];
  readonly observers?: AgentChanges['observers'];
  /**
   * Decides about an answer that was cut off because its driver stopped. `keep`: the run ends and
   * keeps the partial answer. `retry`: the request is sent again. Default: `keep`.
   */
  readonly onInterrupted?: AgentOptions['onInterrupted'];
  /** The name of this driver. Other processes show it if they find the session locked. */
  readonly name?: string | undefined;
  /**
   * The folder for copies of files from before a command changed them. `/undo` and `/rewind` restore the files
   * from these copies. Default: the agent does not record the changes that commands make.
   */
  readonly copies?: string | undefined;
  /** The list of background commands. Default: a new list. */
  readonly background?: BackgroundCommands | undefined;
  /** The files that are open in an editor. Default: none. */
  readonly buffers?: OpenBuffers | undefined;
  /** The skills, commands, hooks and other extensions that the user trusts. Default: none. */
  readonly extensions?: Extensions | undefined;
  /**
   * The environment, with stored keys. Hooks get its variables without secrets, and the output of commands is
   * masked with its secrets. Default: none.
   */
  readonly env?: Env | undefined;
  /** Opens the model that a file of a sub-agent asks for. Default: such a model is not used. */
  readonly openModel?: ((model: string, origin: Origin) => Promise<ChosenModel>) | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: Ids | undefined;
  /** Aborts the connection attempts to MCP servers. */
  readonly signal?: AbortSignal | undefined;
  /** Called with each problem that occurs after the start. The run continues. */
  readonly onProblem?: ((problem: string) => void) | undefined;
}

/** The model that is used, and the reason for this choice. */
export interface ChosenModel {
  readonly provider: Provider;
  /** The name for the status line: `anthropic/claude-sonnet-5-5`. */
  readonly label: string;
  /** The name with which the user chose the model. Undefined if the user named none. */
  readonly name?: string | undefined;
  /** A sentence for the user about the reason for the choice. It contains no key. */
  readonly why: string;
  readonly isDemo: boolean;
  /**
   * True if neither the user nor a key selected the model, for example if a local server answered.
   * Default: false.
   */
  readonly isGuess?: boolean | undefined;
  /** A sentence for the user about a limitation of this model. The chat shows it at the start. */
  readonly warning?: string | undefined;
  /** The size of the context window. Undefined if it is unknown. */
  readonly contextTokens?: number | undefined;
  /** Configured options that apply to each model request. */
  readonly request?: Pick<RequestOptions, 'reasoning' | 'maxOutputTokens'> | undefined;
}
