import { setTimeout } from 'node:timers/promises';
import { type AgentOptions, createAgent } from '@millrace/agent';
import type { Log } from '@millrace/log';
import { type LoopAgent, type ServedAgent, toolCallProvider } from '@millrace/server';
import { buildAgent } from '../agent/build-agent.ts';
import { withExtensionCode } from '../command/trusted-config.ts';
import { fileCopiesFolder } from '../config/config-paths.ts';
import { loadConfig } from '../config/load-config.ts';
import { denyOwnPaths } from '../config/permissions.ts';
import type { ChosenModel } from '../contract/agent.ts';
import type { Config } from '../contract/config.ts';
import { ModelError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { demoProvider } from '../demo/demo-provider.ts';
import { loadExtensions, noExtensions } from '../extensions/load-extensions.ts';
import { chooseModel } from '../models/choose-model.ts';
import { knownModels } from '../models/known-models.ts';

interface DefaultAgentsOptions {
  readonly log: Log;
  /** The folder in which the agents work. */
  readonly cwd: string;
  readonly env: Env;
  /** The folders and files with the data of the server. The agents cannot use them. */
  readonly data: readonly string[];
  /** If true, the agents can change files and run programs without approval. */
  readonly mayChange: boolean;
}

/** The agents of a server without `--agents`. */
export interface DefaultAgents {
  readonly agents: readonly ServedAgent[];
  /** Notes for the operator about problems. */
  readonly notes: readonly string[];
  /** Stops the programs that the agents started. */
  close(): Promise<void>;
}

/**
 * Creates the agents of a server without `--agents`. If a model is available, these are the coding agent and
 * the plain model. There are always an agent with a scripted model and real tools, and an agent that echoes
 * messages.
 */
export async function defaultAgents(options: DefaultAgentsOptions): Promise<DefaultAgents> {
  const { cwd, env, data, mayChange } = options;
  const args = mayChange ? ({ permissions: 'allow' } as const) : {};
  const loaded = await loadConfig({ args, env, cwd });
  const config = { ...loaded, permissions: denyOwnPaths(loaded.permissions, data) };
  const coder = await codingAgent(options, config).catch((error: unknown) => {
    if (error instanceof ModelError) return error;
    throw error;
  });
  const demo = await demoAgent(options, config);
  if (coder instanceof ModelError) {
    const note = `There is no agent with a model: ${coder.message}`;
    return { agents: [demo, echo], notes: [note], close: async () => {} };
  }
  if (coder === undefined) return { agents: [demo, echo], notes: [], close: async () => {} };
  const { apps = [] } = coder;
  const agents = [coder.served, coder.plain, demo, echo, apps].flat();
  return { agents, notes: [...config.warnings, ...coder.problems], close: coder.close };
}

/**
 * Creates the coding agent for the folder. Returns undefined if only the demo model is available.
 */
async function codingAgent({ log, cwd, env, mayChange }: DefaultAgentsOptions, configured: Config) {
  const { config, extensions } = await ownExtensions({ env, cwd, config: configured });
  const closeCode = () => extensions?.code?.close();
  const chosen = await chooseModel({ config, env, cwd }).catch(async (error: unknown) => {
    await closeCode();
    throw error;
  });
  if (chosen.isDemo) {
    await closeCode();
    return undefined;
  }
  const choice = await modelChoice(chosen, { env, cwd }, config);
  const built = await buildAgent({
    ...{ chosen, log, cwd, approve: 'park', name: 'millrace serve', config, isServed: true },
    ...{ env, extensions },
    copies: fileCopiesFolder(env),
    prepareStep: choice.prepareStep,
  });
  const appAgent = built.appAgent(appCaller);
  const asks = mayChange ? '' : ', after approval';
  const description = `${chosen.label}. Reads this folder, changes files and runs programs${asks}`;
  const { models } = choice;
  const served: ServedAgent = {
    type: 'loop',
    name: 'coder',
    description,
    agent: built.agent,
    models,
    ...(appAgent && { appAgent: appAgentName }),
  };
  const apps: ServedAgent | undefined = appAgent && {
    ...{ type: 'loop', name: appAgentName, agent: appAgent, offers: [] },
    description: 'Runs the tool calls of MCP apps that the page shows',
  };
  const plain: ServedAgent = {
    type: 'loop',
    name: 'model',
    description: `${chosen.label} without tools and instructions, for clients of the OpenAI API`,
    agent: createAgent({
      ...{ provider: chosen.provider, request: chosen.request, log, name: 'millrace serve' },
      ...{ prepareStep: choice.prepareStep, callerOptions: 'accept', whileAsking: 'park' },
    }),
    models,
  };
  const problems = extensions?.code?.problems ?? [];
  return { served, apps, plain, problems, close: () => built.close() };
}

/** The name of the agent that runs the tool calls of MCP apps. */
const appAgentName = 'coder-apps';

const appCaller: ChosenModel = {
  ...{ provider: toolCallProvider(), label: 'no model', why: '', isDemo: false },
};

/**
 * Starts the user's own extensions in TypeScript, and those of plugins. A server does not use extensions of the
 * project, and no skills, commands, sub-agents and hooks, because their texts would reach other people.
 */
async function ownExtensions(options: {
  readonly env: Env;
  readonly cwd: string;
  readonly config: Config;
}) {
  const { extensions: found } = await loadExtensions(options);
  const modules = found.modules.filter(({ origin }) => origin === 'user');
  return withExtensionCode({ ...noExtensions, modules }, options);
}

/** Maximum number of models that the page offers. A local server can have hundreds. */
const maxModels = 50;

/**
 * Returns the models that can be used now, and the function that opens the model of a message. A message
 * names its model in the metadata of its item. It stays in use until another message names another one.
 */
async function modelChoice(
  chosen: ChosenModel,
  { env, cwd }: Pick<DefaultAgentsOptions, 'env' | 'cwd'>,
  config: Config,
): Promise<Pick<LoopAgent, 'models'> & Pick<AgentOptions, 'prepareStep'>> {
  const known = (await knownModels(env, config)).map(({ name }) => name);
  const others = known.filter((name) => name !== 'demo' && name !== chosen.label);
  const models = [chosen.label, ...others].slice(0, maxModels);
  const opened = new Map<string, Promise<ChosenModel>>();
  const open = (model: string) => {
    const opening = opened.get(model) ?? chooseModel({ config: { ...config, model }, env, cwd });
    opened.set(model, opening);
    // A later message tries again, for example after the local server was started.
    opening.catch(() => opened.delete(model));
    return opening;
  };
  return {
    models,
    async prepareStep({ items, model: branched }) {
      const named = items.findLast((item) => typeof item.metadata?.['model'] === 'string');
      const model = branched ?? named?.metadata?.['model'];
      if (typeof model !== 'string' || model === chosen.label || !models.includes(model))
        return undefined;
      const { provider, request } = await open(model);
      return { provider, ...(request && { request }) };
    },
  };
}

async function demoAgent(options: DefaultAgentsOptions, config: Config): Promise<ServedAgent> {
  const { log, cwd, mayChange } = options;
  const chosen = { provider: demoProvider({ cwd }), label: 'demo', why: '', isDemo: true };
  const { agent } = await buildAgent({
    ...{ chosen, log, cwd, approve: 'park', name: 'millrace serve', isServed: true },
    config: { ...config, mcpServers: [] },
  });
  const asks = mayChange ? '' : ' after approval';
  const description = `A script instead of a model, with the real loop and real tools. It explores this folder and changes a file${asks}`;
  return { type: 'loop', name: 'demo', description, agent };
}

const pauseMs = 40;

const echo: ServedAgent = {
  type: 'sync',
  name: 'echo',
  description: 'Repeats your message, word by word',
  async *onMessage(content, { signal, files }) {
    const said = content.type === 'text' ? content.content : JSON.stringify(content);
    for (const { file_id, name, type } of (content.type === 'text' && content.attachments) || []) {
      // An attachment with an unknown id belongs to the application that sent it.
      const bytes = await files.read(file_id).catch(() => undefined);
      const line = `I got ${name} (${type}, ${bytes?.length ?? 0} bytes).\n\n`;
      yield { type: 'delta', index: 0, delta: { type: 'text', text_delta: line } };
    }
    for (const word of said.match(/\S+\s*|\s+/g) ?? []) {
      yield { type: 'delta', index: 0, delta: { type: 'text', text_delta: word } };
      await setTimeout(pauseMs, undefined, { signal });
    }
  },
};
