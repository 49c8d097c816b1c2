import type { Clock } from '@millrace/providers';
import { type Env, firstSet } from './env.ts';
import { type ListedModel, listModels } from './list-models.ts';
import { addressOf, type LocalServer, localServers, type Ports } from './local-servers.ts';

/** How servers of this machine are looked for. */
export interface LookOptions {
  readonly env: Env;
  readonly ports?: Ports | undefined;
  readonly clock?: Clock | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly timeoutMs?: number | undefined;
}

/** A server that answers, and the models that can be talked with. */
export interface FoundServer {
  readonly server: LocalServer;
  readonly baseUrl: string;
  readonly models: readonly ListedModel[];
}

/** All that answer, asked at the same time, in the order of preference. */
export async function findLocalServers(options: LookOptions): Promise<readonly FoundServer[]> {
  const found = await Promise.all(localServers.map((server) => askServer(server, options)));
  return found.filter((one) => one !== undefined);
}

export async function askServer(
  server: LocalServer,
  options: LookOptions,
): Promise<FoundServer | undefined> {
  const { env, ports, ...rest } = options;
  const baseUrl = addressOf(server, env, ports);
  const apiKey = firstSet(env, server.keyVariable === undefined ? [] : [server.keyVariable])?.value;
  const models = await listModels(baseUrl, { ...rest, apiKey });
  return models && { server, baseUrl, models: models.filter(({ id }) => isForTalk(id)) };
}

/** Servers list what they have, and some of it only makes vectors or sounds. */
function isForTalk(id: string): boolean {
  return !/embed|rerank|whisper|(?:^|[-_/])(?:bge|tts)(?:[-_]|$)/i.test(id);
}
