import { loadConfig } from '../config/load-config.ts';
import type { ConfigArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import { type AskHost, askForTrust } from './ask-user.ts';

/**
 * Loads the configuration and asks the user whether to trust the project's file. Returns undefined
 * if the user cancels. Only the settings that the question showed are trusted. If the file has
 * changed meanwhile, the result contains a warning.
 */
export async function trustedConfig(
  args: ConfigArgs,
  host: AskHost & { readonly env: Env },
  cwd: string,
): Promise<Config | undefined> {
  const { env } = host;
  const config = await loadConfig({ args, env, cwd });
  const isTrusted = await askForTrust(config, host);
  if (isTrusted === undefined) return undefined;
  if (!isTrusted) return config;
  return loadConfig({ args, env, cwd, trustedContent: config.untrusted?.content });
}
