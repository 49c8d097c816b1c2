import type { Env } from '../models/env.ts';
import { badPlace } from './check-file.ts';
import type { ModelConfig } from './config.ts';
import { expandEnv } from './expand-env.ts';
import type { Layer } from './layer.ts';

/** The models of a file with their variables in place. One whose variables are not set is left out. */
export function fileModels(
  { file, settings }: Layer,
  env: Env,
  warn: (warning: string) => void,
): Readonly<Record<string, ModelConfig>> {
  const models = Object.entries(settings.models ?? {}).flatMap(([name, given]) => {
    const { value, missing } = expandEnv(given, env);
    if (missing.length > 0) {
      warn(`The model ${name} of ${file.path} is left out: set ${missing.join(' and ')}`);
      return [];
    }
    const { baseUrl, provider } = value;
    if (baseUrl !== undefined && !isHttp(baseUrl)) {
      throw badPlace(file, ['models', name, 'baseUrl'], 'has to be an address of http or https');
    }
    if (baseUrl !== undefined && hasPassword(baseUrl)) {
      const why = 'has a password in it. Put it into headers.authorization';
      throw badPlace(file, ['models', name, 'baseUrl'], why);
    }
    if (provider === 'compatible' && baseUrl === undefined) {
      throw badPlace(file, ['models', name], 'needs a baseUrl: nothing is known of its server');
    }
    return [[name, value] as const];
  });
  return Object.fromEntries(models);
}

export function isHttp(url: string): boolean {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? '');
}

/** No request can be made to such an address, and it would be in messages. */
export function hasPassword(url: string): boolean {
  const { username = '', password = '' } = URL.parse(url) ?? {};
  return username !== '' || password !== '';
}
