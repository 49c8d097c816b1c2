import { type McpServer, RequestError } from '@agentclientprotocol/sdk';
import type { Log } from '@millrace/log';
import type { OpenBuffers } from '@millrace/tools';
import { buildAgent } from '../agent/build-agent.ts';
import { trustedExtensions } from '../command/trusted-config.ts';
import { fileCopiesFolder } from '../config/config-paths.ts';
import { loadConfig } from '../config/load-config.ts';
import type { BuiltAgent, ChosenModel } from '../contract/agent.ts';
import type { AcpArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import { ModelError } from '../contract/errors.ts';
import type { Host } from '../contract/host.ts';
import { chooseModel } from '../models/choose-model.ts';
import { openStore, type Store, storePath } from '../store/open-store.ts';
import { withEditorServers } from './editor-servers.ts';

export interface OpenedSession {
  readonly log: Log;
  readonly config: Config;
  readonly built: BuiltAgent;
  readonly cwd: string;
  /** Messages for the user about the start, for example about skipped settings of the project. */
  readonly warnings: readonly string[];
}

interface OpenSessionOptions {
  readonly args: AcpArgs;
  readonly host: Pick<Host, 'env' | 'signal'>;
  readonly stores: Stores;
  readonly cwd: string;
  readonly servers: readonly McpServer[];
  /** The files that the editor has open. Undefined if the editor does not offer them. */
  readonly buffers: OpenBuffers | undefined;
  /** Called with each problem that occurs after the start. */
  readonly onProblem: (problem: string) => void;
}

/**
 * Opens a session as the terminal does: with the configuration, rules, sandbox, extensions and MCP servers
 * of the folder. Nobody is asked about trust. Settings of a project that is not trusted are skipped.
 */
export async function openSession(options: OpenSessionOptions): Promise<OpenedSession> {
  const { args, host, stores, cwd, buffers, onProblem } = options;
  const { env, signal } = host;
  const loaded = await loadConfig({ args, env, cwd });
  const { servers, problems } = withEditorServers(loaded.mcpServers, options.servers, cwd);
  const config = { ...loaded, mcpServers: servers };
  const extended = await trustedExtensions(args, { env, cwd, config });
  const chosen = await editorModel(config, { env, cwd });
  const { log } = await stores.open(config);
  const built = await buildAgent({
    ...{ config, chosen, log, cwd, approve: 'wait', signal, env, buffers, onProblem },
    name: `millrace acp (process ${process.pid})`,
    copies: fileCopiesFolder(env),
    extensions: extended?.extensions,
    openModel: (model) => chooseModel({ config: { ...config, model }, env, cwd }),
  });
  const warning = extended?.warning === undefined ? [] : [extended.warning];
  const warnings = [...config.warnings, ...warning, ...problems, ...built.problems];
  return { log, config, built, cwd, warnings };
}

/**
 * Chooses the model. The demo model is used only if the user asks for it, because an editor has no place
 * to explain it. Throws an `authentication required` error if there is no key.
 */
export async function editorModel(
  config: Config,
  { env, cwd }: { readonly env: Host['env']; readonly cwd: string },
): Promise<ChosenModel> {
  const chosen = await chooseModel({ config, env, cwd }).catch((error: unknown) => {
    if (error instanceof ModelError && error.code === 'no_key')
      throw RequestError.authRequired(undefined, error.message);
    throw error;
  });
  if (!chosen.isDemo || config.model?.trim() === 'demo') return chosen;
  const way =
    'Set the key of a provider in the environment of the editor, for example ANTHROPIC_API_KEY, or configure a model in config.json. See millrace doctor';
  throw RequestError.authRequired(undefined, `no model can be used. ${way}`);
}

/** The open stores of the process. Sessions with the same file share its store. */
export class Stores {
  readonly #env: Host['env'];
  readonly #open = new Map<string, Promise<Store>>();

  constructor(env: Host['env']) {
    this.#env = env;
  }

  /** Opens the store of a configuration, or returns the open one. */
  open(config: Pick<Config, 'store'>): Promise<Store> {
    const path = storePath(config, this.#env);
    const known = this.#open.get(path);
    if (known !== undefined) return known;
    const opening = openStore({ config, env: this.#env });
    this.#open.set(path, opening);
    // A failed attempt is forgotten, so that the next session tries again.
    opening.catch(() => this.#open.delete(path));
    return opening;
  }

  async close(): Promise<void> {
    for (const store of this.#open.values())
      await store.then((open) => open.close()).catch(() => {});
    this.#open.clear();
  }
}
