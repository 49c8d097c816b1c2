import type { PermissionRule } from '@millrace/tools';

/** What was asked for on the command line, checked, with nothing of its spelling left. */
export type Args =
  | ChatArgs
  | PrintArgs
  | SessionsArgs
  | ReplayArgs
  | InspectArgs
  | DoctorArgs
  | ServeArgs
  | HelpArgs
  | VersionArgs;

/** What every command takes. What was not given is not there: the environment and files come next. */
export interface SharedArgs {
  readonly cwd?: string | undefined;
  /** This file alone, instead of ./millrace.json and the user's own. */
  readonly config?: string | undefined;
  /** The file of the sessions. */
  readonly store?: string | undefined;
  /** False after `--no-color`. */
  readonly color: boolean;
}

/** Which session a run is in. `pick`: the person chooses one of the list. */
export type SessionChoice = 'new' | 'last' | 'pick' | { readonly id: string };

/** What a chat and a print have in common: a run of the agent. */
export interface RunArgs extends SharedArgs {
  readonly session: SessionChoice;
  readonly model?: string | undefined;
  readonly system?: string | undefined;
  readonly maxTurns?: number | undefined;
  readonly maxTokens?: number | undefined;
  /** In US dollars, an exact decimal. */
  readonly maxCost?: string | undefined;
  /** `--yes` is `allow`, `--read-only` is `read-only`. */
  readonly permissions?: 'allow' | 'read-only' | undefined;
  /** Of `--allow` and `--deny`, in their order. */
  readonly rules: readonly PermissionRule[];
  /** Take all of the folder's millrace.json, from now on. */
  readonly trust: boolean;
  /** Where spans go. */
  readonly otlp?: string | undefined;
}

/** What a configuration is made of, of any command: those that are no run have fewer. */
export type ConfigArgs = Partial<Omit<RunArgs, 'session'>>;

export interface ChatArgs extends RunArgs {
  readonly command: 'chat';
  /** The first thing to say. */
  readonly prompt?: string | undefined;
}

export interface PrintArgs extends RunArgs {
  readonly command: 'print';
  /** Without one, what is piped in is the prompt. */
  readonly prompt?: string | undefined;
  /** AgentEvents as JSONL instead of the answer as text. */
  readonly json: boolean;
  /** The file of a JSON schema that the answer has to fit. */
  readonly outputSchema?: string | undefined;
  /** Say on standard error what happens, though nobody watches. */
  readonly verbose?: boolean | undefined;
}

export interface SessionsArgs extends SharedArgs {
  readonly command: 'sessions';
  readonly action: SessionsAction;
  /** Ids, beginnings of ids, or `last`; of `import` the files, or none for what is piped in. */
  readonly operands: readonly string[];
  /** Those of every folder, not only of this one. */
  readonly all: boolean;
  readonly json: boolean;
  /** Where `export` writes, instead of to the standard output. */
  readonly output?: string | undefined;
  /** `delete` does not ask. */
  readonly yes: boolean;
}

export type SessionsAction = 'list' | 'show' | 'delete' | 'export' | 'import';

export interface ReplayArgs extends SharedArgs {
  readonly command: 'replay';
  /** An id, the beginning of one, or `last`. */
  readonly session: string;
  /** Times faster than it was; `Infinity` is at once. */
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

export interface ServeArgs {
  readonly command: 'serve';
  /** The folder that the demo looks around in. */
  readonly cwd?: string | undefined;
  readonly port?: number | undefined;
  readonly host?: string | undefined;
  /** A module whose exports are the agents. */
  readonly agents?: string | undefined;
  /** The folder of sessions, tasks and keys. */
  readonly data?: string | undefined;
  /** The same, or a database that several servers share. */
  readonly store?: string | undefined;
  /** What tells other servers of what was said. */
  readonly bus?: string | undefined;
  readonly log: 'text' | 'json';
  readonly token?: string | undefined;
  /** Where spans go. */
  readonly otlp?: string | undefined;
  /** The demo may change files and run programs. */
  readonly yes: boolean;
}

interface HelpArgs {
  readonly command: 'help';
  /** The sub-command that is asked about; all of it without one. */
  readonly topic?: HelpTopic | undefined;
}

export type HelpTopic = 'sessions' | 'replay' | 'inspect' | 'doctor' | 'serve';

interface VersionArgs {
  readonly command: 'version';
}
