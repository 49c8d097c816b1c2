import type { PermissionRule } from '@millrace/tools';
import type { SandboxSetting } from './config.ts';

/** The validated command line. */
export type Args =
  | ChatArgs
  | PrintArgs
  | SessionsArgs
  | ReplayArgs
  | InspectArgs
  | DoctorArgs
  | ModelsArgs
  | ServeArgs
  | BackupArgs
  | HelpArgs
  | VersionArgs;

/**
 * Arguments of every command. A missing value is undefined. The environment and then the files are
 * used instead.
 */
export interface SharedArgs {
  readonly cwd?: string | undefined;
  /** If set, only this file is read, instead of ./millrace.json and the user's own file. */
  readonly config?: string | undefined;
  /** The path of the session store. */
  readonly store?: string | undefined;
  /** False after `--no-color`. */
  readonly color: boolean;
}

/** The session of a run. `pick` means that the user chooses one from a list. */
export type SessionChoice = 'new' | 'last' | 'pick' | { readonly id: string };

/** Arguments of a run of the agent. Chat and print share them. */
export interface RunArgs extends SharedArgs {
  readonly session: SessionChoice;
  readonly model?: string | undefined;
  readonly system?: string | undefined;
  readonly maxTurns?: number | undefined;
  readonly maxTokens?: number | undefined;
  /** The maximum cost in US dollars, as an exact decimal. */
  readonly maxCost?: string | undefined;
  /** `--yes` sets `allow`, `--read-only` sets `read-only`. */
  readonly permissions?: 'allow' | 'read-only' | undefined;
  /** The rules of `--allow` and `--deny`, in their order. */
  readonly rules: readonly PermissionRule[];
  /** How commands are confined. */
  readonly sandbox?: SandboxSetting | undefined;
  /** Trust all settings of the folder's millrace.json from now on. */
  readonly trust: boolean;
  /** The URL of the trace collector. */
  readonly otlp?: string | undefined;
}

/** The arguments that affect the configuration. Every command can have them. */
export type ConfigArgs = Partial<Omit<RunArgs, 'session'>>;

export interface ChatArgs extends RunArgs {
  readonly command: 'chat';
  /** The first message to the model. */
  readonly prompt?: string | undefined;
  /** True if the command line has a prompt without text, such as an empty variable of a script. */
  readonly hasEmptyPrompt?: boolean | undefined;
}

/** The values of `--stream`. */
export const streamSettings = ['answer', 'all'] as const;

export interface PrintArgs extends RunArgs {
  readonly command: 'print';
  /** The prompt. If it is missing, the piped input is the prompt. */
  readonly prompt?: string | undefined;
  /** Print AgentEvents as JSONL instead of the answer as text. */
  readonly json: boolean;
  /**
   * The text on standard output. `answer`: the last message of the model, when the run is over.
   * `all`: everything that the model writes, as it arrives. Default: `answer`.
   */
  readonly stream?: (typeof streamSettings)[number] | undefined;
  /** The path of a JSON schema for the answer. */
  readonly outputSchema?: string | undefined;
  /** Print progress to standard error even without a terminal. */
  readonly verbose?: boolean | undefined;
}

export interface SessionsArgs extends SharedArgs {
  readonly command: 'sessions';
  readonly action: SessionsAction;
  /**
   * Ids, id prefixes or `last`. For `import`, they are the files to read. An empty list means
   * standard input.
   */
  readonly operands: readonly string[];
  /** Include the sessions of all folders. */
  readonly all: boolean;
  readonly json: boolean;
  /** The file that `export` writes. Default: standard output. */
  readonly output?: string | undefined;
  /** Delete without asking. */
  readonly yes: boolean;
}

export type SessionsAction = 'list' | 'show' | 'delete' | 'export' | 'import';

export interface ReplayArgs extends SharedArgs {
  readonly command: 'replay';
  /** An id, an id prefix or `last`. */
  readonly session: string;
  /** The speed factor. `Infinity` shows everything at once. */
  readonly speed: number;
  readonly json: boolean;
}

export interface InspectArgs extends SharedArgs {
  readonly command: 'inspect';
  readonly session: string;
  readonly json: boolean;
}

export interface DoctorArgs extends SharedArgs {
  readonly command: 'doctor';
  readonly json: boolean;
}

export interface ModelsArgs extends SharedArgs {
  readonly command: 'models';
  readonly json: boolean;
  /** The path of a newer table of models. */
  readonly refresh?: string | undefined;
}

export interface ServeArgs {
  readonly command: 'serve';
  /** The folder in which the agents without `agents` work. */
  readonly cwd?: string | undefined;
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  /** The path of a module that exports the agents. */
  readonly agents?: string | undefined;
  /** The folder for sessions, tasks and keys. */
  readonly data?: string | undefined;
  /** The data folder, like `data`, or the URL of a database that several servers share. */
  readonly store?: string | undefined;
  /** The URL of the bus, which informs other servers about new records. */
  readonly bus?: string | undefined;
  readonly log: 'text' | 'json';
  readonly token?: string | undefined;
  /** If true, no token is required, so every user of this machine has access. */
  readonly noToken: boolean;
  /** The networks in which remote agents may be, separated by commas. */
  readonly agentNetworks?: string | undefined;
  /** The names of the server, for example behind a proxy with TLS. */
  readonly allowHosts: readonly string[];
  /** The origins of other hosts whose pages may call the server. */
  readonly origins: readonly string[];
  /** The path at which a proxy mounts the server. */
  readonly basePath?: string | undefined;
  /** The addresses and networks of the proxies in front of the server. */
  readonly trustedProxies: readonly string[];
  /** The URL of the trace collector. */
  readonly otlp?: string | undefined;
  /** Allow the agents without `agents` to change files and run programs. */
  readonly yes: boolean;
}

export interface BackupArgs extends SharedArgs {
  readonly command: 'backup' | 'restore';
  /** The file of the backup. */
  readonly file: string;
  /** The data folder of a server. */
  readonly data?: string | undefined;
  /** Restore into a store that is not empty, and delete its content. */
  readonly replace: boolean;
}

interface HelpArgs {
  readonly command: 'help';
  /** The command to explain. Undefined for the main page. */
  readonly topic?: HelpTopic | undefined;
}

export type HelpTopic =
  | 'sessions'
  | 'replay'
  | 'inspect'
  | 'models'
  | 'doctor'
  | 'serve'
  | 'backup'
  | 'restore';

interface VersionArgs {
  readonly command: 'version';
}
