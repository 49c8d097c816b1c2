import type { PermissionRule } from '@millrace/tools';
import type { SandboxSetting, SessionMode, WebSearchSetting } from './config.ts';

/** The validated command line. */
export type Args =
  | AcpArgs
  | RpcArgs
  | McpArgs
  | McpLoginArgs
  | LoginArgs
  | InitArgs
  | PluginsArgs
  | ChatArgs
  | PrintArgs
  | SessionsArgs
  | ReplayArgs
  | InspectArgs
  | DiffArgs
  | TestArgs
  | EvalArgs
  | SqlArgs
  | VerifyArgs
  | ReportArgs
  | DoctorArgs
  | ModelsArgs
  | ServeArgs
  | BackupArgs
  | PsArgs
  | TopArgs
  | AttachArgs
  | ShareArgs
  | HelpArgs
  | VersionArgs;

/**
 * Arguments that every command accepts. If a value is undefined, it comes from the environment or
 * from the configuration files.
 */
export interface SharedArgs {
  readonly cwd?: string | undefined;
  /** If set, only this file is read. ./millrace.json and the user's own file are then ignored. */
  readonly config?: string | undefined;
  /** The path of the session store. */
  readonly store?: string | undefined;
  /** False if the user passed `--no-color`. */
  readonly color: boolean;
}

/** The session of a run. `pick` lets the user choose from a list. */
export type SessionChoice = 'new' | 'last' | 'pick' | { readonly id: string };

/** Arguments of an agent run. The chat and print commands share them. */
export interface RunArgs extends SharedArgs {
  readonly session: SessionChoice;
  readonly model?: string | undefined;
  readonly system?: string | undefined;
  readonly maxTurns?: number | undefined;
  readonly maxTokens?: number | undefined;
  /** The maximum cost in US dollars, as an exact decimal. */
  readonly maxCost?: string | undefined;
  /** The mode of `--mode`. `--yes` sets `allow`, and `--read-only` sets `read-only`. */
  readonly permissions?: SessionMode | undefined;
  /** The rules from `--allow` and `--deny`, in the given order. */
  readonly rules: readonly PermissionRule[];
  /** The sandbox profile for commands. */
  readonly sandbox?: SandboxSetting | undefined;
  /** The service that searches the web for the model. */
  readonly webSearch?: WebSearchSetting | undefined;
  /** If true, all settings of the folder's millrace.json are trusted from now on. */
  readonly trust: boolean;
  /** True if the chat prints lines and draws no screen. Default: the setting of the configuration. */
  readonly plain?: boolean | undefined;
  /** The URL of the trace collector. */
  readonly otlp?: string | undefined;
}

/** The arguments that affect the configuration. Each command has some of them. */
export type ConfigArgs = Partial<Omit<RunArgs, 'session'>>;

export interface ChatArgs extends RunArgs {
  readonly command: 'chat';
  /** The first message to the model. */
  readonly prompt?: string | undefined;
  /**
   * True if the chat continues a run that another process has handed over. An answer that was cut off is then
   * requested again. Default: false.
   */
  readonly takesOver?: boolean | undefined;
  /**
   * True if the prompt in the command line is empty. An empty variable in a script can cause this.
   */
  readonly hasEmptyPrompt?: boolean | undefined;
}

/** Arguments of the agent for editors. The editor chooses the sessions and their folders. */
export interface AcpArgs extends Omit<RunArgs, 'session' | 'otlp'> {
  readonly command: 'acp';
}

/** Arguments of the agent for programs. The program chooses the sessions and their folders. */
export interface RpcArgs extends Omit<RunArgs, 'session' | 'otlp'> {
  readonly command: 'rpc';
}

/** Arguments of the agent for clients of MCP. */
export interface McpArgs extends Omit<RunArgs, 'session' | 'otlp'> {
  readonly command: 'mcp';
}

