import type { Clock } from '@millrace/agent';
import { loadConfig } from '../config/load-config.ts';
import type { ConfigArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import type { Extensions, UntrustedExtensions } from '../contract/extensions.ts';
import type { Env } from '../contract/host.ts';
import { loadExtensions } from '../extensions/load-extensions.ts';
import { type AskHost, askForExtensions, askForTrust } from './ask-user.ts';

/**
 * Loads the configuration, and asks the user whether to trust the project's file. Returns undefined
 * if the user cancels. Only the settings that the question showed are trusted. If the file has
 * changed since then, the result contains a warning.
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
  return loadConfig({ args, env, cwd, trusted: config.untrusted });
}

interface SessionExtensions {
  readonly extensions: Extensions;
  /** A sentence for the user about extensions that are skipped. */
  readonly warning?: string | undefined;
}

/**
 * Finds the extensions of the user and of the project, and asks the user whether to trust those of
 * the project. Returns undefined if the user cancels. Without `host`, nobody is asked, and the
 * extensions of a project that is not trusted are skipped.
 */
export async function trustedExtensions(
  args: ConfigArgs,
  { env, cwd, config }: { readonly env: Env; readonly cwd: string; readonly config: Config },
  host?: AskHost,
): Promise<SessionExtensions | undefined> {
  const options = { env, cwd, config, trust: args.trust };
  const first = await loadExtensions(options);
  if (first.untrusted === undefined) return { extensions: first.extensions };
  const skipped = { extensions: first.extensions, warning: skippedText(first.untrusted) };
  if (host === undefined) return skipped;
  // The scripts are read before the question. A script that changes afterwards is not trusted.
  const trustedFingerprint = await first.untrusted.fingerprint();
  const isTrusted = await askForExtensions(first.untrusted, host);
  if (isTrusted === undefined) return undefined;
  if (!isTrusted) return skipped;
  const { extensions, untrusted } = await loadExtensions({ ...options, trustedFingerprint });
  return { extensions, warning: untrusted && skippedText(untrusted) };
}

interface CodeOptions {
  readonly env: Env;
  readonly cwd: string;
  readonly config: Config;
  readonly clock?: Clock | undefined;
}

interface LoadedCode {
  readonly extensions: Extensions | undefined;
  /** The configuration with the models of extensions. A configured model of the same name has precedence. */
  readonly config: Config;
}

/**
 * Starts the code of extensions, before the model is chosen. The agent that is built with these extensions
 * closes them.
 */
export async function withExtensionCode(
  extensions: Extensions | undefined,
  { env, cwd, config, clock }: CodeOptions,
): Promise<LoadedCode> {
  if (extensions === undefined || extensions.modules.length === 0) return { extensions, config };
  // Loaded on demand, because most users have no extensions.
  const { loadExtensionCode } = await import('../extensions/code/load-code.ts');
  const code = await loadExtensionCode(extensions.modules, { env, cwd, clock });
  const models = { ...code?.models, ...config.models };
  return { extensions: { ...extensions, code }, config: { ...config, models } };
}

function skippedText({ root, found }: UntrustedExtensions): string {
  const kinds = {
    hooks: 'hook',
    modules: 'extension',
    instructions: 'instruction file',
    skills: 'skill',
    commands: 'command',
    agents: 'sub-agent',
  } as const;
  const counts = Object.entries(kinds).flatMap(([kind, name]) => {
    const { length } = found[kind as keyof typeof kinds];
    return length === 0 ? [] : [`${length} ${name}${length === 1 ? '' : 's'}`];
  });
  const verb = counts.length === 1 && counts[0]?.startsWith('1 ') ? 'is' : 'are';
  return `${counts.join(', ')} of ${root} ${verb} skipped: any project can contain such files. Check them, and trust them with --trust`;
}
