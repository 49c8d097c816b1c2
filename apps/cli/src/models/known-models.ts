import type { Config } from '../config/config.ts';
import { type Env, firstSet } from './env.ts';
import { findLocalServers, type LookOptions } from './find-local-servers.ts';
import { vendors } from './vendors.ts';

/** A model that could be used now, by the name that `--model` takes. */
export interface KnownModel {
  readonly name: string;
  /** Where it is known from: `configured`, a variable's name, a server's title, or `built in`. */
  readonly from: string;
  readonly contextTokens?: number | undefined;
}

/** What could be used now, for `/model` and `doctor`. Vendors have more models than are named here. */
export async function knownModels(
  env: Env,
  config: Pick<Config, 'models'>,
  look: Omit<LookOptions, 'env'> = {},
): Promise<readonly KnownModel[]> {
  const found = await findLocalServers({ ...look, env });
  const local = found.flatMap(({ server, models }) =>
    models.map(({ id, contextTokens }) => ({
      name: `${server.name}/${id}`,
      from: server.title,
      ...(contextTokens !== undefined && { contextTokens }),
    })),
  );
  const configured = Object.keys(config.models).map((name) => ({ name, from: 'configured' }));
  return [...configured, ...withKeys(env), ...local, { name: 'demo', from: 'built in' }];
}

function withKeys(env: Env): readonly KnownModel[] {
  return vendors.flatMap(({ name, keyVariables, models }) => {
    const from = firstSet(env, keyVariables)?.name;
    return from === undefined ? [] : models.map((model) => ({ name: `${name}/${model}`, from }));
  });
}