/** Arguments of `millrace mcp login` and `millrace mcp logout`. */
export interface McpLoginArgs extends SharedArgs {
  readonly command: 'mcp-login';
  readonly action: 'login' | 'logout';
  /** The name of the MCP server in the configuration. */
  readonly name: string;
  /** If true, the user enters a code on another device. */
  readonly device: boolean;
}

/** Arguments of `millrace login` and `millrace logout`. */
export interface LoginArgs extends SharedArgs {
  readonly command: 'login' | 'logout';
  /** The service whose account gives a key. */
  readonly service: 'openrouter';
}

/** Arguments of `millrace init`. */
export interface InitArgs extends Omit<RunArgs, 'session' | 'otlp'> {
  readonly command: 'init';
}

/** Arguments of `millrace plugins`. */
export interface PluginsArgs extends SharedArgs {
  readonly command: 'plugins';
  readonly action: 'list' | 'add' | 'remove';
  /** The folder, package or plugin. Empty for `list`. */
  readonly operand: string;
  /** If true, adds without asking. */
  readonly yes: boolean;
}

/** The values of `--stream`. */
export const streamSettings = ['answer', 'all'] as const;

export interface PrintArgs extends RunArgs {
  readonly command: 'print';
  /** The prompt. Default: the piped input. */
  readonly prompt?: string | undefined;
  /** If true, prints AgentEvents as JSONL. Otherwise prints the answer as text. */
  readonly json: boolean;
  /**
   * Selects the text on standard output. `answer`: the last message of the model, after the run
   * ends. `all`: all text of the model, as it arrives. Default: `answer`.
   */
  readonly stream?: (typeof streamSettings)[number] | undefined;
  /** The path of a JSON schema for the answer. */
  readonly outputSchema?: string | undefined;
  /** If true, prints progress to standard error even without a terminal. */
  readonly verbose?: boolean | undefined;
  /** Continues the session in a branch, for `millrace branch`. Default: continues the session itself. */
  readonly branch?: BranchArgs | undefined;
  /** For `millrace branch`: the path of a module that exports the agents. Default: the agent of the terminal. */
  readonly agents?: string | undefined;
  /** For `millrace branch`: the name of the agent that recorded the session. Default: the only agent. */
  readonly agent?: string | undefined;
}

/** The changes of a branch. */
interface BranchArgs {
  /** The offset of the record to continue from. */
  readonly at: number;
  readonly text: string | undefined;
  readonly instructions: string | undefined;
  /** Results that replace the recorded ones, by the ids of the calls. */
  readonly results: Readonly<Record<string, string>>;
  /** The calls that run again: names of tools, or ids of calls. */
  readonly rerun: readonly string[];
}

export interface SessionsArgs extends SharedArgs {
  readonly command: 'sessions';
  readonly action: SessionsAction;
  /**
   * Ids, id prefixes or `last`. For `import`, these are the files to read. An empty list means
   * standard input.
   */
  readonly operands: readonly string[];
  /** If true, includes the sessions of all folders. */
  readonly all: boolean;
  readonly json: boolean;
  /** The file that `export` writes. Default: standard output. */
  readonly output?: string | undefined;
  /** If true, deletes without asking. */
  readonly yes: boolean;
  /** For `pin`: the path of a module that exports the agents. */
  readonly agents?: string | undefined;
  /** For `pin`: the name of the agent that recorded the session. */
  readonly agent?: string | undefined;
}

export type SessionsAction = 'list' | 'show' | 'delete' | 'export' | 'import' | 'pin';

export interface ReplayArgs extends SharedArgs {
  readonly command: 'replay';
  /** An id, an id prefix, `last`, or a file of `millrace report` or `millrace sessions pin`. */
  readonly session: string;
  /** The speed factor. `Infinity` shows everything immediately. */
  readonly speed: number;
  readonly json: boolean;
}

export interface InspectArgs extends SharedArgs {
  readonly command: 'inspect';
  readonly session: string;
  readonly json: boolean;
}

/** Arguments of `millrace diff`. A session is an id, an id prefix or `last`. */
export interface DiffArgs extends SharedArgs {
  readonly command: 'diff';
  readonly a: string;
  /** Default: `a` is a fork, and it is compared with the session that it was forked from. */
  readonly b?: string | undefined;
  readonly json: boolean;
}

