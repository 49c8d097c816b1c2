import type { Cost } from '@millrace/core';
import type { ModelInfo, ReasoningEffort } from '@millrace/providers';
import type { PermissionMode, PermissionRule, SearchService } from '@millrace/tools';
import type { McpServer } from '@millrace/tools/mcp';

/**
 * The merged configuration. The priority is: flags, environment, ./millrace.json, the user's
 * config.json.
 */
export interface Config {
  /**
   * The requested model: a key of `models`, `provider/model`, `demo`, or the plain name of a model.
   */
  readonly model?: string | undefined;
  /** The same name if only the `millrace.json` of the project contains it. */
  readonly projectModel?: string | undefined;
  readonly models: Readonly<Record<string, ModelConfig>>;
  readonly reasoning?: ReasoningEffort | undefined;
  /** Additional instructions for the model. The built-in instructions and AGENTS.md also apply. */
  readonly system?: string | undefined;
  readonly limits: LimitsConfig;
  readonly permissions: PermissionsConfig;
  /** The sandbox for commands. Undefined means no sandbox. */
  readonly sandbox?: SandboxConfig | undefined;
  readonly commands?: CommandsConfig | undefined;
  /** The enabled MCP servers, in the form that `connectMcp` takes. */
  readonly mcpServers: readonly ConfiguredMcpServer[];
  /** The absolute paths of the project's files that MCP servers execute. Default: none. */
  readonly serverFiles?: readonly string[] | undefined;
  /**
   * The absolute path of the configuration file that `--config` or `MILLRACE_CONFIG` names. Default: none.
   */
  readonly namedFile?: string | undefined;
  /** The absolute path of the session store. Default: see `storePath`. */
  readonly store?: string | undefined;
  /** If true, each session of the store gets a hash chain for `millrace verify`. Default: false. */
  readonly chain?: boolean | undefined;
  /**
   * The context size in tokens at which older turns are summarized. Default: depends on the model.
   */
  readonly compactAtTokens?: number | undefined;
  /** The time for which the provider caches the common start of requests. Default: `5m`. */
  readonly cache?: CacheSetting | undefined;
  /** The service that searches the web for the model. Default: `auto`. */
  readonly webSearch?: WebSearchSetting | undefined;
  /** True if web search is off, or a rule for it denies or asks. A provider cannot ask the user. Default: false. */
  readonly isProviderSearchOff?: boolean | undefined;
  /** The colors of the chat. Default: `auto`. */
  readonly theme?: ThemeName | undefined;
  /** If true, the chat prints lines for a screen reader and draws no screen. Default: false. */
  readonly plain?: boolean | undefined;
  /** The notifications of the chat. */
  readonly notifications?: NotificationsConfig | undefined;
  /** The files that were read, highest priority first. `doctor` shows them. */
  readonly files: readonly string[];
  /** Messages about skipped settings, with advice. Show each of them once. */
  readonly warnings: readonly string[];
  /**
   * The parts of the project's file that were skipped, because the user does not trust them yet.
   * Undefined if there are none.
   */
  readonly untrusted?: UntrustedFile | undefined;
  /** The file that stores decisions about folders. See `rememberRule`. */
  readonly foldersFile?: string | undefined;
}

/** An MCP server of the configuration. */
export type ConfiguredMcpServer = McpServer & {
  /** Maximum time for the server to start and to list its tools. Default: 60 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** How the user logs in to a server with a URL. Default: there is no login. */
  readonly login?: ServerLogin | undefined;
};

/** How the user logs in to an MCP server, and the folder with the stored logins. */
export interface ServerLogin extends FileServerLogin {
  readonly folder: string;
}

/** A project's file, and the parts of it that were skipped. */
export interface UntrustedFile {
  readonly path: string;
  readonly parts: readonly string[];
  /** The skipped parts as JSON. */
  readonly content: string;
  /** The project's files that its MCP servers execute. */
  readonly scripts: readonly ServerScript[];
  /** The files that the servers executed when the user trusted them, and that do not exist any more. Default: none. */
  readonly removedScripts?: readonly string[] | undefined;
}

/** A file of the project that an MCP server executes. */
export interface ServerScript {
  /** The path, relative to the folder of millrace.json. */
  readonly path: string;
  /** Changes if the content of the file changes. */
  readonly fingerprint: string;
  /** True if the file has changed since the user trusted it. */
  readonly isChanged: boolean;
}

/** A named model of the configuration. */
export interface ModelConfig {
  readonly provider: ProviderName;
  readonly model: string;
  readonly api?: 'chat' | 'responses' | undefined;
  readonly baseUrl?: string | undefined;
  /**
   * The API key, after expanding environment variables. Default: the usual variable of the
   * provider.
   */
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Values of environment variables in the path of `baseUrl`, and the key of an extension's provider. They are
   * never shown. Default: none.
   */
  readonly secrets?: readonly string[] | undefined;
  readonly contextTokens?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly reasoning?: ReasoningEffort | undefined;
  /** Facts about the model that override the built-in table of models. */
  readonly info?: ModelInfo | undefined;
  /** Sends the requests. Only a provider of an extension has it. Default: HTTP. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface LimitsConfig {
  readonly maxTurns?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly maxCost?: Cost | undefined;
  /** If true, `maxCost` is accepted for a model whose price is unknown. Default: false. */
  readonly allowUnknownPrices?: boolean | undefined;
}

/**
 * The mode of a session. It decides what the agent does without a question. See `PermissionMode`.
 * `allow`: everything that no rule decides is allowed. `read-only`: the agent has no tools that
 * change files or run programs.
 */
export type SessionMode = PermissionMode | 'allow' | 'read-only';

