import type { Cost } from '@millrace/core';
import type { ModelInfo, ReasoningEffort } from '@millrace/providers';
import type { PermissionRule } from '@millrace/tools';
import type { McpServer } from '@millrace/tools/mcp';

/**
 * The merged configuration. Priority: flags, environment, ./millrace.json, the user's config.json.
 */
export interface Config {
  /** The requested model: a name of `models`, `provider/model`, `demo`, or the model's own name. */
  readonly model?: string | undefined;
  readonly models: Readonly<Record<string, ModelConfig>>;
  readonly reasoning?: ReasoningEffort | undefined;
  /** Further instructions for the model, besides the built-in ones and AGENTS.md. */
  readonly system?: string | undefined;
  readonly limits: LimitsConfig;
  readonly permissions: PermissionsConfig;
  /** How commands are confined. Undefined means that they are not confined. */
  readonly sandbox?: SandboxConfig | undefined;
  readonly commands?: CommandsConfig | undefined;
  /** The enabled MCP servers, in the form that `connectMcp` takes. */
  readonly mcpServers: readonly ConfiguredMcpServer[];
  /** The absolute path of the session store. Default: see `storePath`. */
  readonly store?: string | undefined;
  /**
   * The context size in tokens at which older turns are summarized. Default: depends on the model.
   */
  readonly compactAtTokens?: number | undefined;
  /** How long the provider caches the beginning that requests share. Default: `5m`. */
  readonly cache?: CacheSetting | undefined;
  /** The files that were read, for `doctor`. The file with the highest priority is first. */
  readonly files: readonly string[];
  /** Messages about skipped settings and how to fix them. Show each of them once. */
  readonly warnings: readonly string[];
  /**
   * The parts of the project's file that were skipped because the user has not trusted them.
   * Undefined if there are none.
   */
  readonly untrusted?: UntrustedFile | undefined;
  /** The file that stores decisions about folders; see `rememberRule`. */
  readonly foldersFile?: string | undefined;
}

/** An MCP server of the configuration. */
export type ConfiguredMcpServer = McpServer & {
  /** How long the server may take to start and to list its tools. Default: 60 s. */
  readonly connectTimeoutMs?: number | undefined;
};

/** A project's file and the parts that were skipped. */
export interface UntrustedFile {
  readonly path: string;
  readonly parts: readonly string[];
  /** The skipped parts as JSON. */
  readonly content: string;
}

/** A named model of the configuration. */
export interface ModelConfig {
  readonly provider: ProviderName;
  readonly model: string;
  readonly api?: 'chat' | 'responses' | undefined;
  readonly baseUrl?: string | undefined;
  /**
   * The API key, after environment variables are expanded. Default: the provider's usual variable.
   */
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly contextTokens?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly reasoning?: ReasoningEffort | undefined;
  /** Facts that override the table of models. */
  readonly info?: ModelInfo | undefined;
}

export interface LimitsConfig {
  readonly maxTurns?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly maxCost?: Cost | undefined;
  /** Accept `maxCost` for a model without a known price. Default: false. */
  readonly allowUnknownPrices?: boolean | undefined;
}

export interface PermissionsConfig {
  /**
   * `ask`: the rules decide. `allow`: the last rule allows everything that the others do not
   * decide. `read-only`: the rules deny the tools that change files or run programs, and the agent
   * gets no other such tool.
   */
  readonly mode: 'ask' | 'allow' | 'read-only';
  /**
   * The rules in the order that `permissionPolicy` expects: from the lowest to the highest
   * priority.
   */
  readonly rules: readonly PermissionRule[];
}

export interface SandboxConfig {
  /** The profile of the sandbox. `off` means that commands are not confined. */
  readonly profile: SandboxSetting;
  /** True if the user chose the profile. A missing sandbox is then an error. */
  readonly isRequired: boolean;
  readonly network: boolean;
  readonly unixSockets: boolean;
  /** Absolute paths that commands can change. */
  readonly writable: readonly string[];
  /**
   * Absolute paths that commands cannot see. They include the folders with the user's settings and
   * sessions.
   */
  readonly hide: readonly string[];
}

export type SandboxSetting = (typeof sandboxSettings)[number];

export const sandboxSettings = ['off', 'workspace', 'read-only'] as const;

export interface CommandsConfig {
  /** Names of further environment variables for commands. */
  readonly env: readonly string[];
  /** True if keys in the output of commands are masked. */
  readonly maskSecrets: boolean;
}

/** The provider of a model. `compatible` is any server with OpenAI's API at `baseUrl`. */
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
  readonly compactAtTokens?: number | undefined;
  readonly cache?: CacheSetting | undefined;
}

/** The values of `cache` in a configuration file. */
export const cacheSettings = ['5m', '1h', 'off'] as const;

type CacheSetting = (typeof cacheSettings)[number];

interface FileLimits extends Omit<LimitsConfig, 'maxCost'> {
  readonly maxCostUsd?: number | undefined;
}

interface FilePermissions {
  readonly mode?: PermissionsConfig['mode'] | undefined;
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
}

export interface FileMcpServer {
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly type?: 'stdio' | 'http' | undefined;
  readonly connectTimeoutMs?: number | undefined;
  readonly disabled?: boolean | undefined;
}