/** The values of `--mode` of `millrace test`. */
export const testModes = ['exact', 'requests', 'live'] as const;
/** The values of `--tools`. */
export const liveToolSettings = ['recorded', 'real'] as const;

/** Arguments of `millrace test`, which runs recorded sessions through the agents of a module. */
export interface TestArgs extends SharedArgs {
  readonly command: 'test';
  /** Folders, files with a recording, or sessions: ids, id prefixes or `last`. */
  readonly operands: readonly string[];
  /** The path of a module that exports the agents. */
  readonly agents?: string | undefined;
  /** The name of the agent. Default: the name that the recording has. */
  readonly agent?: string | undefined;
  readonly mode: (typeof testModes)[number];
  /** How tools behave in the mode `live`. */
  readonly tools: (typeof liveToolSettings)[number];
  /** If true, writes changed recordings again, with what the agent does today. */
  readonly accept: boolean;
  /** The files of reports. The ending chooses the form: .html, .xml or .json. */
  readonly outputs: readonly string[];
  /** If true, the reports replace existing files. */
  readonly force: boolean;
  readonly json: boolean;
}

/** Arguments of `millrace eval`. */
export interface EvalArgs extends SharedArgs {
  readonly command: 'eval';
  /** The path of the module that exports the experiment. */
  readonly file: string;
  readonly gates: readonly EvalGate[];
  readonly repeats?: number | undefined;
  readonly concurrency?: number | undefined;
  /** In dollars, as an exact decimal number. */
  readonly maxCost?: string | undefined;
  readonly retryFailed: boolean;
  /** The files of reports. The ending chooses the form: .html, .xml, .json or .md. */
  readonly outputs: readonly string[];
  /** If true, the reports replace existing files. */
  readonly force: boolean;
  readonly json: boolean;
}

/** A limit of `--fail-under`. */
export interface EvalGate {
  readonly variant?: string | undefined;
  readonly scorer?: string | undefined;
  readonly failUnder: number;
}

/** Arguments of `millrace sql`. */
export interface SqlArgs extends SharedArgs {
  readonly command: 'sql';
  /** The query, or `-` for standard input. Undefined prints the tables. */
  readonly query?: string | undefined;
  readonly format: 'table' | 'json' | 'csv';
  /** The file to write in the format Parquet, instead of printing the rows. */
  readonly parquet?: string | undefined;
  readonly since?: string | undefined;
}

/** Arguments of `millrace verify`, which checks the hash chains of sessions. */
export interface VerifyArgs extends SharedArgs {
  readonly command: 'verify';
  /** Sessions (ids, id prefixes or `last`), or files that `millrace sessions export` wrote. */
  readonly operands: readonly string[];
  /** Files with signed heads that the chains must contain. */
  readonly heads: readonly string[];
  /** The file with the public key of the heads. */
  readonly key?: string | undefined;
  /** The file with a private key. The command signs the end of the chain with it. */
  readonly sign?: string | undefined;
  readonly json: boolean;
}

/** Arguments of `millrace report`, which writes a session without secrets into one file. */
export interface ReportArgs extends SharedArgs {
  readonly command: 'report';
  /** An id, an id prefix or `last`. */
  readonly session: string;
  /** The file to write. Default: a name with the id of the session, in the working folder. */
  readonly output?: string | undefined;
  /** The path of a module that exports the agent of the session. */
  readonly agents?: string | undefined;
  readonly agent?: string | undefined;
  /** If true, writes without asking. */
  readonly yes: boolean;
}

export interface DoctorArgs extends SharedArgs {
  readonly command: 'doctor';
  readonly json: boolean;
}

export interface ModelsArgs extends SharedArgs {
  readonly command: 'models';
  readonly json: boolean;
  /** The path of a file with a newer table of models. */
  readonly refresh?: string | undefined;
}

