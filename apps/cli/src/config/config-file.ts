import type { LimitsConfig, ModelConfig, PermissionsConfig } from './config.ts';

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
