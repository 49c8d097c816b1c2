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

/** An agent for a folder, and what can be done to it while it is used. */
export interface BuiltAgent {
  readonly agent: Agent;
  readonly chosen: ChosenModel;
  readonly tools: readonly Tool[];
  /** What could not be had, an MCP server for instance, in sentences for people. To be shown once. */
  readonly problems: readonly string[];
  /** Whether a call needs no asking, by the rules as they are now. */
  allows(call: ToolCallPart): Promise<boolean>;
  /** As it is now: rules may be added while the agent runs. */
  policy(): PermissionPolicy;
  /** Decides on calls from now on, here or, with `always`, in each later session in this project too. */
  remember(rule: PermissionRule, forHowLong: 'session' | 'always'): Promise<void>;
  /** Such calls are asked about again, here and in later sessions. */
  forget(rule: PermissionRule): Promise<void>;
  /** What was decided on once and for all in this project. */
  rememberedRules(): Promise<readonly PermissionRule[]>;
  /** What a change of a file would do, for whoever decides on it; undefined where that cannot be said. */
  preview(call: PolicyCall): Promise<ChangePreview | undefined>;
  /** Who answers the questions of the model (`ask_user`). Until somebody does, they count as dismissed. */
  setQuestionHandler(ask: AskUserOptions['ask'] | undefined): void;
  /** The same agent with something else about it. It shares tools, rules and servers with this one. */
  with(changes: AgentChanges): BuiltAgent;
  /** Ends its MCP servers, for all that were made from it. */
  close(): Promise<void>;
}

export interface AgentChanges {
  /** Another model, for `/model`. */
  readonly chosen?: ChosenModel | undefined;
  /** What answers have to be like, for `--output-schema`. */
  readonly output?: AgentOptions['output'];
  readonly observers?: readonly Observer[] | undefined;
}

export interface BuildOptions {
  readonly config: Pick<
    Config,
    'limits' | 'permissions' | 'mcpServers' | 'system' | 'compactAtTokens' | 'foldersFile'
  >;
  readonly chosen: ChosenModel;
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

/** The model that answers, and why it is this one. */
export interface ChosenModel {
  readonly provider: Provider;
  /** For the status line: `anthropic/claude-sonnet-5-5`. */
  readonly label: string;
  /** One sentence for people. No key is in it. */
  readonly why: string;
  readonly isDemo: boolean;
  /** How much it can be sent at once, where that is known. */
  readonly contextTokens?: number | undefined;
  /** What its configuration asks for in each request. */
  readonly request?: Pick<RequestOptions, 'reasoning' | 'maxOutputTokens'> | undefined;
}