/** Arguments of `millrace ps`, which lists the sessions with work. */
export interface PsArgs extends SharedArgs {
  readonly command: 'ps';
  readonly json: boolean;
}

/** Arguments of `millrace top`, which shows the sessions with work until the user closes it. */
export interface TopArgs extends SharedArgs {
  readonly command: 'top';
}

/** Arguments of `millrace attach`, which opens a session with work in the chat. */
export interface AttachArgs extends SharedArgs {
  readonly command: 'attach';
  /** An id, an id prefix or `last`. Default: the session with work that changed last. */
  readonly session?: string | undefined;
  /** True if the chat prints lines and draws no screen. Default: the setting of the configuration. */
  readonly plain?: boolean | undefined;
}

/** Arguments of `millrace share`, which prints a link to one session. */
export interface ShareArgs extends SharedArgs {
  readonly command: 'share';
  /** An id, an id prefix or `last`. Default: the session with work that changed last. */
  readonly session?: string | undefined;
  /** If true, the link can also send messages, answer questions and stop the run. */
  readonly canWrite: boolean;
  /** The time for which the link is valid, in seconds. */
  readonly seconds: number;
  /** The address of the server for other machines. */
  readonly url?: string | undefined;
}

export interface ServeArgs {
  readonly command: 'serve';
  /** If true, serves the sessions of the terminal, and `store` is their file. */
  readonly daemon: boolean;
  /** With `daemon`: ends after this many minutes without work. Default: it does not end by itself. */
  readonly idleMinutes?: number | undefined;
  /** The working folder of the default agents. They are used if `agents` is not set. */
  readonly cwd?: string | undefined;
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  /** The path of a module that exports the agents. */
  readonly agents?: string | undefined;
  /** The folder for sessions, tasks and keys. */
  readonly data?: string | undefined;
  /** A data folder, as in `data`, or the URL of a database that several servers share. */
  readonly store?: string | undefined;
  /** The URL of the bus that tells other servers about new records. */
  readonly bus?: string | undefined;
  readonly log: 'text' | 'json';
  readonly token?: string | undefined;
  /** If true, the server requires no token, so every user of this machine has access. */
  readonly noToken: boolean;
  /** If true, new sessions get a hash chain for `millrace verify`. */
  readonly chain: boolean;
  /** The networks in which remote agents may be, as a list with commas. */
  readonly agentNetworks?: string | undefined;
  /** The host names of the server, for example behind a TLS proxy. */
  readonly allowHosts: readonly string[];
  /** The origins of other sites whose pages may call the server. */
  readonly origins: readonly string[];
  /** The path at which a proxy mounts the server. */
  readonly basePath?: string | undefined;
  /** The addresses and networks of the proxies in front of the server. */
  readonly trustedProxies: readonly string[];
  /** The URL of the trace collector. */
  readonly otlp?: string | undefined;
  /** If true, the default agents may change files and run programs. */
  readonly yes: boolean;
}

export interface BackupArgs extends SharedArgs {
  readonly command: 'backup' | 'restore';
  /** The path of the backup file. */
  readonly file: string;
  /** The data folder of a server. */
  readonly data?: string | undefined;
  /** If true, restores into a store that is not empty. The content of the store is deleted. */
  readonly replace: boolean;
}

interface HelpArgs {
  readonly command: 'help';
  /** The command to explain. Undefined means the main help page. */
  readonly topic?: HelpTopic | undefined;
}

export type HelpTopic =
  | 'init'
  | 'login'
  | 'logout'
  | 'plugins'
  | 'acp'
  | 'rpc'
  | 'mcp'
  | 'sessions'
  | 'replay'
  | 'inspect'
  | 'diff'
  | 'branch'
  | 'test'
  | 'eval'
  | 'sql'
  | 'verify'
  | 'report'
  | 'models'
  | 'doctor'
  | 'serve'
  | 'backup'
  | 'restore'
  | 'ps'
  | 'top'
  | 'attach'
  | 'share';

interface VersionArgs {
  readonly command: 'version';
}
