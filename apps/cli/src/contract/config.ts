import type { Cost } from '@millrace/core';
import type { ReasoningEffort } from '@millrace/providers';
import type { PermissionRule } from '@millrace/tools';
import type { McpServer } from '@millrace/tools/mcp';

/** All that a run goes by: flags over environment over ./millrace.json over the user's own file. */
export interface Config {
  /** As it was asked for: a name of `models`, `provider/model`, `demo`, or a model's own name. */
  readonly model?: string | undefined;
  readonly models: Readonly<Record<string, ModelConfig>>;
  readonly reasoning?: ReasoningEffort | undefined;
  /** Said to the model in addition to our own instructions and AGENTS.md. */
  readonly system?: string | undefined;
  readonly limits: LimitsConfig;
  readonly permissions: PermissionsConfig;
  /** As `connectMcp` takes them. Those that are switched off are not in it. */
  readonly mcpServers: readonly McpServer[];
  /** An absolute path; the usual place if it is not said. */
  readonly store?: string | undefined;
  /** Context tokens at which older turns are summarised; by the model's size if it is not said. */
  readonly compactAtTokens?: number | undefined;
  /** Where it comes from, for `doctor`: the files that were read, strongest first. */
  readonly files: readonly string[];
  /** What was left out, and what to do about it. To be shown once. */
  readonly warnings: readonly string[];
  /** The project's file, where parts of it are left out until somebody says that it is trusted. */
  readonly untrusted?: UntrustedFile | undefined;
  /** Where decisions about folders are kept that outlive a session; see `rememberRule`. */
  readonly foldersFile?: string | undefined;
}

/** A project's file, and what of it was not taken. */
export interface UntrustedFile {
  readonly path: string;
  readonly parts: readonly string[];
}

/** A model under a name of its own, and the way to it. */
export interface ModelConfig {
  readonly provider: ProviderName;
  readonly model: string;
  readonly api?: 'chat' | 'responses' | undefined;
  readonly baseUrl?: string | undefined;
  /** With `${NAME}` replaced. The provider's usual variable if it is not said. */
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly contextTokens?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly reasoning?: ReasoningEffort | undefined;
}

export interface LimitsConfig {
  readonly maxTurns?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly maxCost?: Cost | undefined;
}

export interface PermissionsConfig {
  /**
   * `ask`: as the rules say. `allow`: `rules` ends with one that allows everything that no rule is against.
   * `read-only`: `rules` denies the tools that change or run things, and no other such tool is to be offered.
   */
  readonly mode: 'ask' | 'allow' | 'read-only';
  /** Weakest first, as `permissionPolicy` takes them. */
  readonly rules: readonly PermissionRule[];
}

/** Whose server it is. `compatible`: one that speaks OpenAI's API, at `baseUrl`. */
export type ProviderName = (typeof providerNames)[number];

export const providerNames = [
  'anthropic',
  'openai',
  'gemini',
  'openrouter',
  'azure',
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

/** What a configuration file may say. `configSchema` is the same for programs, with what each field means. */
export interface ConfigFile {
  readonly $schema?: string | undefined;
  readonly model?: string | undefined;
  readonly models?: Readonly<Record<string, ModelConfig>> | undefined;
  readonly reasoning?: ModelConfig['reasoning'];
  readonly system?: string | undefined;
  readonly limits?: FileLimits | undefined;
  readonly permissions?: FilePermissions | undefined;
  readonly mcpServers?: Readonly<Record<string, FileMcpServer>> | undefined;
  readonly store?: string | undefined;
  readonly compactAtTokens?: number | undefined;
}

interface FileLimits extends Omit<LimitsConfig, 'maxCost'> {
  readonly maxCostUsd?: number | undefined;
}

interface FilePermissions {
  readonly mode?: PermissionsConfig['mode'] | undefined;
  readonly allow?: readonly string[] | undefined;
  readonly ask?: readonly string[] | undefined;
  readonly deny?: readonly string[] | undefined;
}

export interface FileMcpServer {
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly type?: 'stdio' | 'http' | undefined;
  readonly disabled?: boolean | undefined;
}
