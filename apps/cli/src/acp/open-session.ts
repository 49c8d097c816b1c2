import { type McpServer, RequestError } from '@agentclientprotocol/sdk';
import type { OpenBuffers } from '@millrace/tools';
import { type OpenedAgent, openAgent } from '../command/open-agent.ts';
import type { ChosenModel } from '../contract/agent.ts';
import type { AcpArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import { ModelError } from '../contract/errors.ts';
import type { Host } from '../contract/host.ts';
import { chooseModel } from '../models/choose-model.ts';
import type { Stores } from '../store/open-stores.ts';
import { withEditorServers } from './editor-servers.ts';

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

/** Opens a session with the MCP servers and the open files of the editor. */
export function openSession(options: OpenSessionOptions): Promise<OpenedAgent> {
  const { args, host, stores, cwd, buffers, onProblem } = options;
  return openAgent({
    ...{ args, host, stores, cwd, buffers, onProblem },
    name: 'millrace acp',
    extendServers: (configured) => withEditorServers(configured, options.servers, cwd),
    chooseModel: editorModel,
  });
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
