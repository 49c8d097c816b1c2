import type { Log } from '@millrace/log';
import type { OpenBuffers } from '@millrace/tools';
import { buildAgent } from '../agent/build-agent.ts';
import { fileCopiesFolder } from '../config/config-paths.ts';
import { loadConfig } from '../config/load-config.ts';
import { protectedServerFiles } from '../config/server-scripts.ts';
import type { BuiltAgent, ChosenModel } from '../contract/agent.ts';
import type { RunArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import type { Host } from '../contract/host.ts';
import { subAgentModels } from '../models/choose-model.ts';
import type { Stores } from '../store/open-stores.ts';
import { trustedExtensions, withExtensionCode } from './trusted-config.ts';

/** An agent that a program runs, for example an editor. */
export interface OpenedAgent {
  readonly log: Log;
  readonly config: Config;
  readonly built: BuiltAgent;
  readonly cwd: string;
  /** Messages for the user about the start, for example about skipped settings of the project. */
  readonly warnings: readonly string[];
}

type Servers = Config['mcpServers'];

interface OpenAgentOptions {
  readonly args: Omit<RunArgs, 'session' | 'otlp'>;
  readonly host: Pick<Host, 'env' | 'signal'>;
  readonly stores: Stores;
  readonly cwd: string;
  /** The name of the command. Logs and other processes show it with the id of this process. */
  readonly name: string;
  /** The files that an editor has open. Default: none. */
  readonly buffers?: OpenBuffers | undefined;
  /** If true, questions of the model are forms that wait as approvals. Default: false. */
  readonly isServed?: boolean | undefined;
  /**
   * Decides about an answer that was cut off. `keep`: the run ends and keeps the partial answer.
   * `retry`: the request is sent again. Default: `keep`.
   */
  readonly onInterrupted?: 'keep' | 'retry' | undefined;
  /** Adds MCP servers to the configured servers. Default: no server is added. */
  readonly extendServers?:
    | ((configured: Servers) => {
        readonly servers: Servers;
        readonly problems: readonly string[];
      })
    | undefined;
  readonly chooseModel: (
    config: Config,
    place: { readonly env: Host['env']; readonly cwd: string },
  ) => Promise<ChosenModel>;
  /** Called with each problem that occurs after the start. */
  readonly onProblem: (problem: string) => void;
}

/**
 * Opens an agent as the terminal does: with the configuration, rules, sandbox, extensions and MCP
 * servers of the folder. It does not ask whether the user trusts the project. It skips the settings
 * of a project that is not trusted.
 */
export async function openAgent(options: OpenAgentOptions): Promise<OpenedAgent> {
  const { args, host, stores, cwd, buffers, isServed, onProblem, extendServers } = options;
  const { env, signal } = host;
  const loaded = await loadConfig({ args, env, cwd });
  const { servers, problems } = extendServers?.(loaded.mcpServers) ?? {
    ...{ servers: loaded.mcpServers, problems: [] },
  };
  const serverFiles = await protectedServerFiles(servers, cwd);
  const withServers = { ...loaded, mcpServers: servers, serverFiles };
  const extended = await trustedExtensions(args, { env, cwd, config: withServers });
  const { config, extensions } = await withExtensionCode(extended?.extensions, {
    ...{ env, cwd, config: withServers },
  });
  const chosen = await options.chooseModel(config, { env, cwd });
  const { log } = await stores.open(config);
  const built = await buildAgent({
    ...{ config, chosen, log, cwd, approve: 'wait', signal, env, buffers, isServed, onProblem },
    onInterrupted: options.onInterrupted,
    name: `${options.name} (process ${process.pid})`,
    copies: fileCopiesFolder(env),
    extensions,
    openModel: subAgentModels({ config, env, cwd }),
  });
  const warning = extended?.warning === undefined ? [] : [extended.warning];
  const warnings = [...config.warnings, ...warning, ...problems, ...built.problems];
  return { log, config, built, cwd, warnings };
}