/** All modes, from the strictest to the loosest. */
export const sessionModes: readonly SessionMode[] = [
  'read-only',
  'plan',
  'ask',
  'accept-edits',
  'auto',
  'allow',
];

export interface PermissionsConfig {
  /** The mode in which the session starts. The user can change it in the chat. */
  readonly mode: SessionMode;
  /**
   * The permission rules, from the lowest to the highest priority. `permissionPolicy` expects this
   * order.
   */
  readonly rules: readonly PermissionRule[];
}

export interface SandboxConfig {
  /** The profile of the sandbox. `off` means no sandbox. */
  readonly profile: SandboxSetting;
  /** True if the user chose the profile. In this case, a missing sandbox is an error. */
  readonly isRequired: boolean;
  readonly network: boolean;
  readonly unixSockets: boolean;
  /** Absolute paths that commands can change. */
  readonly writable: readonly string[];
  /**
   * Absolute paths that commands cannot see. The folders with the user's settings and sessions are
   * always included.
   */
  readonly hide: readonly string[];
}

export type SandboxSetting = (typeof sandboxSettings)[number];

export const sandboxSettings = ['off', 'workspace', 'read-only'] as const;

export interface CommandsConfig {
  /** Names of additional environment variables that commands get. */
  readonly env: readonly string[];
  /** True if keys in the output of commands are masked. */
  readonly maskSecrets: boolean;
  /** What happens to a command at its time limit. Default: `stop`. */
  readonly onTimeout?: 'stop' | 'detach' | undefined;
}

/**
 * The provider of a model. `compatible` means any server at `baseUrl` that implements OpenAI's API.
 */
export type ProviderName = (typeof providerNames)[number];

export const providerNames = [
  'anthropic',
  'openai',
  'gemini',
  'openrouter',
  'azure',
  'bedrock',
  'groq',
  'mistral',
  'deepseek',
  'xai',
  'together',
  'ollama',
  'lm-studio',
  'llama.cpp',
  'vllm',
  'litellm',
  'compatible',
] as const;

/** The content of a configuration file. `configSchema` validates it and describes each field. */
export interface ConfigFile {
  readonly $schema?: string | undefined;
  readonly model?: string | undefined;
  readonly models?: Readonly<Record<string, ModelConfig>> | undefined;
  readonly reasoning?: ModelConfig['reasoning'];
  readonly system?: string | undefined;
  readonly limits?: FileLimits | undefined;
  readonly permissions?: FilePermissions | undefined;
  readonly sandbox?: FileSandbox | undefined;
  readonly commands?: FileCommands | undefined;
  readonly mcpServers?: Readonly<Record<string, FileMcpServer>> | undefined;
  readonly store?: string | undefined;
  readonly chain?: boolean | undefined;
  readonly compactAtTokens?: number | undefined;
  readonly cache?: CacheSetting | undefined;
  readonly webSearch?: WebSearchSetting | undefined;
  readonly theme?: ThemeName | undefined;
  readonly plain?: boolean | undefined;
  readonly notifications?: NotificationsConfig | undefined;
}

/**
 * The service that searches the web for the model. `auto`: the first service whose key is in the environment. `hosted`: the
 * provider of the model, during a request. `off`: nobody.
 */
export type WebSearchSetting = 'auto' | 'off' | 'hosted' | SearchService;

export const webSearchSettings: readonly WebSearchSetting[] = [
  ...(['auto', 'off', 'hosted'] as const),
  ...(['brave', 'tavily', 'exa'] as const),
];

/** The ways to notify the user. `osc9` is a sequence that many terminals show as a notification. */
export const notificationWays = ['off', 'bell', 'osc9', 'desktop'] as const;

export type NotificationWay = (typeof notificationWays)[number];

/** The notifications of the chat: when it notifies the user, and in which way. */
export interface NotificationsConfig {
  /** The notification when a run waits for an answer. Default: `bell`. */
  readonly waiting?: NotificationWay | undefined;
  /** The notification when a run has ended. Default: `off`. */
  readonly done?: NotificationWay | undefined;
}

/** The names of the themes. `auto` uses the basic colors of the terminal. */
export const themeNames = ['auto', 'dark', 'light', 'none'] as const;

export type ThemeName = (typeof themeNames)[number];

/** The values of `cache` in a configuration file. */
export const cacheSettings = ['5m', '1h', 'off'] as const;

type CacheSetting = (typeof cacheSettings)[number];

interface FileLimits extends Omit<LimitsConfig, 'maxCost'> {
  readonly maxCostUsd?: number | undefined;
}

interface FilePermissions {
  readonly mode?: SessionMode | undefined;
  readonly allow?: readonly string[] | undefined;
  readonly ask?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
}

export interface FileSandbox {
  readonly profile?: SandboxSetting | undefined;
  readonly network?: boolean | undefined;
  readonly unixSockets?: boolean | undefined;
  readonly writable?: readonly string[] | undefined;
  readonly hide?: readonly string[] | undefined;
}

interface FileCommands {
  readonly env?: readonly string[] | undefined;
  readonly maskSecrets?: boolean | undefined;
  readonly onTimeout?: CommandsConfig['onTimeout'];
}

/** The settings of a login in a file. See `McpOAuth` of the tools. */
interface FileServerLogin {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly clientMetadataUrl?: string | undefined;
  readonly scope?: string | undefined;
  readonly redirectPort?: number | undefined;
  readonly privateNetwork?: boolean | undefined;
}

export interface FileMcpServer {
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly oauth?: FileServerLogin | undefined;
  readonly type?: 'stdio' | 'http' | undefined;
  readonly connectTimeoutMs?: number | undefined;
  readonly disabled?: boolean | undefined;
}
