import type { Tool } from '@millrace/agent';
import type { JsonValue } from '@millrace/core';
import type { ModelConfig } from './config.ts';

/**
 * The origin of an extension: the project, or the user's own folder. Files of a project are used
 * only if the user trusts the folder.
 */
export type Origin = 'project' | 'user';

/** A skill: a folder with a SKILL.md. The model loads its text on demand. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly origin: Origin;
  /** The absolute path of SKILL.md. */
  readonly path: string;
  /** The real path of SKILL.md when the session started. */
  readonly realPath: string;
  /** The real path of the repository root. A skill of a project reads only files below it. */
  readonly root: string;
  /** False if only the user may start the skill (`disable-model-invocation`). */
  readonly isForModel: boolean;
  /** False if only the model may load the skill (`user-invocable: false`). */
  readonly isForUser: boolean;
  /** The name of the plugin that contains the skill. Undefined if it belongs to no plugin. */
  readonly plugin?: string | undefined;
  /** The folder of that plugin. */
  readonly pluginFolder?: string | undefined;
}

/** A slash command from a Markdown file. */
export interface CustomCommand {
  /** Name of the command, without its slash. */
  readonly name: string;
  readonly description: string;
  readonly argumentHint?: string | undefined;
  readonly origin: Origin;
  readonly path: string;
  /** The text of the file, without its front matter. */
  readonly text: string;
  /** The name of the plugin that contains the command. Undefined if it belongs to no plugin. */
  readonly plugin?: string | undefined;
}

/** A sub-agent from a Markdown file, for the `task` tool. */
export interface AgentFile {
  readonly name: string;
  readonly description: string;
  readonly origin: Origin;
  readonly path: string;
  /** The instructions of the sub-agent. */
  readonly text: string;
  /** The names of its tools, as this program names them. Default: all tools. */
  readonly tools?: readonly string[] | undefined;
  /** The model that the file asks for. Default: the model of the main agent. */
  readonly model?: string | undefined;
  /** True if each task runs in a git worktree of its own. Default: false. */
  readonly isIsolated?: boolean | undefined;
}

export const hookEvents = [
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PermissionRequest',
  'UserPromptSubmit',
  'SessionStart',
  'SessionEnd',
  'PreCompact',
  'Stop',
  'SubagentStart',
  'SubagentStop',
  'Notification',
] as const;

export type HookEvent = (typeof hookEvents)[number];

/** A program that runs at an event. */
export interface Hook {
  readonly event: HookEvent;
  /** The names that the event must match, such as `Edit|Write`. Undefined matches everything. */
  readonly matcher?: string | undefined;
  /** A further condition on a tool call, such as `Bash(git push *)`. */
  readonly condition?: string | undefined;
  readonly command: string;
  readonly timeoutMs: number;
  /** True if nothing waits for the hook. */
  readonly isAsync: boolean;
  readonly origin: Origin;
  /** The settings file that contains the hook. */
  readonly file: string;
  /** The folder that `CLAUDE_PROJECT_DIR` names. */
  readonly projectFolder: string;
  /** The folder of the plugin that contains the hook. Undefined if the hook belongs to no plugin. */
  readonly pluginFolder?: string | undefined;
  /** True if the hook starts in the folder of its plugin. Default: it starts in the folder of the session. */
  readonly startsInPlugin?: boolean | undefined;
}

/** A file with instructions for the model, such as CLAUDE.md. */
export interface InstructionFile {
  readonly path: string;
  readonly origin: Origin;
}

/** A file with code that extends the program. See `Extension` of `@millrace/tools/extension`. */
export interface ExtensionModule {
  /** The name of the file without its ending, or of its folder. */
  readonly name: string;
  readonly origin: Origin;
  /** The real path. */
  readonly path: string;
  /**
   * The SHA-256 digests of all files that an extension of a project may import, by their real paths. Undefined
   * for an extension of the user, which may import all files.
   */
  readonly files?: Readonly<Record<string, string>> | undefined;
}

/** What the code of extensions adds to a session. */
export interface ExtensionCode {
  readonly tools: readonly Tool[];
  readonly commands: readonly CodeCommand[];
  readonly themes: readonly CodeTheme[];
  /** The models, by name. */
  readonly models: Readonly<Record<string, ModelConfig>>;
  /** A sentence for the user about each extension that is not used. */
  readonly problems: readonly string[];
  /** Returns the texts for the status line. */
  status(): readonly string[];
  /** Calls the listener when a text for the status line changes. */
  onStatus(listener: () => void): void;
  /** Calls the listener with each message for the user. */
  onNotice(listener: (text: string) => void): void;
  /** The names of the tools that have a renderer. */
  readonly rendered: ReadonlySet<string>;
  /** Returns the text to show for the result of a tool. Undefined if no renderer has one. */
  render(result: {
    readonly tool: string;
    readonly input: JsonValue;
    readonly text: string;
  }): Promise<string | undefined>;
  close(): Promise<void>;
}

/** A slash command of an extension. */
export interface CodeCommand {
  /** Name of the command, without its slash. */
  readonly name: string;
  readonly description: string;
  readonly argument?: string | undefined;
  /** The key that runs the command, such as `alt+o`. Default: none. */
  readonly key?: string | undefined;
  run(
    argument: string,
    signal?: AbortSignal,
  ): Promise<{ readonly print?: string; readonly send?: string; readonly prompt?: string }>;
}

/** A theme of an extension. The styles are texts such as `bold red`. */
export interface CodeTheme {
  readonly name: string;
  readonly styles: Readonly<Record<string, string>>;
}

/** The extensions that a session uses. */
export interface Extensions {
  readonly skills: readonly Skill[];
  readonly commands: readonly CustomCommand[];
  readonly agents: readonly AgentFile[];
  readonly hooks: readonly Hook[];
  /** The instruction files beside AGENTS.md of the project. */
  readonly instructions: readonly InstructionFile[];
  /** The files with code. */
  readonly modules: readonly ExtensionModule[];
  /** What the code has added. Undefined if there is no code, or if it is not loaded. */
  readonly code?: ExtensionCode | undefined;
  /**
   * Returns false if a script of the project's hooks has changed since the user trusted it. The hooks
   * of the project then do not run any more in this session.
   */
  readonly areHooksUnchanged: () => Promise<boolean>;
  /**
   * The scripts of the project's hooks, and the folders of their settings. Commands in the sandbox
   * cannot change them. Otherwise a command could replace a script between its check and its start.
   */
  readonly hookFiles: readonly string[];
  /** A sentence for the user about each file or setting that is not used. */
  readonly problems: readonly string[];
}

/** Extensions of a project that the user does not trust yet. */
export interface UntrustedExtensions {
  /** The root of the project. */
  readonly root: string;
  readonly found: Omit<Extensions, 'areHooksUnchanged' | 'hookFiles' | 'problems' | 'code'>;
  /**
   * Returns a text that changes when a hook, one of its scripts, an extension, or the list of files changes. The first call can
   * search the project for scripts.
   */
  readonly fingerprint: () => Promise<string>;
}

/** A command, a skill or a prompt of an MCP server that the user can start with a slash. */
export interface SlashPrompt {
  /** Name with its slash, in lower case. */
  readonly name: string;
  readonly description: string;
  /** The placeholder for the argument. Undefined if there is no argument. */
  readonly argument?: string | undefined;
  /** The shorter name that means the same, without the name of the plugin. Default: none. */
  readonly aliasOf?: string | undefined;
  /** Returns the text for the model. */
  expand(argument: string): Promise<string>;
}
